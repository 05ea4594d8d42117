//! A client of the admin port, from its login to its end.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use freshet_protocol::{
    BinaryValue, Capabilities, Column, Command, EofPacket, ErrPacket, OkPacket, StatusFlags,
    binary_result_set, text_result_set,
};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::admin::Admin;
use crate::login::{Admitted, admit};
use crate::prepared::{Prepared, prepared_packets};
use crate::statements;
use crate::store::{Answer, Chosen, SqliteParameter};
use crate::wire::{ConnectionOver, Wire};

/// How long a client may take to log in.
const LOGIN_TIME_MAX: Duration = Duration::from_secs(10);
/// The type of every column: all values are texts, as in ProxySQL.
const VAR_STRING: u8 = 0xFD;
const UTF8MB4: u16 = 45;

/// Numbers of connections.
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

/// Serves one client until it leaves. `from`: where it comes from, for the message if it is refused.
pub async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    admin: Arc<Mutex<Admin>>,
    version: Arc<str>,
    from: String,
) {
    let mut wire = Wire::new(stream);
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    let accounts = admin.lock().unwrap_or_else(PoisonError::into_inner).accounts().clone();
    let login = tokio::time::timeout(LOGIN_TIME_MAX, admit(&mut wire, &accounts, &version, id, &from));
    if let Ok(Ok(Some(admitted))) = login.await {
        let dumps = admitted.dumps;
        let mut session = Session {
            admin,
            admitted,
            chosen: Chosen { schema: "main".to_owned(), connection: id, has_begun: false, dumps },
            prepared: Prepared::default(),
        };
        if let Some(schema) = session.admitted.schema.take() {
            // Clients of ProxySQL name any schema here, and are let in.
            let schema = String::from_utf8_lossy(&schema).into_owned();
            let _ = session.locked(|admin, chosen| admin.choose(&schema, chosen).map(|_| ()));
        }
        // A client that has left needs no error.
        let _ = session.run(&mut wire).await;
    }
}

struct Session {
    admin: Arc<Mutex<Admin>>,
    admitted: Admitted,
    chosen: Chosen,
    prepared: Prepared,
}

