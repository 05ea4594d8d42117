//! One of the two ways on which a script is played, with its clients.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use freshet_tests::Target;
use freshet_tests::raw::{Raw, command, status, status_at};

use crate::lockstep::script::{CLIENTS, Script, Step};

/// The account of all clients. It has no password.
pub const USER: &str = "fresh_lockstep";

/// The schemas of the two ways. Their names are of one length, so that the packets in which they stand are.
pub const DIRECT: &str = "fresh_step_a";
pub const THROUGH: &str = "fresh_step_b";

/// Longer than a read view is left unopened for.
const PAUSE: Duration = Duration::from_millis(25);

/// SERVER_STATUS_NO_GOOD_INDEX_USED and SERVER_STATUS_NO_INDEX_USED. MySQL leaves them in later answers, too.
const OF_INDEXES: u8 = 0x30;

/// What a client was told of one step: all packets, or nothing where the connection is over.
pub type Told = Option<Vec<Vec<u8>>>;

/// What each client does before a script. What FOUND_ROWS() says before the first SELECT is chance.
/// What a server says of a connection that is gone, before the number.
const UNKNOWN_ID: &[u8] = b"Unknown thread id: ";
const FIRST: [&str; 2] = ["SET SESSION innodb_lock_wait_timeout = {wait}, lock_wait_timeout = 1", SOME_ROWS];
const SOME_ROWS: &str = "SELECT 1";

pub struct World {
    schema: &'static str,
    clients: Vec<Client>,
}

struct Client {
    raw: Option<Raw>,
    id: u32,
    prepared: HashMap<String, u32>,
}

impl World {
    /// Logs all clients in.
    pub fn new(target: &Target, schema: &'static str, further: u32, first: &[&str]) -> World {
        let clients = (0..CLIENTS).map(|_| {
            let mut raw = Raw::dial(&target.host, target.port).expect("a greeting");
            raw.login(USER, schema, further).expect("a login");
            // The shortest that MySQL knows is a second.
            let wait = if raw.version.contains("MariaDB") { "0" } else { "1" };
            for statement in FIRST.iter().chain(first) {
                raw.query(&statement.replace("{wait}", wait)).expect("an answer");
            }
            Client { id: raw.id, raw: Some(raw), prepared: HashMap::new() }
        });
        World { schema, clients: clients.collect() }
    }

    /// Plays a script, to the first answer for which `is_over`.
    pub fn play(&mut self, script: &Script, is_over: impl Fn(&Told) -> bool) -> Vec<Told> {
        let mut all = Vec::new();
        for (client, step) in script {
            let told = self.step(*client, step);
            let is_last = is_over(&told);
            all.push(told);
            if is_last {
                break;
            }
        }
        all
    }

    fn step(&mut self, number: usize, step: &Step) -> Told {
        let filled = |text: &str| {
            let mut text = text.replace("{s}", self.schema).replace("{k}", &number.to_string());
            for (other, client) in self.clients.iter().enumerate() {
                text = text.replace(&format!("{{id{other}}}"), &client.id.to_string());
            }
            text
        };
        let step = match step {
            Step::Text(text) => Step::Text(filled(text)),
            other => other.clone(),
        };
        let client = &mut self.clients[number];
        let told = client.take(&step, self.schema);
        if told.is_err() {
            client.raw = None;
        }
        told.ok().map(|packets| packets.into_iter().map(|packet| self.normal(packet)).collect())
    }

    /// A packet as it would be with the other schema and with other numbers of connections, and whatever indexes the server took.
    fn normal(&self, mut packet: Vec<u8>) -> Vec<u8> {
        if let Some(at) = packet.windows(UNKNOWN_ID.len()).position(|part| part == UNKNOWN_ID) {
            packet.truncate(at + UNKNOWN_ID.len());
        }
        let name = THROUGH.as_bytes();
        let places: Vec<usize> = (0..packet.len()).filter(|&at| packet[at..].starts_with(name)).collect();
        for at in places {
            packet[at..at + name.len()].copy_from_slice(DIRECT.as_bytes());
        }
        if let Some(flags) = status_at(&packet).and_then(|at| packet.get_mut(at..)) {
            flags[0] &= !OF_INDEXES;
        }
        packet
    }
}

impl Client {
    fn take(&mut self, step: &Step, schema: &str) -> io::Result<Vec<Vec<u8>>> {
        let Some(raw) = &mut self.raw else { return Err(io::ErrorKind::NotConnected.into()) };
        match step {
            Step::Text(text) => raw.query(text),
            Step::Execute(text) => self.execute(text, None),
            Step::ExecuteWith(text, value) => self.execute(text, Some(*value)),
            Step::Reset => {
                self.prepared.clear();
                let reset = raw.ask(command::RESET_CONNECTION, b"")?;
                Ok([reset, raw.query(SOME_ROWS)?].concat())
            }
            Step::ChangeUser => {
                self.prepared.clear();
                let rest = format!("\0\0{schema}\0\x2d\0mysql_native_password\0");
                raw.send(command::CHANGE_USER, &[USER.as_bytes(), rest.as_bytes()].concat())?;
                let last = raw.authenticated()?;
                Ok([vec![last], raw.query(SOME_ROWS)?].concat())
            }
            Step::Ping => {
                // The warnings that it counts are those of what the server was sent last.
                raw.ask(command::PING, b"").map(|mut ok| {
                    ok[0].truncate(5);
                    ok
                })
            }
            Step::InitDb => raw.ask(command::INIT_DB, schema.as_bytes()),
            Step::Pause => {
                std::thread::sleep(PAUSE);
                Ok(Vec::new())
            }
        }
    }

    fn execute(&mut self, text: &str, value: Option<i32>) -> io::Result<Vec<Vec<u8>>> {
        let Some(raw) = &mut self.raw else { return Err(io::ErrorKind::NotConnected.into()) };
        let mut told = Vec::new();
        let id = match self.prepared.get(text) {
            Some(id) => *id,
            None => {
                let mut packets = raw.ask(command::STMT_PREPARE, text.as_bytes())?;
                if packets[0][0] != 0 {
                    return Ok(packets);
                }
                let id = u32::from_le_bytes([packets[0][1], packets[0][2], packets[0][3], packets[0][4]]);
                packets[0][1..5].fill(0);
                told = packets;
                self.prepared.insert(text.to_owned(), id);
                id
            }
        };
        let mut body = [id.to_le_bytes().as_slice(), &[0, 1, 0, 0, 0]].concat();
        if let Some(value) = value {
            body.extend([0, 1, 3, 0]);
            body.extend(value.to_le_bytes());
        }
        told.extend(raw.ask(command::STMT_EXECUTE, &body)?);
        Ok(told)
    }
}

/// The flags of the last packet that has any.
pub fn flags(told: &[Vec<u8>]) -> u16 {
    told.last().map_or(0, |packet| status(packet))
}
