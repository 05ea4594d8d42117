// Exercises mysql2 and prints what it saw, so that a run through Freshet can be compared with a direct one.
//
// usage: node check.js HOST PORT USER PASSWORD DATABASE [tls] [compress]
'use strict';
const mysql = require('mysql2/promise');

const [host, port, user, password, database, ...how] = process.argv.slice(2);
const ssl = how.includes('tls') ? { rejectUnauthorized: false } : undefined;
const base = { host, port: Number(port), user, password, ssl, compress: how.includes('compress') };
const say = (what, value) => console.log(`${what}: ${JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `${v}n` : v))}`);
const failure = async (what, promise) => {
  try {
    say(what, await promise);
  } catch (error) {
    say(what, [error.errno, error.sqlState, error.sqlMessage]);
  }
};

async function main() {
  const root = await mysql.createConnection(base);
  await root.query(`DROP DATABASE IF EXISTS ${database}`);
  await root.query(`CREATE DATABASE ${database} CHARACTER SET utf8mb4`);
  await root.end();
  const options = { ...base, database, supportBigNumbers: true, bigNumberStrings: true, dateStrings: true };
  const db = await mysql.createConnection({ ...options, multipleStatements: true });
  const pool = mysql.createPool({ ...options, connectionLimit: 8 });

  await db.query('CREATE TABLE item (id INT AUTO_INCREMENT PRIMARY KEY, n BIGINT, s VARCHAR(50), d DATETIME(3), b BLOB)');
  for (let i = 0; i < 20; i++) {
    const [done] = await db.execute('INSERT INTO item (n, s, d, b) VALUES (?, ?, ?, ?)', [
      i % 3 ? String(i * 1e15) : null, `naïve ${i}`, '2024-02-29 12:34:56.789', Buffer.from([0, i, 255])]);
    say('inserted', [done.affectedRows, done.insertId]);
  }
  for (let i = 0; i < 3; i++) {
    say('text', (await db.query('SELECT * FROM item ORDER BY id'))[0]);
    say('binary', (await db.execute('SELECT * FROM item WHERE id > ? ORDER BY id', [5]))[0]);
  }
  for (let n = 1; n < 60; n++) {
    await db.execute('UPDATE item SET n = ? WHERE id = 1', [n]);
    const reads = await Promise.all(Array.from({ length: 8 }, (_, i) => (i % 2
      ? pool.execute('SELECT n FROM item WHERE id = ?', [1]) : pool.query('SELECT n FROM item WHERE id = 1'))));
    const seen = reads.map(([rows]) => Number(rows[0].n));
    if (seen.some((value) => value !== n)) say('STALE', [n, seen]);
  }
  // Long enough for the last write to be applied, after which the answer comes from memory.
  for (let i = 0; i < 40; i++) {
    await db.query('SELECT COUNT(*), MAX(s) FROM item');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  say('many', (await db.query('SELECT 1 AS a; UPDATE item SET s = "x" WHERE id = 2; SELECT s FROM item WHERE id = 2'))[0]
    .map((r) => (Array.isArray(r) ? r : r.affectedRows)));
  await db.beginTransaction();
  await db.query('DELETE FROM item');
  say('inside', (await db.query('SELECT COUNT(*) AS c FROM item'))[0]);
  say('outside', (await pool.query('SELECT COUNT(*) AS c FROM item'))[0]);
  await db.rollback();
  say('rolled back', (await db.query('SELECT COUNT(*) AS c FROM item'))[0]);
  await failure('syntax', db.query('SELEC 1'));
  await failure('missing', db.execute('SELECT * FROM nowhere'));
  await failure('duplicate', db.execute('INSERT INTO item (id) VALUES (1)'));
  // mysql2's changeUser goes by COM_CHANGE_USER.
  await db.changeUser({ user, password, database: 'information_schema' });
  say('changed', (await db.query('SELECT DATABASE() AS d'))[0]);
  await db.changeUser({ user, password, database });
  say('changed back', (await db.query('SELECT n FROM item WHERE id = 1'))[0]);
  await db.ping();
  const rows = [];
  await new Promise((resolve, reject) => {
    db.connection.query('SELECT a.id x, b.id y FROM item a, item b ORDER BY 1, 2').stream()
      .on('data', (row) => rows.push([row.x, row.y])).on('end', resolve).on('error', reject);
  });
  say('streamed', rows);
  const [[large]] = await db.query("SELECT REPEAT('0123456789abcdef', 1100000) AS a, RPAD('', 100000, id) AS b FROM item LIMIT 1");
  say('large', [large.a.length, large.a === '0123456789abcdef'.repeat(1100000), large.b]);
  await db.query(`DROP DATABASE ${database}`);
  await Promise.all([db.end(), pool.end()]);
  console.log('done');
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
