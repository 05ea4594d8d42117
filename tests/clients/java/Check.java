import java.sql.*;
import java.util.*;

/**
 * Exercises MySQL's or MariaDB's Connector/J and prints what it saw, so that a run through Freshet can be compared with a direct
 * one.
 *
 * usage: java -cp connector.jar Check.java HOST PORT USER PASSWORD DATABASE [mariadb] [tls] [compress]
 */
public class Check {
    static String base, user, password;
    static boolean isMariaDb;

    static Connection open(String database, String options) throws SQLException {
        return DriverManager.getConnection(base.formatted(database) + options, user, password);
    }

    static void say(String what, Object value) {
        System.out.println(what + ": " + value);
    }

    static String rows(ResultSet result) throws SQLException {
        ResultSetMetaData meta = result.getMetaData();
        StringBuilder out = new StringBuilder();
        for (int i = 1; i <= meta.getColumnCount(); i++) {
            out.append(meta.getColumnLabel(i)).append(' ').append(meta.getColumnTypeName(i)).append(';');
        }
        while (result.next()) {
            out.append(" [");
            for (int i = 1; i <= meta.getColumnCount(); i++) {
                byte[] cell = cell(result, meta, i);
                out.append(cell == null ? "null" : Base64.getEncoder().encodeToString(cell)).append(' ');
            }
            out.append(']');
        }
        return out.toString();
    }

    /** MariaDB's driver gives bytes of texts and bytes alone. */
    static byte[] cell(ResultSet result, ResultSetMetaData meta, int at) throws SQLException {
        if (!isMariaDb || meta.getColumnTypeName(at).contains("BLOB")) {
            return result.getBytes(at);
        }
        String text = result.getString(at);
        return text == null ? null : text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
    }

    static String read(Connection db, String sql, Object... args) throws SQLException {
        try (PreparedStatement statement = db.prepareStatement(sql)) {
            for (int i = 0; i < args.length; i++) {
                statement.setObject(i + 1, args[i]);
            }
            return rows(statement.executeQuery());
        }
    }

    static void run(Connection db, String sql) throws SQLException {
        try (Statement statement = db.createStatement()) {
            statement.execute(sql);
        }
    }

    static void freshness(Connection db, Connection other) throws SQLException {
        for (int n = 1; n < 60; n++) {
            run(db, "UPDATE item SET n = " + n + " WHERE id = 1");
            for (Connection reader : List.of(db, other, db, other)) {
                try (PreparedStatement statement = reader.prepareStatement("SELECT n FROM item WHERE id = ?")) {
                    statement.setInt(1, 1);
                    ResultSet result = statement.executeQuery();
                    result.next();
                    if (result.getInt(1) != n) {
                        say("STALE", n + " " + result.getInt(1));
                    }
                }
            }
        }
    }

    /** MariaDB's driver puts the connection's number in front. */
    static String told(SQLException error) {
        return error.getMessage().lines().findFirst().get().replaceFirst("^\\(conn=-?\\d+\\) ", "");
    }

    static void failures(Connection db) {
        for (String sql : List.of("SELEC 1", "SELECT * FROM nowhere", "INSERT INTO item (id) VALUES (1)")) {
            try {
                run(db, sql);
            } catch (SQLException error) {
                say("error", error.getErrorCode() + " " + error.getSQLState() + " " + told(error));
            }
        }
    }

    static void exercise(String database, String options) throws Exception {
        try (Connection root = open("", options)) {
            run(root, "DROP DATABASE IF EXISTS " + database);
            run(root, "CREATE DATABASE " + database + " CHARACTER SET utf8mb4");
        }
        try (Connection db = open(database, options + "&allowMultiQueries=true"); Connection other = open(database, options)) {
            run(db, "CREATE TABLE item (id INT AUTO_INCREMENT PRIMARY KEY, n BIGINT, s VARCHAR(60), d DATETIME(6), b BLOB)");
            try (PreparedStatement insert = db.prepareStatement(
                    "INSERT INTO item (n, s, d, b) VALUES (?, ?, ?, ?)", Statement.RETURN_GENERATED_KEYS)) {
                for (int i = 0; i < 20; i++) {
                    insert.setObject(1, i % 3 == 0 ? null : (Long) (i * 1_000_000_000_000L));
                    insert.setString(2, "naïve " + i);
                    insert.setTimestamp(3, Timestamp.valueOf("2024-02-29 01:02:03.000004"));
                    insert.setBytes(4, new byte[] {0, (byte) i, -1});
                    insert.addBatch();
                }
                say("batch", Arrays.toString(insert.executeBatch()));
                say("keys", rows(insert.getGeneratedKeys()));
            }
            for (int i = 0; i < 3; i++) {
                say("all", read(db, "SELECT * FROM item ORDER BY id"));
                say("some", read(other, "SELECT * FROM item WHERE id > ? AND s LIKE ? ORDER BY id", 3, "na%"));
            }
            freshness(db, other);
            // Long enough for the last write to be applied, after which the answer comes from memory.
            for (int i = 0; i < 40; i++) {
                run(db, "SELECT COUNT(*), MAX(s) FROM item");
                Thread.sleep(10);
            }
            db.setAutoCommit(false);
            run(db, "DELETE FROM item");
            say("inside", read(db, "SELECT COUNT(*) FROM item"));
            say("outside", read(other, "SELECT COUNT(*) FROM item"));
            db.rollback();
            db.setReadOnly(true);
            say("read only", read(db, "SELECT COUNT(*) FROM item"));
            db.commit();
            db.setReadOnly(false);
            db.setAutoCommit(true);
            try (Statement statement = db.createStatement()) {
                boolean isResult = statement.execute("SELECT 1; UPDATE item SET n = 5 WHERE id = 2; SELECT n FROM item WHERE id = 2");
                while (isResult || statement.getUpdateCount() != -1) {
                    say("many", isResult ? rows(statement.getResultSet()) : statement.getUpdateCount());
                    isResult = statement.getMoreResults();
                }
                statement.setFetchSize(3);
                say("fetched", rows(statement.executeQuery("SELECT a.id, b.id FROM item a, item b ORDER BY 1, 2")));
            }
            try (Statement streaming = db.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
                streaming.setFetchSize(isMariaDb ? 1 : Integer.MIN_VALUE);
                say("streamed", rows(streaming.executeQuery("SELECT id, s FROM item ORDER BY id")));
            }
            db.setCatalog("information_schema");
            say("schema", read(db, "SELECT DATABASE()"));
            db.setCatalog(database);
            failures(db);
            say("valid", db.isValid(5));
            run(db, "DROP DATABASE " + database);
        }
    }

    public static void main(String[] args) throws Exception {
        List<String> how = Arrays.asList(args).subList(5, args.length);
        isMariaDb = how.contains("mariadb");
        base = (isMariaDb ? "jdbc:mariadb://" : "jdbc:mysql://") + args[0] + ":" + args[1]
                + "/%s?connectionTimeZone=UTC&allowPublicKeyRetrieval=true&useCompression=" + how.contains("compress") + "&sslMode=";
        base += isMariaDb ? (how.contains("tls") ? "trust" : "disable") : (how.contains("tls") ? "REQUIRED" : "DISABLED");
        user = args[2];
        password = args[3];
        for (String options : List.of("", "&useServerPrepStmts=true&cachePrepStmts=true&useCursorFetch=true&rewriteBatchedStatements=true")) {
            say("options", options);
            exercise(args[4], options);
        }
        System.out.println("done");
    }
}
