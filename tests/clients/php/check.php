<?php
// Exercises mysqli and PDO over mysqlnd and prints what they saw, so that a run through Freshet can be compared with a
// direct one.
//
// usage: php -d mysqli.allow_local_infile=1 check.php HOST PORT USER PASSWORD DATABASE [tls] [compress]
[, $host, $port, $user, $password, $database] = $argv;
$tls = in_array('tls', $argv);
$compress = in_array('compress', $argv);
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

function say(string $what, mixed $value): void
{
    echo $what, ': ', json_encode($value, JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR), "\n";
}

function failure(string $what, callable $run): void
{
    try {
        say($what, $run());
    } catch (PDOException $error) {
        say($what, $error->errorInfo);
    } catch (mysqli_sql_exception $error) {
        say($what, [$error->getCode(), $error->getSqlState(), $error->getMessage()]);
    }
}

function open_mysqli(?string $database): mysqli
{
    global $host, $port, $user, $password, $tls, $compress;
    $db = mysqli_init();
    $db->options(MYSQLI_OPT_LOCAL_INFILE, true);
    $flags = $compress ? MYSQLI_CLIENT_COMPRESS : 0;
    if ($tls) {
        $db->ssl_set(null, null, null, null, null);
        $flags |= MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT;
    }
    $db->real_connect($host, $user, $password, $database, (int) $port, null, $flags);
    $db->set_charset('utf8mb4');
    return $db;
}

function open_pdo(array $options): PDO
{
    global $host, $port, $user, $password, $tls, $compress, $database;
    $options += [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::MYSQL_ATTR_COMPRESS => $compress];
    if ($tls) {
        $options += [PDO::MYSQL_ATTR_SSL_CA => '', PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT => false, PDO::MYSQL_ATTR_SSL_CIPHER => 'DEFAULT'];
    }
    return new PDO("mysql:host=$host;port=$port;dbname=$database;charset=utf8mb4", $user, $password, $options);
}

// Cells of every size around what is packed, and around where frames end.
function sizes(mysqli $db, int $mode): void
{
    foreach ([0, 1, 10, 40, 49, 50, 51, 250, 251, 16384, 65500, 65536, 65600, 1 << 20] as $size) {
        $seen = [];
        for ($i = 0; $i < 2; $i++) {
            $result = $db->query("SELECT RPAD('', $size, 'compressible') AS a, id, s FROM item WHERE id < 5 ORDER BY id", $mode);
            $seen[] = md5(json_encode($result->fetch_all(MYSQLI_ASSOC)));
            $result->free();
        }
        say("size $size", $seen);
    }
}

