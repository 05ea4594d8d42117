// Exercises go-sql-driver and prints what it saw, so that a run through Freshet can be compared with a direct one.
//
// usage: check HOST PORT USER PASSWORD DATABASE [tls] [compress]
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

type querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

var background = context.Background()

// Reads all rows of all results, as text.
func read(db querier, query string, args ...any) string {
	rows, err := db.QueryContext(background, query, args...)
	if err != nil {
		return failure(err)
	}
	defer rows.Close()
	var out strings.Builder
	for {
		columns := must(rows.ColumnTypes())
		for _, column := range columns {
			fmt.Fprintf(&out, "%s %s;", column.Name(), column.DatabaseTypeName())
		}
		for rows.Next() {
			cells, targets := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
			for i := range cells {
				targets[i] = &cells[i]
			}
			must(0, rows.Scan(targets...))
			fmt.Fprintf(&out, " %q", cells)
		}
		if !rows.NextResultSet() {
			break
		}
		out.WriteString(" |")
	}
	if rows.Err() != nil {
		return failure(rows.Err())
	}
	return out.String()
}

func failure(err error) string {
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		return fmt.Sprintf("error %d %s %s", server.Number, server.SQLState, server.Message)
	}
	log.Fatal(err)
	return ""
}

func open(host, port, user, password, database, tls, more string) *sql.DB {
	return must(sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?tls=%s%s", user, password, host, port, database, tls, more)))
}

// Every write must be seen by every read that starts after it, prepared or not, whichever connection it is on.
func freshness(db *sql.DB) {
	prepared := must(db.Prepare("SELECT n FROM item WHERE id = ?"))
	defer prepared.Close()
	for n := 1; n < 60; n++ {
		must(db.Exec("UPDATE item SET n = ? WHERE id = 1", n))
		var readers sync.WaitGroup
		for i := 0; i < 8; i++ {
			readers.Add(1)
			go func() {
				defer readers.Done()
				var seen int
				if i%2 == 0 {
					must(0, prepared.QueryRow(1).Scan(&seen))
				} else {
					must(0, db.QueryRow("SELECT n FROM item WHERE id = 1").Scan(&seen))
				}
				if seen != n {
					fmt.Println("STALE", n, seen)
				}
			}()
		}
		readers.Wait()
	}
}

func main() {
	host, port, user, password, database := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	tls := "false"
	if slices.Contains(os.Args[6:], "tls") {
		tls = "skip-verify"
	}
	if slices.Contains(os.Args[6:], "compress") {
		tls += "&compress=true"
	}
	root := open(host, port, user, password, "", tls, "")
	must(root.Exec("DROP DATABASE IF EXISTS " + database))
	must(root.Exec("CREATE DATABASE " + database + " CHARACTER SET utf8mb4"))
	db := open(host, port, user, password, database, tls, "&multiStatements=true")
	plain := open(host, port, user, password, database, tls, "&interpolateParams=true&collation=utf8mb4_general_ci")

	must(db.Exec("CREATE TABLE item (id INT AUTO_INCREMENT PRIMARY KEY, n BIGINT, s VARCHAR(60), d DATETIME(6), f DOUBLE, b BLOB)"))
	for i := 0; i < 20; i++ {
		done := must(db.Exec("INSERT INTO item (n, s, d, f, b) VALUES (?, ?, ?, ?, ?)", i, fmt.Sprint("naïve ", i), "2024-02-29 01:02:03.000004", float64(i)/3, []byte{0, byte(i), 255}))
		fmt.Println("inserted", must(done.RowsAffected()), must(done.LastInsertId()))
	}
	must(db.Exec("INSERT INTO item () VALUES ()"))
	for i := 0; i < 3; i++ {
		fmt.Println("text", read(db, "SELECT * FROM item ORDER BY id"))
		fmt.Println("binary", read(db, "SELECT * FROM item WHERE id > ? ORDER BY id", 3))
		fmt.Println("interpolated", read(plain, "SELECT * FROM item WHERE id > ? ORDER BY id", 3))
	}
	freshness(db)
	// Long enough for the last write to be applied, after which the answer comes from memory.
	for i := 0; i < 40; i++ {
		read(db, "SELECT COUNT(*), MAX(s) FROM item")
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("many", read(db, "SELECT 1; SELECT id FROM item ORDER BY id LIMIT 3; SELECT 'end'"))
	tx := must(db.BeginTx(background, nil))
	must(tx.Exec("DELETE FROM item"))
	fmt.Println("inside", read(tx, "SELECT COUNT(*) FROM item"), "outside", read(db, "SELECT COUNT(*) FROM item"))
	must(0, tx.Rollback())
	only := must(db.BeginTx(background, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}))
	fmt.Println("snapshot", read(only, "SELECT n FROM item WHERE id = 1"))
	must(db.Exec("UPDATE item SET n = -1 WHERE id = 1"))
	fmt.Println("snapshot still", read(only, "SELECT n FROM item WHERE id = 1"), "outside", read(db, "SELECT n FROM item WHERE id = 1"))
	must(0, only.Commit())
	fmt.Println("after", read(db, "SELECT n FROM item WHERE id = 1"))
	for _, query := range []string{"SELEC 1", "SELECT * FROM nowhere", "INSERT INTO item (id) VALUES (1)"} {
		fmt.Println(read(db, query))
	}
	large := strings.Repeat("0123456789abcdef", 1100000)
	var back, short string
	must(0, db.QueryRow("SELECT REPEAT('0123456789abcdef', 1100000), RPAD('', 100000, 'ab')").Scan(&back, &short))
	fmt.Println("large", len(back), back == large, short)
	// The command goes over two frames of the protocol, and many compressed ones.
	must(0, plain.QueryRow("SELECT /* "+large+" */ ?", "small").Scan(&back))
	fmt.Println("large command", back)
	_, err := open(host, port, user, "wrong", "", tls, "").Exec("DO 1")
	fmt.Println("wrong password", failure(err))
	must(db.Exec("DROP DATABASE " + database))
	fmt.Println("done")
}