impl Session {
    async fn run<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        wire: &mut Wire<S>,
    ) -> Result<(), ConnectionOver> {
        loop {
            let packet = wire.packet().await?;
            let Some((command, body)) = packet.split_first() else { return Err(ConnectionOver) };
            match Command::from_byte(*command) {
                Command::Quit => return Ok(()),
                Command::Query => self.query(body, wire),
                Command::Ping | Command::SetOption => self.put_ok(wire),
                Command::ResetConnection => {
                    self.prepared.clear();
                    self.chosen.has_begun = false;
                    self.put_ok(wire);
                }
                Command::FieldList => self.list_fields(body, wire),
                Command::Statistics => wire.put(self.statistics().as_bytes()),
                Command::StmtPrepare => self.prepare(body, wire),
                Command::StmtExecute => self.execute(&packet, wire),
                Command::StmtReset => match self.prepared.reset(body) {
                    Ok(()) => self.put_ok(wire),
                    Err(error) => wire.put(&error.encode()),
                },
                Command::StmtSendLongData => {
                    self.prepared.take_piece(body);
                    continue;
                }
                Command::InitDb => self.init_db(body, wire),
                Command::StmtClose => {
                    self.prepared.close(body);
                    continue;
                }
                _ => wire.put(&ErrPacket::new(1047, "08S01", "Command not supported").encode()),
            }
            let sent = wire.flush().await;
            self.locked(|admin, _| admin.end_if_asked());
            sent?;
        }
    }

    fn locked<R>(&mut self, run: impl FnOnce(&mut Admin, &mut Chosen) -> R) -> R {
        let mut admin = self.admin.lock().unwrap_or_else(PoisonError::into_inner);
        run(&mut admin, &mut self.chosen)
    }

    fn init_db<S: AsyncRead + AsyncWrite + Unpin>(&mut self, name: &[u8], wire: &mut Wire<S>) {
        let name = String::from_utf8_lossy(name).into_owned();
        match self.locked(|admin, schema| admin.choose(&name, schema)) {
            Ok(_) => self.put_ok(wire),
            Err(refusal) => wire.put(&refusal.packet().encode()),
        }
    }

    /// Carries out the statements of a text, up to the first that fails.
    fn query<S: AsyncRead + AsyncWrite + Unpin>(&mut self, text: &[u8], wire: &mut Wire<S>) {
        let text = String::from_utf8_lossy(text).into_owned();
        let statements = statements::split(&text);
        let takes_several = self.admitted.capabilities.contains(Capabilities::MULTI_STATEMENTS);
        match statements.len() {
            0 if text.trim().is_empty() => {
                return wire.put(&ErrPacket::new(1065, "42000", "Query was empty").encode());
            }
            // A comment alone, such as `/*!40100 SET @@SQL_MODE='' */` of mysqldump.
            0 => return self.put_ok(wire),
            1 => {}
            _ if takes_several => {}
            _ => return wire.put(&ErrPacket::new(1064, "42000", "several statements in one text").encode()),
        }
        let role = self.admitted.role;
        for (at, statement) in statements.iter().enumerate() {
            let has_more = at + 1 < statements.len();
            match self.locked(|admin, chosen| admin.run(statement, &[], role, chosen)) {
                Ok(answer) => self.put_answer(wire, answer, has_more),
                Err(refusal) => return wire.put(&refusal.packet().encode()),
            }
        }
    }

    fn prepare<S: AsyncRead + AsyncWrite + Unpin>(&mut self, text: &[u8], wire: &mut Wire<S>) {
        let statements = statements::split(&String::from_utf8_lossy(text));
        let [statement] = &statements[..] else {
            return wire.put(&ErrPacket::new(1064, "42000", "one statement can be prepared").encode());
        };
        let role = self.admitted.role;
        let described = self.locked(|admin, _| admin.describe(statement, role));
        let (parameters, columns) = match described {
            Ok(described) => described,
            Err(refusal) => return wire.put(&refusal.packet().encode()),
        };
        match self.prepared.add(statement.clone(), parameters) {
            Ok(id) => {
                let columns: Vec<Column> = columns.into_iter().map(column).collect();
                let packets = prepared_packets(id, parameters, self.admitted.capabilities, &columns);
                packets.iter().for_each(|packet| wire.put(packet));
            }
            Err(error) => wire.put(&error.encode()),
        }
    }

    fn execute<S: AsyncRead + AsyncWrite + Unpin>(&mut self, packet: &[u8], wire: &mut Wire<S>) {
        let caps = self.admitted.capabilities;
        let (statement, values): (String, Vec<SqliteParameter>) = match self.prepared.execution(packet, caps)
        {
            Ok(execution) => execution,
            Err(error) => return wire.put(&error.encode()),
        };
        let role = self.admitted.role;
        match self.locked(|admin, chosen| admin.run(&statement, &values, role, chosen)) {
            Ok(Answer::Rows { columns, rows }) => {
                let columns: Vec<Column> = columns.into_iter().map(column).collect();
                let value = |value: Option<_>| value.map_or(BinaryValue::Null, BinaryValue::Text);
                let rows = rows.into_iter().map(|row| row.into_iter().map(value).collect::<Vec<_>>());
                let (out, seq) = wire.out();
                binary_result_set(out, seq, caps, status(false), &columns, rows);
            }
            Ok(answer) => self.put_answer(wire, answer, false),
            Err(refusal) => wire.put(&refusal.packet().encode()),
        }
    }

    /// Lists the columns of a table. A pattern behind its name is ignored: clients want all columns.
    fn list_fields<S: AsyncRead + AsyncWrite + Unpin>(&mut self, body: &[u8], wire: &mut Wire<S>) {
        /// The default of a column, which nobody asks for in this way.
        const NULL: u8 = 0xFB;
        let name = body.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        let (role, caps) = (self.admitted.role, self.admitted.capabilities);
        match self.locked(|admin, chosen| admin.columns(&name, role, chosen)) {
            Ok(names) => {
                for name in names {
                    let mut packet = column(name).encode(caps);
                    packet.push(NULL);
                    wire.put(&packet);
                }
                let ok = OkPacket { status: status(false), ..OkPacket::default() };
                wire.put(&if caps.deprecate_eof() {
                    ok.encode(caps, OkPacket::HEADER_AS_EOF)
                } else {
                    EofPacket { warnings: 0, status: status(false) }.encode()
                });
            }
            Err(refusal) => wire.put(&refusal.packet().encode()),
        }
    }

    /// Returns the line that `mysqladmin status` prints.
    fn statistics(&mut self) -> String {
        let uptime = self.locked(|admin, _| admin.uptime());
        format!("Uptime: {uptime}")
    }

    fn put_answer<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        wire: &mut Wire<S>,
        answer: Answer,
        has_more: bool,
    ) {
        match answer {
            Answer::Done { affected, last_insert_id, note } => {
                let ok = OkPacket {
                    affected_rows: affected,
                    last_insert_id,
                    status: status(has_more),
                    info: note.into_bytes(),
                    ..OkPacket::default()
                };
                wire.put(&ok.encode(self.admitted.capabilities, OkPacket::HEADER));
            }
            Answer::Rows { columns, rows } => {
                let columns: Vec<Column> = columns.into_iter().map(column).collect();
                let caps = self.admitted.capabilities;
                let (out, seq) = wire.out();
                text_result_set(out, seq, caps, status(has_more), &columns, rows.into_iter());
            }
        }
    }

    fn put_ok<S: AsyncRead + AsyncWrite + Unpin>(&self, wire: &mut Wire<S>) {
        self.put_answer(wire, Answer::ok(), false);
    }
}

fn column(name: String) -> Column {
    Column {
        name: name.into_bytes(),
        collation: UTF8MB4,
        length: u32::from(u16::MAX),
        kind: VAR_STRING,
        ..Column::default()
    }
}

fn status(has_more: bool) -> StatusFlags {
    // SQLite has no escapes: clients that are told so double their quotes.
    let mut status = StatusFlags::AUTOCOMMIT | StatusFlags::NO_BACKSLASH_ESCAPES;
    status.set(StatusFlags::MORE_RESULTS, has_more);
    status
}