function with_mysqli(): void
{
    global $user, $password, $database;
    $root = open_mysqli(null);
    $root->query("DROP DATABASE IF EXISTS $database");
    $root->query("CREATE DATABASE $database CHARACTER SET utf8mb4");
    $root->close();
    $db = open_mysqli($database);
    $other = open_mysqli($database);
    $db->query('CREATE TABLE item (id INT AUTO_INCREMENT PRIMARY KEY, n BIGINT, s VARCHAR(50), d DATETIME(3), b LONGBLOB)');
    $insert = $db->prepare('INSERT INTO item (n, s, d, b) VALUES (?, ?, ?, ?)');
    for ($i = 0; $i < 20; $i++) {
        $insert->execute([$i % 3 ? $i * 1000000007 : null, "naïve $i", '2024-02-29 12:34:56.789', str_repeat("\1$i", 100)]);
        say('inserted', [$insert->affected_rows, $insert->insert_id]);
    }
    foreach ([MYSQLI_STORE_RESULT, MYSQLI_USE_RESULT] as $mode) {
        for ($i = 0; $i < 3; $i++) {
            $result = $db->query('SELECT id, n, s, d FROM item ORDER BY id', $mode);
            say('text', $result->fetch_all());
            $result->free();
        }
        sizes($db, $mode);
    }
    foreach ([MYSQLI_CURSOR_TYPE_NO_CURSOR, MYSQLI_CURSOR_TYPE_READ_ONLY] as $cursor) {
        $select = $db->prepare('SELECT id, n, s, d FROM item WHERE id > ? ORDER BY id');
        $select->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, $cursor);
        for ($i = 0; $i < 3; $i++) {
            $select->execute([$i * 5]);
            $select->bind_result($id, $n, $s, $d);
            while ($select->fetch()) {
                say('binary', [$id, $n, $s, $d]);
            }
        }
        $select->close();
    }
    $long = $db->prepare('INSERT INTO item (id, b) VALUES (100, ?)');
    $nothing = null;
    $long->bind_param('b', $nothing);
    for ($i = 0; $i < 40; $i++) {
        $long->send_long_data(0, str_repeat(chr(65 + $i), 50000));
    }
    $long->execute();
    say('long data', $db->query('SELECT LENGTH(b), SHA2(b, 256) FROM item WHERE id = 100')->fetch_all());
    $noise = '';
    for ($i = 0; strlen($noise) < 3 << 20; $i++) {
        $noise .= md5((string) $i, true);
    }
    $literal = $db->real_escape_string($noise);
    $db->query("INSERT INTO item (id, b) VALUES (101, _binary'$literal')");
    $back = $db->query('SELECT b FROM item WHERE id = 101')->fetch_row()[0];
    say('noise', [strlen($back), $back === $noise]);
    // More than one packet's worth: the answer goes over two frames of the protocol, and many compressed ones.
    $large = $db->query("SELECT REPEAT('0123456789abcdef', 1100000) AS a, 5 AS b", MYSQLI_USE_RESULT)->fetch_row();
    say('large', [strlen($large[0]), md5($large[0]), $large[1]]);
    for ($n = 1; $n < 40; $n++) {
        $db->query("UPDATE item SET n = $n WHERE id = 1");
        foreach ([$db, $other, $other] as $reader) {
            $seen = (int) $reader->query('SELECT n FROM item WHERE id = 1')->fetch_row()[0];
            if ($seen !== $n) {
                say('STALE', [$n, $seen]);
            }
        }
    }
    // Long enough for the last write to be applied, after which the answer comes from memory.
    for ($i = 0; $i < 40; $i++) {
        $db->query('SELECT COUNT(*), MAX(s) FROM item')->free();
        usleep(10000);
    }
    $db->multi_query("SELECT 1; UPDATE item SET s = 'x' WHERE id = 2; SELECT s FROM item WHERE id = 2; SELECT * FROM nowhere; SELECT 2");
    failure('many', function () use ($db) {
        do {
            $result = $db->store_result();
            say('one of many', $result ? $result->fetch_all() : $db->affected_rows);
        } while ($db->next_result());
    });
    $file = tempnam(sys_get_temp_dir(), 'rows');
    for ($i = 0; $i < 20000; $i++) {
        file_put_contents($file, "$i\tline $i\n", FILE_APPEND);
    }
    $db->query('CREATE TABLE loaded (id INT PRIMARY KEY, s VARCHAR(50))');
    $db->query("LOAD DATA LOCAL INFILE '$file' INTO TABLE loaded");
    unlink($file);
    say('loaded', $db->query('SELECT COUNT(*), SUM(id), MAX(s) FROM loaded')->fetch_all());
    failure('no file', fn () => @$db->query("LOAD DATA LOCAL INFILE '/nowhere/at/all' INTO TABLE loaded"));
    failure('no table', fn () => $db->query("LOAD DATA LOCAL INFILE '/nowhere/at/all' INTO TABLE nowhere"));
    foreach (['SELEC 1', 'SELECT * FROM nowhere', 'INSERT INTO item (id) VALUES (1)'] as $wrong) {
        failure($wrong, fn () => $db->query($wrong));
    }
    $db->begin_transaction();
    $db->query('DELETE FROM item');
    say('inside', $db->query('SELECT COUNT(*) FROM item')->fetch_row());
    say('outside', $other->query('SELECT COUNT(*) FROM item')->fetch_row());
    $db->rollback();
    $db->change_user($user, $password, 'information_schema');
    say('changed', $db->query('SELECT DATABASE(), REPEAT("x", 100)')->fetch_row());
    $db->change_user($user, $password, $database);
    say('changed back', $db->query('SELECT id FROM item ORDER BY id LIMIT 3')->fetch_all());
    failure('wrong password', fn () => $other->change_user($user, 'wrong', $database));
    $victim = open_mysqli($database);
    $db->query("KILL {$victim->thread_id}");
    // Which of "gone away" and "lost" it is hangs on who is faster.
    try {
        say('killed', $victim->query('SELECT 1')->fetch_row());
    } catch (mysqli_sql_exception $error) {
        say('killed', in_array($error->getCode(), [2006, 2013, 1317, 1927, 4031]));
    }
    $sleeper = open_mysqli($database);
    $sleeper->query('SELECT SLEEP(30)', MYSQLI_ASYNC);
    do {
        $rows = $db->query("SELECT id FROM information_schema.processlist WHERE info = 'SELECT SLEEP(30)' AND db = '$database'")->fetch_all();
    } while ($rows === []);
    $db->query("KILL QUERY {$rows[0][0]}");
    failure('interrupted', fn () => $sleeper->reap_async_query()->fetch_row());
    say('goes on', $sleeper->query("SELECT 'alive', REPEAT('y', 70)")->fetch_row());
}

function with_pdo(): void
{
    foreach ([true, false] as $emulated) {
        foreach ([true, false] as $buffered) {
            $db = open_pdo([PDO::ATTR_EMULATE_PREPARES => $emulated, PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => $buffered]);
            say('pdo', [$emulated, $buffered]);
            for ($i = 0; $i < 3; $i++) {
                say('all', $db->query('SELECT id, n, s, d FROM item ORDER BY id')->fetchAll(PDO::FETCH_NUM));
                $some = $db->prepare('SELECT id, s, SHA2(b, 256) FROM item WHERE id > ? AND s LIKE ? ORDER BY id');
                $some->execute([3, 'na%']);
                say('some', $some->fetchAll(PDO::FETCH_ASSOC));
                $some->closeCursor();
            }
            $db->beginTransaction();
            say('updated', $db->exec('UPDATE item SET n = n + 1 WHERE id < 4'));
            $db->rollBack();
            failure('missing', fn () => $db->query('SELECT * FROM nowhere'));
            failure('duplicate', fn () => $db->exec('INSERT INTO item (id) VALUES (1)'));
            if ($emulated) {
                $many = $db->query('SELECT 1; SELECT id FROM item ORDER BY id LIMIT 3');
                do {
                    say('one of many', $many->fetchAll(PDO::FETCH_NUM));
                } while ($many->nextRowset());
            }
        }
    }
}

with_mysqli();
with_pdo();
open_mysqli(null)->query("DROP DATABASE $database");
echo "done\n";
