<?php
// A small shop on PDO with native prepared statements: once with a connection for each page, as PHP opens them, and once with persistent
// connections.
//
// usage: php shop.php HOST PORT USER PASSWORD DATABASE
[, $host, $port, $user, $password, $database] = $argv;

// How long the pages are asked for until they come from memory.
const WARM_SECONDS_MAX = 20;
// Of 100 reads, how many have to come from memory before the repetitions are counted.
const WARM_PERCENT = 90;
const REPETITIONS = 10;

const JOINED = 'SELECT b.title, a.name FROM book b JOIN author a ON a.id = b.author_id';

$reads = 0;

function expect(string $what, mixed $seen, mixed $expected): void
{
    if ($seen !== $expected) {
        echo "STALE $what: ", json_encode($seen), ' and not ', json_encode($expected), "\n";
    }
}

function connect(bool $persistent, ?string $database): PDO
{
    global $host, $port, $user, $password;
    $schema = $database === null ? '' : "dbname=$database;";
    return new PDO("mysql:host=$host;port=$port;{$schema}charset=utf8mb4", $user, $password, [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_EMULATE_PREPARES => false,
        PDO::ATTR_PERSISTENT => $persistent,
        PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
    ]);
}

function read(PDO $db, string $text, array $values = []): array
{
    global $reads;
    $reads++;
    $statement = $db->prepare($text);
    $statement->execute($values);
    return $statement->fetchAll();
}

function write(PDO $db, string $text, array $values): void
{
    $db->prepare($text)->execute($values);
}

function stars(PDO $db, int $id): array
{
    return read($db, 'SELECT COUNT(*) AS count, COALESCE(SUM(stars), 0) AS sum FROM review WHERE book_id = ?', [$id])[0];
}

function bookPage(PDO $db, int $id): array
{
    $book = read($db, 'SELECT title, price, stock, author_id FROM book WHERE id = ?', [$id])[0];
    $author = read($db, 'SELECT name FROM author WHERE id = :id', ['id' => $book['author_id']])[0];
    return $book + $author + stars($db, $id);
}

function lists(PDO $db): void
{
    read($db, JOINED . ' WHERE b.stock > ? AND b.price < ? ORDER BY b.title LIMIT 5', [0, '20.00']);
    read($db, JOINED . ' WHERE a.name = ? ORDER BY b.id', ['Author 1']);
    read($db, JOINED . ' WHERE b.id IN (?, ?, ?) ORDER BY b.id', [1, 2, 3]);
    $statement = $db->prepare('SELECT title, stock FROM book WHERE id > :least ORDER BY title LIMIT :most');
    $statement->bindValue('least', 2, PDO::PARAM_INT);
    $statement->bindValue('most', 5, PDO::PARAM_INT);
    $statement->execute();
    $statement->fetchAll();
    $GLOBALS['reads']++;
    $GLOBALS['reads']++;
    $db->query('SELECT COUNT(*) FROM book')->fetchColumn();
}

function transact(PDO $db, callable $work): mixed
{
    $db->beginTransaction();
    $done = $work();
    $db->commit();
    return $done;
}

/** Sells one and takes a review, and shows both at once. */
function review(callable $open, int $id): void
{
    $db = $open();
    $seen = transact($db, function () use ($db, $id) {
        $before = bookPage($db, $id);
        write($db, 'UPDATE book SET stock = stock - ? WHERE id = ?', [1, $id]);
        write($db, 'INSERT INTO review (stars, body, book_id) VALUES (?, ?, ?)', [3, 'naïve', $id]);
        $after = bookPage($db, $id);
        $due = ['stock' => $before['stock'] - 1, 'count' => $before['count'] + 1, 'sum' => (string) ($before['sum'] + 3)] + $before;
        ksort($due);
        ksort($after);
        expect('inside', $after, $due);
        return $after;
    });
    foreach (['the same connection' => $db, 'the next page' => $open()] as $where => $reader) {
        $page = bookPage($reader, $id);
        ksort($page);
        expect($where, $page, $seen);
    }
}

function visit(callable $open, bool $inTransaction): int
{
    global $reads;
    $before = $reads;
    for ($id = 1; $id <= 5; $id++) {
        $db = $open();
        $inTransaction ? transact($db, fn () => bookPage($db, $id)) : bookPage($db, $id);
    }
    $db = $open();
    $inTransaction ? transact($db, fn () => lists($db)) : lists($db);
    return $reads - $before;
}

function repeat(string $name, PDO $counter, callable $visit): void
{
    $hits = fn () => (int) $counter->query("SHOW GLOBAL STATUS LIKE 'Qcache_hits'")->fetch()['Value'];
    for ($until = microtime(true) + WARM_SECONDS_MAX; microtime(true) < $until; usleep(10000)) {
        $before = $hits();
        $asked = $visit();
        if (($hits() - $before) * 100 >= $asked * WARM_PERCENT) {
            break;
        }
    }
    $before = $hits();
    $asked = 0;
    for ($i = 0; $i < REPETITIONS; $i++) {
        $asked += $visit();
    }
    echo "$name: reads $asked hits ", $hits() - $before, "\n";
}

$counter = connect(false, null);
// Freshet's own counters are asked for as a text.
$counter->setAttribute(PDO::ATTR_EMULATE_PREPARES, true);
$counter->exec("DROP DATABASE IF EXISTS $database");
$counter->exec("CREATE DATABASE $database CHARACTER SET utf8mb4");
$db = connect(false, $database);
$db->exec('CREATE TABLE author (id INT PRIMARY KEY, name VARCHAR(80), KEY (name))');
$db->exec('CREATE TABLE book (id INT PRIMARY KEY, title VARCHAR(120), price DECIMAL(9,2), stock INT, author_id INT, FOREIGN KEY (author_id) REFERENCES author (id))');
$db->exec('CREATE TABLE review (id INT AUTO_INCREMENT PRIMARY KEY, stars INT, body TEXT, book_id INT, FOREIGN KEY (book_id) REFERENCES book (id))');
for ($id = 1; $id <= 3; $id++) {
    write($db, 'INSERT INTO author VALUES (?, ?)', [$id, 'Author ' . $id % 3]);
}
for ($id = 1; $id <= 10; $id++) {
    write($db, 'INSERT INTO book VALUES (?, ?, ?, ?, ?)', [$id, "Book $id", '9.90', 1000, $id % 3 + 1]);
}
foreach (['a connection for each page' => false, 'persistent connections' => true] as $kept => $persistent) {
    foreach (['' => false, ', transactions' => true] as $how => $inTransaction) {
        $open = fn () => connect($persistent, $database);
        for ($id = 1; $id <= 5; $id++) {
            visit($open, $inTransaction);
            review($open, $id);
        }
        repeat($kept . $how, $counter, fn () => visit($open, $inTransaction));
        for ($i = 0; $i < 5; $i++) {
            review($open, 2);
        }
    }
}
$counter->exec("DROP DATABASE $database");
echo "done\n";
