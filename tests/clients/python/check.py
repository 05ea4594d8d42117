"""Exercises PyMySQL and prints what it saw, so that a run through Freshet can be compared with a direct one.

usage: check.py HOST PORT USER PASSWORD DATABASE [tls]

Nothing that differs between two runs against the same server, such as a connection id, is printed.
"""

import datetime
import decimal
import os
import ssl
import sys
import tempfile
import time

import pymysql
from pymysql.constants import CLIENT
from pymysql.cursors import SSCursor

host, port, user, password, database = sys.argv[1:6]
tls = len(sys.argv) > 6
context = None
if tls:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE


def connect(**options):
    options.setdefault("database", database)
    return pymysql.connect(
        host=host, port=int(port), user=user, password=password, ssl=context, ssl_disabled=not tls, **options
    )


def say(what, value):
    print(f"{what}: {value!r}")


def rows(connection, sql, args=None):
    with connection.cursor() as cursor:
        affected = cursor.execute(sql, args)
        columns = [(d[0], d[1]) for d in cursor.description or ()]
        return affected, columns, cursor.fetchall()


def scalar(connection, sql):
    return rows(connection, sql)[2][0][0]


def prepare():
    with connect(database=None, autocommit=True) as root:
        rows(root, f"DROP DATABASE IF EXISTS {database}")
        rows(root, f"CREATE DATABASE {database} CHARACTER SET utf8mb4")


def types(db):
    rows(db, """CREATE TABLE kinds (id INT AUTO_INCREMENT PRIMARY KEY, i BIGINT UNSIGNED, d DECIMAL(20,5), f DOUBLE,
        s VARCHAR(100), t TEXT, b BLOB, dt DATETIME(6), da DATE, ti TIME(3), y YEAR, e ENUM('a','b'), se SET('x','y'),
        bi BIT(9), j JSON)""")
    insert = "INSERT INTO kinds (i,d,f,s,t,b,dt,da,ti,y,e,se,bi,j) VALUES (%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s)"
    values = (2**64 - 1, decimal.Decimal("-123456789.12345"), 1.5, "Grüße 🌊", "x" * 60000, bytes(range(256)),
              datetime.datetime(2024, 2, 29, 1, 2, 3, 456789), datetime.date(1, 1, 1),
              datetime.timedelta(hours=-30, milliseconds=7), 2024, "b", "x,y", b"\x01\xff", '{"a": [1, null]}')
    with db.cursor() as cursor:
        say("insert", (cursor.execute(insert, values), cursor.lastrowid))
        say("nulls", (cursor.execute(insert, (None,) * 14), cursor.lastrowid))
    for _ in range(3):
        say("kinds", rows(db, "SELECT * FROM kinds ORDER BY id"))


def freshness(db, other):
    rows(db, "CREATE TABLE counter (id INT PRIMARY KEY, n INT)")
    rows(db, "INSERT INTO counter VALUES (1, 0), (2, 0)")
    for n in range(1, 60):
        rows(db, "UPDATE counter SET n = n + 1 WHERE id = 1")
        seen = [scalar(c, "SELECT n FROM counter WHERE id = 1") for c in (db, other, db, other)]
        if seen != [n] * 4:
            say("STALE", (n, seen))
    say("sum", rows(other, "SELECT SUM(n) FROM counter"))
    # Long enough for the last write to be applied, after which the answer comes from memory.
    for _ in range(40):
        rows(db, "SELECT COUNT(*), MAX(n) FROM counter")
        time.sleep(0.01)


def transactions(db, other):
    db.begin()
    rows(db, "UPDATE counter SET n = 1000 WHERE id = 2")
    say("inside", (scalar(db, "SELECT n FROM counter WHERE id = 2"), scalar(other, "SELECT n FROM counter WHERE id = 2")))
    db.rollback()
    say("rolled back", scalar(db, "SELECT n FROM counter WHERE id = 2"))
    # A transaction that has read from memory what somebody else writes at once may end with error 1213, as after a
    # deadlock. It is begun again, as an application does, from the same row as before.
    for attempt in range(5):
        try:
            seen = one_snapshot(db, other)
            break
        except pymysql.err.OperationalError as error:
            if error.args[0] != 1213 or attempt == 4:
                raise
            other.rollback()
    for what, value in seen:
        say(what, value)


