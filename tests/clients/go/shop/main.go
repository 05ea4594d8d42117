// A small shop on database/sql with parameters, as it comes: every statement with parameters is prepared, executed and closed, on
// whichever connection of the pool is free.
//
// usage: shop HOST PORT USER PASSWORD DATABASE
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

const (
	// How long the pages are asked for until they come from memory.
	warmMax = 20 * time.Second
	// Of 100 reads, how many have to come from memory before the repetitions are counted.
	warmPercent = 90
	repetitions = 10
	visitors    = 4
)

var background = context.Background()

// How many reads the shop has made.
var reads atomic.Int64

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// What reads and writes: the pool, or a transaction.
type querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

func one(db querier, targets []any, query string, args ...any) {
	reads.Add(1)
	must(0, db.QueryRowContext(background, query, args...).Scan(targets...))
}

func all(db querier, query string, args ...any) []string {
	reads.Add(1)
	rows := must(db.QueryContext(background, query, args...))
	defer rows.Close()
	var found []string
	for rows.Next() {
		var title, author string
		must(0, rows.Scan(&title, &author))
		found = append(found, title+" by "+author)
	}
	must(0, rows.Err())
	return found
}

type page struct {
	Title, Price, Author string
	Stock, Count, Stars  int
}

func stars(db querier, id int) (count, sum int) {
	one(db, []any{&count, &sum}, "SELECT COUNT(*), COALESCE(SUM(stars), 0) FROM review WHERE book_id = ?", id)
	return
}

func bookPage(db querier, id int) (book page) {
	var author int
	one(db, []any{&book.Title, &book.Price, &book.Stock, &author}, "SELECT title, price, stock, author_id FROM book WHERE id = ?", id)
	one(db, []any{&book.Author}, "SELECT name FROM author WHERE id = ?", author)
	book.Count, book.Stars = stars(db, id)
	return
}

const joined = "SELECT b.title, a.name FROM book b JOIN author a ON a.id = b.author_id"

func lists(db querier, price string) {
	all(db, joined+" WHERE b.stock > ? AND b.price < ? ORDER BY b.title LIMIT ?", 0, price, 5)
	all(db, joined+" WHERE a.name = ? ORDER BY b.id", "Author 1")
	all(db, joined+" WHERE b.id IN (?, ?, ?) ORDER BY b.id", 1, 2, 3)
}

func transact(db *sql.DB, options *sql.TxOptions, do func(*sql.Tx)) {
	tx := must(db.BeginTx(background, options))
	do(tx)
	must(0, tx.Commit())
}

// Sells one and takes a review, and shows both at once.
func review(db *sql.DB, id int) {
	var seen page
	transact(db, nil, func(tx *sql.Tx) {
		before := bookPage(tx, id)
		must(tx.ExecContext(background, "UPDATE book SET stock = stock - ? WHERE id = ?", 1, id))
		must(tx.ExecContext(background, "INSERT INTO review (stars, body, book_id) VALUES (?, ?, ?)", 3, "naïve", id))
		before.Stock, before.Count, before.Stars = before.Stock-1, before.Count+1, before.Stars+3
		seen = bookPage(tx, id)
		expect("inside", seen, before)
	})
	expect("page", bookPage(db, id), seen)
	must(db.ExecContext(background, "UPDATE book SET stock = ? WHERE id = ?", seen.Stock-1, id))
	seen.Stock--
	expect("page after autocommit", bookPage(db, id), seen)
}

func expect(what string, seen, expected page) {
	if seen != expected {
		fmt.Println("STALE", what, seen, expected)
	}
}

// Visitors read all pages at once, each on whichever connection is free.
func visit(db *sql.DB, inTransaction bool) int64 {
	before := reads.Load()
	var all sync.WaitGroup
	for i := 0; i < visitors; i++ {
		all.Add(1)
		go func(readOnly bool) {
			defer all.Done()
			read := func(db querier) {
				for id := 1; id <= 5; id++ {
					bookPage(db, id)
				}
				lists(db, "20.00")
			}
			if inTransaction {
				transact(db, &sql.TxOptions{ReadOnly: readOnly}, func(tx *sql.Tx) { read(tx) })
			} else {
				read(db)
			}
		}(i%2 == 0)
	}
	all.Wait()
	return reads.Load() - before
}

func hits(db *sql.DB) (count int64) {
	var name string
	must(0, db.QueryRow("SHOW GLOBAL STATUS LIKE 'Qcache_hits'").Scan(&name, &count))
	return
}

func repeat(name string, counter *sql.DB, visit func() int64) {
	for until := time.Now().Add(warmMax); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		before := hits(counter)
		if reads := visit(); (hits(counter)-before)*100 >= reads*warmPercent {
			break
		}
	}
	before, reads := hits(counter), int64(0)
	for i := 0; i < repetitions; i++ {
		reads += visit()
	}
	fmt.Printf("%s: reads %d hits %d\n", name, reads, hits(counter)-before)
}

func main() {
	host, port, user, password, database := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	address := fmt.Sprintf("%s:%s@tcp(%s:%s)/", user, password, host, port)
	counter := must(sql.Open("mysql", address))
	db := must(sql.Open("mysql", address+database))
	db.SetMaxOpenConns(visitors)
	db.SetMaxIdleConns(visitors)
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + database, "CREATE DATABASE " + database + " CHARACTER SET utf8mb4"} {
		must(counter.Exec(statement))
	}
	for _, statement := range []string{
		"CREATE TABLE author (id INT PRIMARY KEY, name VARCHAR(80), KEY (name))",
		"CREATE TABLE book (id INT PRIMARY KEY, title VARCHAR(120), price DECIMAL(9,2), stock INT, author_id INT, FOREIGN KEY (author_id) REFERENCES author (id))",
		"CREATE TABLE review (id INT AUTO_INCREMENT PRIMARY KEY, stars INT, body TEXT, book_id INT, FOREIGN KEY (book_id) REFERENCES book (id))",
	} {
		must(db.Exec(statement))
	}
	for id := 1; id <= 3; id++ {
		must(db.Exec("INSERT INTO author VALUES (?, ?)", id, fmt.Sprintf("Author %d", id%3)))
	}
	for id := 1; id <= 10; id++ {
		must(db.Exec("INSERT INTO book VALUES (?, ?, ?, ?, ?)", id, fmt.Sprintf("Book %02d", id), "9.90", 1000, id%3+1))
	}
	for _, inTransaction := range []bool{false, true} {
		name := "pool"
		if inTransaction {
			name = "transactions"
		}
		read := func() int64 { return visit(db, inTransaction) }
		for id := 1; id <= 5; id++ {
			read()
			review(db, id)
		}
		repeat(name, counter, read)
		for i := 0; i < 5; i++ {
			review(db, 2)
		}
	}
	must(counter.Exec("DROP DATABASE " + database))
	fmt.Println("done")
}
