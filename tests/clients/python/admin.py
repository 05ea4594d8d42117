"""Administrates Freshet with PyMySQL, as scripts for ProxySQL do.

usage: admin.py HOST PORT
"""

import sys

import pymysql
from pymysql.cursors import DictCursor

host, port = sys.argv[1], int(sys.argv[2])
TEXTS = ["it's", "back\\slash", 'quo"te', "per%cent", "new\nline", "\\'; DELETE FROM mysql_users; --", "größe €"]


def connect(**options):
    return pymysql.connect(host=host, port=port, user="admin", password="admin", **options)


def rows(connection, sql, args=None):
    with connection.cursor() as cursor:
        cursor.execute(sql, args)
        return cursor.fetchall()


def fails(connection, sql, code):
    try:
        rows(connection, sql)
    except pymysql.MySQLError as error:
        assert error.args[0] == code, error
    else:
        raise AssertionError(sql)


def goes_around(options):
    connection = connect(**options)
    rows(connection, "DELETE FROM mysql_users")
    with connection.cursor() as cursor:
        insert = "INSERT INTO mysql_users (username, comment) VALUES (%s, %s)"
        assert cursor.executemany(insert, [(text, text) for text in TEXTS]) == len(TEXTS)
    assert sorted(rows(connection, "SELECT comment FROM mysql_users")) == sorted((text,) for text in TEXTS)
    for text in TEXTS:
        assert rows(connection, "SELECT username FROM mysql_users WHERE comment = %s", (text,)) == ((text,),)
    rows(connection, "UPDATE mysql_users SET max_connections = %s WHERE username = %s", (7, TEXTS[0]))
    assert rows(connection, "SELECT COUNT(*) FROM mysql_users WHERE max_connections = 7") == (("1",),)
    assert ("mysql_users",) in rows(connection, "SHOW TABLES FROM main")
    assert rows(connection, "SHOW CREATE TABLE mysql_users")[0][1].startswith("CREATE TABLE mysql_users")
    connection.commit()
    connection.ping()
    connection.select_db("stats")
    assert rows(connection, "SELECT DATABASE()") == (("stats",),)
    connection.begin()
    assert rows(connection, "SELECT 1") == (("1",),)
    fails(connection, "DELETE FROM mysql_users", 1235)
    connection.rollback()
    rows(connection, "DELETE FROM mysql_users")
    connection.close()


for options in [{}, {"database": "main"}, {"database": "stats"}, {"autocommit": True}]:
    goes_around(options)

connection = connect(cursorclass=DictCursor)
assert rows(connection, "SELECT hostgroup_id, status FROM mysql_servers") == [{"hostgroup_id": "0", "status": "ONLINE"}]
rows(connection, "LOAD MYSQL QUERY RULES TO RUNTIME")
fails(connection, "SELECT * FROM nowhere", 1045)
fails(connection, "INSERT INTO mysql_servers (port) VALUES (1)", 1045)
fails(connection, "USE nowhere", 1049)
try:
    pymysql.connect(host=host, port=port, user="admin", password="wrong")
except pymysql.err.OperationalError as error:
    assert error.args[0] == 1045, error
else:
    raise AssertionError("it is let in with a wrong password")
print("all is well")