def one_snapshot(db, other):
    rows(db, "UPDATE counter SET n = 0 WHERE id = 2")
    other.begin()
    seen = [("snapshot", scalar(other, "SELECT n FROM counter WHERE id = 2"))]
    rows(db, "UPDATE counter SET n = 7 WHERE id = 2")
    seen.append(("snapshot still", scalar(other, "SELECT n FROM counter WHERE id = 2")))
    other.commit()
    seen.append(("after", scalar(other, "SELECT n FROM counter WHERE id = 2")))
    return seen


def errors(db):
    for sql in ("SELEC 1", "SELECT * FROM nowhere", "INSERT INTO counter VALUES (1, 1)", "SELECT * FROM counter WHERE"):
        try:
            rows(db, sql)
        except pymysql.MySQLError as error:
            say("error", error.args)
    rows(db, "SELECT 1/0")
    say("warnings", rows(db, "SHOW WARNINGS"))
    try:
        pymysql.connect(host=host, port=int(port), user=user, password="wrong", ssl=context, ssl_disabled=not tls)
    except pymysql.MySQLError as error:
        say("wrong password", error.args)
    try:
        connect(database="no_such_database")
    except pymysql.MySQLError as error:
        say("wrong database", error.args)


def many_results():
    with connect(client_flag=CLIENT.MULTI_STATEMENTS, autocommit=True) as db, db.cursor() as cursor:
        rows(db, "CREATE PROCEDURE pair() BEGIN SELECT 1 AS a; SELECT 2, 3; END")
        cursor.execute("SELECT 1; SELECT id FROM kinds ORDER BY id; UPDATE counter SET n = 5 WHERE id = 2; SELECT 'end'")
        while True:
            say("result", cursor.fetchall())
            if not cursor.nextset():
                break
        cursor.callproc("pair")
        say("procedure", cursor.fetchall())
        while cursor.nextset():
            say("procedure", cursor.fetchall())


def large(db):
    blob = os.urandom(1) * (17 << 20)
    rows(db, "CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)")
    rows(db, "INSERT INTO large VALUES (1, %s)", (blob,))
    say("17 MiB", scalar(db, "SELECT b FROM large") == blob)
    say("17 MiB again", scalar(db, "SELECT b FROM large") == blob)


def streaming():
    with connect(cursorclass=SSCursor, autocommit=True) as db, db.cursor() as cursor:
        cursor.execute("SELECT a.id, b.id FROM kinds a, kinds b, kinds c, kinds d ORDER BY 1, 2")
        say("streamed", [row for row in cursor])


def local_infile():
    with connect(local_infile=True, autocommit=True) as db, tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("".join(f"{i},{i * i}\n" for i in range(1000, 21000)))
        file.flush()
        say("loaded", rows(db, f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE counter FIELDS TERMINATED BY ','")[0])
        say("loaded sum", scalar(db, "SELECT SUM(n) FROM counter WHERE id >= 1000"))


def session_state():
    with connect(autocommit=True) as db:
        rows(db, "SET @a = 41, SESSION sql_mode = 'ANSI_QUOTES', time_zone = '+03:00'")
        say("variables", rows(db, "SELECT @a + 1, @@sql_mode, @@time_zone, FROM_UNIXTIME(0)"))
        rows(db, "CREATE TEMPORARY TABLE counter (id INT, n INT)")
        say("shadowed", rows(db, "SELECT n FROM counter WHERE id = 1"))
        rows(db, "DROP TEMPORARY TABLE counter")
        say("unshadowed", rows(db, "SELECT n FROM counter WHERE id = 1"))
        rows(db, "SELECT SQL_CALC_FOUND_ROWS id FROM counter ORDER BY id LIMIT 1")
        say("found rows", scalar(db, "SELECT FOUND_ROWS()"))
        db.select_db("information_schema")
        say("schema", scalar(db, "SELECT DATABASE()"))
        db.ping(reconnect=False)
        db.set_character_set("latin1")
        say("latin1", rows(db, f"SELECT s FROM {database}.kinds WHERE id = 1"))
    with connect(client_flag=CLIENT.FOUND_ROWS, autocommit=True) as db:
        say("matched", rows(db, "UPDATE counter SET n = 5 WHERE id = 2")[0])


prepare()
with connect(autocommit=True) as db, connect(autocommit=True) as other:
    types(db)
    freshness(db, other)
    transactions(db, other)
    errors(db)
    many_results()
    large(db)
    streaming()
    local_infile()
    session_state()
    rows(db, f"DROP DATABASE {database}")
print("done")
