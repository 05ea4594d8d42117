import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.math.BigDecimal;
import java.sql.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;

/**
 * A small shop on MySQL's Connector/J with server-side prepared statements, behind HikariCP: with the settings that HikariCP
 * recommends, and with the fewest; in autocommit and in transactions, as a framework's read-only and other transactions set a connection up.
 *
 * usage: java -cp jars Shop.java HOST PORT USER PASSWORD DATABASE
 */
public class Shop {
    /** How long the pages are asked for until they come from memory. */
    static final long WARM_NANOS_MAX = TimeUnit.SECONDS.toNanos(20);
    /** Of 100 reads, how many have to come from memory before the repetitions are counted. */
    static final int WARM_PERCENT = 90;
    static final int REPETITIONS = 10, VISITORS = 4;

    static final String JOINED = "SELECT b.title, a.name FROM book b JOIN author a ON a.id = b.author_id";
    static final AtomicLong reads = new AtomicLong();

    record Book(String title, BigDecimal price, int stock, String author, int count, int stars) {
        Book sold(int count) {
            return new Book(title, price, stock - 1, author, this.count + count, stars + 3 * count);
        }
    }

    interface Work<T> {
        T with(Connection db) throws SQLException;
    }

    static PreparedStatement prepared(Connection db, String text, Object... values) throws SQLException {
        PreparedStatement statement = db.prepareStatement(text);
        for (int i = 0; i < values.length; i++) {
            statement.setObject(i + 1, values[i]);
        }
        return statement;
    }

    static List<Object> row(Connection db, String text, Object... values) throws SQLException {
        return rows(db, text, values).get(0);
    }

    static List<List<Object>> rows(Connection db, String text, Object... values) throws SQLException {
        reads.incrementAndGet();
        List<List<Object>> found = new ArrayList<>();
        try (PreparedStatement statement = prepared(db, text, values); ResultSet result = statement.executeQuery()) {
            int columns = result.getMetaData().getColumnCount();
            while (result.next()) {
                List<Object> row = new ArrayList<>();
                for (int i = 1; i <= columns; i++) {
                    row.add(result.getObject(i));
                }
                found.add(row);
            }
        }
        return found;
    }

    static void write(Connection db, String text, Object... values) throws SQLException {
        try (PreparedStatement statement = prepared(db, text, values)) {
            statement.executeUpdate();
        }
    }

    static Book bookPage(Connection db, int id) throws SQLException {
        List<Object> book = row(db, "SELECT title, price, stock, author_id FROM book WHERE id = ?", id);
        String author = (String) row(db, "SELECT name FROM author WHERE id = ?", book.get(3)).get(0);
        List<Object> stars = row(db, "SELECT COUNT(*), COALESCE(SUM(stars), 0) FROM review WHERE book_id = ?", (long) id);
        return new Book((String) book.get(0), (BigDecimal) book.get(1), (Integer) book.get(2), author,
                ((Number) stars.get(0)).intValue(), ((Number) stars.get(1)).intValue());
    }

    static List<Book> pages(Connection db) throws SQLException {
        List<Book> books = new ArrayList<>();
        for (int id = 1; id <= 5; id++) {
            books.add(bookPage(db, id));
        }
        rows(db, JOINED + " WHERE b.stock > ? AND b.price < ? ORDER BY b.title LIMIT ?", 0, new BigDecimal("20.00"), 5);
        rows(db, JOINED + " WHERE a.name = ? ORDER BY b.id", "Author 1");
        rows(db, JOINED + " WHERE b.id IN (?, ?, ?) ORDER BY b.id", 1, 2, 3);
        rows(db, "SELECT title, stock FROM book ORDER BY title");
        return books;
    }

    /** As a framework runs what is transactional: a connection from the pool, set up for it, and handed back as it was. */
    static <T> T transact(DataSource pool, boolean isReadOnly, Work<T> work) throws SQLException {
        try (Connection db = pool.getConnection()) {
            if (isReadOnly) {
                db.setReadOnly(true);
            }
            db.setAutoCommit(false);
            try {
                T done = work.with(db);
                db.commit();
                return done;
            } catch (SQLException error) {
                db.rollback();
                throw error;
            } finally {
                db.setAutoCommit(true);
                if (isReadOnly) {
                    db.setReadOnly(false);
                }
            }
        }
    }

    static <T> T autocommit(DataSource pool, Work<T> work) throws SQLException {
        try (Connection db = pool.getConnection()) {
            return work.with(db);
        }
    }

