// A small shop on mysql2's pool, every statement by `execute`, as its manual has it.
//
// usage: shop.js HOST PORT USER PASSWORD DATABASE
'use strict';
const mysql = require('mysql2/promise');

// How long the pages are asked for until they come from memory.
const WARM_MS_MAX = 20000;
// Of 100 reads, how many have to come from memory before the repetitions are counted.
const WARM_PERCENT = 90;
const REPETITIONS = 10;
const VISITORS = 4;

const [host, port, user, password, database] = process.argv.slice(2);
const base = { host, port: Number(port), user, password };
let reads = 0;

const read = async (db, text, values = []) => {
  reads += 1;
  return (await db.execute(text, values))[0];
};

function expect(what, seen, expected) {
  const [is, due] = [JSON.stringify(seen), JSON.stringify(expected)];
  if (is !== due) console.log(`STALE ${what}: ${is} and not ${due}`);
}

const stars = async (db, id) =>
  (await read(db, 'SELECT COUNT(*) AS count, CAST(COALESCE(SUM(stars), 0) AS SIGNED) AS sum FROM review WHERE book_id = ?', [id]))[0];

async function bookPage(db, id) {
  const [book] = await read(db, 'SELECT title, price, stock, author_id FROM book WHERE id = ?', [id]);
  const [author] = await read(db, 'SELECT name FROM author WHERE id = ?', [book.author_id]);
  return { ...book, author: author.name, ...(await stars(db, id)) };
}

const JOINED = 'SELECT b.title, a.name FROM book b JOIN author a ON a.id = b.author_id';

async function lists(db) {
  await read(db, `${JOINED} WHERE b.stock > ? AND b.price < ? ORDER BY b.title LIMIT 5`, [0, 20.5]);
  await read(db, `${JOINED} WHERE a.name = ? ORDER BY b.id`, ['Author 1']);
  await read(db, `${JOINED} WHERE b.id IN (?, ?, ?) ORDER BY b.id`, [1, 2, 3]);
  await read(db, 'SELECT title, stock FROM book ORDER BY title');
}

async function withTransaction(pool, work) {
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    const done = await work(connection);
    await connection.commit();
    return done;
  } catch (error) {
    await connection.rollback();
    throw error;
  } finally {
    connection.release();
  }
}

// Sells one and takes a review, and shows both at once.
async function review(pool, id) {
  const seen = await withTransaction(pool, async (db) => {
    const before = await bookPage(db, id);
    await db.execute('UPDATE book SET stock = stock - ? WHERE id = ?', [1, id]);
    await db.execute('INSERT INTO review (stars, body, book_id) VALUES (?, ?, ?)', [3, 'naïve', id]);
    const after = await bookPage(db, id);
    expect('inside', after, { ...before, stock: before.stock - 1, count: before.count + 1, sum: before.sum + 3 });
    return after;
  });
  expect('page', await bookPage(pool, id), seen);
  await pool.execute('UPDATE book SET stock = ? WHERE id = ?', [seen.stock - 1, id]);
  expect('page after autocommit', await bookPage(pool, id), { ...seen, stock: seen.stock - 1 });
}

async function pages(db) {
  for (let id = 1; id <= 5; id++) await bookPage(db, id);
  await lists(db);
}

async function visit(pool, inTransaction) {
  const before = reads;
  await Promise.all(Array.from({ length: VISITORS }, () => (inTransaction ? withTransaction(pool, pages) : pages(pool))));
  return reads - before;
}

async function main() {
  const counter = await mysql.createConnection(base);
  const hits = async () => Number((await counter.query("SHOW GLOBAL STATUS LIKE 'Qcache_hits'"))[0][0].Value);
  await counter.query(`DROP DATABASE IF EXISTS ${database}`);
  await counter.query(`CREATE DATABASE ${database} CHARACTER SET utf8mb4`);
  const pool = mysql.createPool({ ...base, database, connectionLimit: VISITORS });
  await pool.query('CREATE TABLE author (id INT PRIMARY KEY, name VARCHAR(80), KEY (name))');
  await pool.query('CREATE TABLE book (id INT PRIMARY KEY, title VARCHAR(120), price DECIMAL(9,2), stock INT, author_id INT, FOREIGN KEY (author_id) REFERENCES author (id))');
  await pool.query('CREATE TABLE review (id INT AUTO_INCREMENT PRIMARY KEY, stars INT, body TEXT, book_id INT, FOREIGN KEY (book_id) REFERENCES book (id))');
  for (let id = 1; id <= 3; id++) await pool.execute('INSERT INTO author VALUES (?, ?)', [id, `Author ${id % 3}`]);
  for (let id = 1; id <= 10; id++) {
    await pool.execute('INSERT INTO book VALUES (?, ?, ?, ?, ?)', [id, `Book ${id}`, '9.90', 1000, (id % 3) + 1]);
  }
  for (const [name, inTransaction] of [['pool', false], ['transactions', true]]) {
    for (let id = 1; id <= 5; id++) {
      await visit(pool, inTransaction);
      await review(pool, id);
    }
    for (const until = Date.now() + WARM_MS_MAX; Date.now() < until;) {
      const before = await hits();
      const asked = await visit(pool, inTransaction);
      if (((await hits()) - before) * 100 >= asked * WARM_PERCENT) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const before = await hits();
    let asked = 0;
    for (let i = 0; i < REPETITIONS; i++) asked += await visit(pool, inTransaction);
    console.log(`${name}: reads ${asked} hits ${(await hits()) - before}`);
    for (let i = 0; i < 5; i++) await review(pool, 2);
  }
  await counter.query(`DROP DATABASE ${database}`);
  await Promise.all([counter.end(), pool.end()]);
  console.log('done');
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