    /** Sells one and takes a review, and shows both at once. */
    static void review(DataSource pool, int id) throws SQLException {
        Book seen = transact(pool, false, db -> {
            Book before = bookPage(db, id);
            write(db, "UPDATE book SET stock = stock - ? WHERE id = ?", 1, id);
            write(db, "INSERT INTO review (stars, body, book_id) VALUES (?, ?, ?)", 3, "naïve", id);
            Book after = bookPage(db, id);
            expect("inside", after, before.sold(1));
            return after;
        });
        expect("page", autocommit(pool, db -> bookPage(db, id)), seen);
        expect("page in a transaction", transact(pool, true, db -> bookPage(db, id)), seen);
        autocommit(pool, db -> {
            write(db, "UPDATE book SET stock = ? WHERE id = ?", seen.stock - 1, id);
            expect("the same connection", bookPage(db, id), seen.sold(0));
            return null;
        });
    }

    static void expect(String what, Book seen, Book expected) {
        if (!seen.equals(expected)) {
            System.out.println("STALE " + what + ": " + seen + " and not " + expected);
        }
    }

    /** Visitors read all pages at once, each on whichever connection is free. */
    static long visit(ExecutorService visitors, DataSource pool, boolean inTransaction) throws Exception {
        long before = reads.get();
        List<Callable<Object>> visits = new ArrayList<>();
        for (int i = 0; i < VISITORS; i++) {
            boolean isReadOnly = i % 2 == 0;
            visits.add(() -> inTransaction ? transact(pool, isReadOnly, Shop::pages) : autocommit(pool, Shop::pages));
        }
        for (Future<Object> visit : visitors.invokeAll(visits)) {
            visit.get();
        }
        return reads.get() - before;
    }

    static long hits(Connection counter) throws SQLException {
        try (Statement statement = counter.createStatement();
                ResultSet result = statement.executeQuery("SHOW GLOBAL STATUS LIKE 'Qcache_hits'")) {
            result.next();
            return result.getLong(2);
        }
    }

    static void run(String name, Connection counter, DataSource pool) throws Exception {
        ExecutorService visitors = Executors.newFixedThreadPool(VISITORS);
        for (boolean inTransaction : new boolean[] {false, true}) {
            for (int id = 1; id <= 5; id++) {
                visit(visitors, pool, inTransaction);
                review(pool, id);
            }
            for (long start = System.nanoTime(); System.nanoTime() - start < WARM_NANOS_MAX; Thread.sleep(10)) {
                long before = hits(counter), asked = visit(visitors, pool, inTransaction);
                if ((hits(counter) - before) * 100 >= asked * WARM_PERCENT) {
                    break;
                }
            }
            long before = hits(counter), asked = 0;
            for (int i = 0; i < REPETITIONS; i++) {
                asked += visit(visitors, pool, inTransaction);
            }
            System.out.println(name + (inTransaction ? ", transactions" : "") + ": reads " + asked + " hits " + (hits(counter) - before));
            for (int i = 0; i < 5; i++) {
                review(pool, 2);
            }
        }
        visitors.shutdown();
    }

    public static void main(String[] args) throws Exception {
        String address = "jdbc:mysql://" + args[0] + ":" + args[1] + "/", user = args[2], password = args[3], database = args[4];
        String common = "?sslMode=DISABLED&allowPublicKeyRetrieval=true&useServerPrepStmts=true";
        String recommended = "&cachePrepStmts=true&useLocalSessionState=true&rewriteBatchedStatements=true&cacheResultSetMetadata=true"
                + "&cacheServerConfiguration=true&elideSetAutoCommits=true&maintainTimeStats=false";
        try (Connection counter = DriverManager.getConnection(address + common, user, password); Statement statement = counter.createStatement()) {
            for (String text : List.of("DROP DATABASE IF EXISTS " + database, "CREATE DATABASE " + database + " CHARACTER SET utf8mb4", "USE " + database,
                    "CREATE TABLE author (id INT PRIMARY KEY, name VARCHAR(80), KEY (name))",
                    "CREATE TABLE book (id INT PRIMARY KEY, title VARCHAR(120), price DECIMAL(9,2), stock INT, author_id INT, FOREIGN KEY (author_id) REFERENCES author (id))",
                    "CREATE TABLE review (id INT AUTO_INCREMENT PRIMARY KEY, stars INT, body TEXT, book_id INT, FOREIGN KEY (book_id) REFERENCES book (id))",
                    "INSERT INTO author VALUES (1, 'Author 1'), (2, 'Author 2'), (3, 'Author 0')")) {
                statement.execute(text);
            }
            for (int id = 1; id <= 10; id++) {
                write(counter, "INSERT INTO book VALUES (?, ?, ?, ?, ?)", id, "Book " + id, new BigDecimal("9.90"), 1000, id % 3 + 1);
            }
            for (String options : List.of("", recommended)) {
                HikariConfig config = new HikariConfig();
                config.setJdbcUrl(address + database + common + options);
                config.setUsername(user);
                config.setPassword(password);
                config.setMaximumPoolSize(VISITORS);
                try (HikariDataSource pool = new HikariDataSource(config)) {
                    run(options.isEmpty() ? "as it comes" : "as recommended", counter, pool);
                }
            }
            statement.execute("DROP DATABASE " + database);
        }
        System.out.println("done");
    }
}
