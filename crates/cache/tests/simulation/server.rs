//! A model of the upstream: the writes, the order in which they are logged, and when they become visible.

/// Objects `0..TABLES` are tables. Then comes a view that reads one of the first two, and the definition and the rows of the last table.
/// A change of that table itself is known to change some of its rows, but not which ones.
pub const TABLES: usize = 4;
pub const KEYED: usize = TABLES - 1;
pub const VIEW: usize = TABLES;
pub const ALTER: usize = VIEW + 1;
pub const FIRST_ROW: usize = ALTER + 1;
pub const ROWS: usize = 12;
pub const OBJECTS: usize = FIRST_ROW + ROWS;

/// The state of an object: 0 at first, then the place in the log of the last change of the object, plus one.
pub type Version = u64;

/// The result of a query: the objects that it read, with their versions.
pub type Content = Vec<(usize, Version)>;

#[derive(Clone)]
pub struct Transaction {
    pub objects: Vec<usize>,
    pub through_us: bool,
    /// The stream does not bring the transaction, and nothing that tells positions knows it.
    pub unlogged: bool,
    visible: bool,
}

/// One version of an object, and the number of the global state from which it was visible.
#[derive(Clone, Copy)]
pub struct Since {
    pub version: Version,
    pub state: u64,
    pub through_us: bool,
}

/// Invariant: an object is locked from the statement that changes it to its commit, as by row locks. So the versions of one object become
/// visible in their order; versions of different objects need not.
pub struct Server {
    pub log: Vec<Transaction>,
    pub history: [Vec<Since>; OBJECTS],
    pub locked: [bool; OBJECTS],
    states: u64,
    visible_prefix: usize,
}

impl Server {
    pub fn new() -> Self {
        let first = Since { version: 0, state: 0, through_us: false };
        Self {
            log: Vec::new(),
            history: std::array::from_fn(|_| vec![first]),
            locked: [false; OBJECTS],
            states: 0,
            visible_prefix: 0,
        }
    }

    /// Logs a transaction: from now on the stream shows it, unless it is unlogged. Returns its version.
    pub fn flush(&mut self, objects: Vec<usize>, through_us: bool, unlogged: bool) -> Version {
        self.log.push(Transaction { objects, through_us, unlogged, visible: false });
        self.log.len() as Version
    }

    /// Returns how many transactions up to this one are in the binlog.
    pub fn logged_up_to(&self, version: Version) -> u64 {
        self.log[..version as usize].iter().filter(|transaction| !transaction.unlogged).count() as u64
    }

    /// Commits a transaction in the engine: from now on snapshots show it. Returns the number of the state that this makes.
    pub fn commit(&mut self, version: Version) -> u64 {
        self.states += 1;
        let transaction = &mut self.log[version as usize - 1];
        transaction.visible = true;
        for object in &transaction.objects {
            let since = Since { version, state: self.states, through_us: transaction.through_us };
            self.history[*object].push(since);
            self.locked[*object] = false;
        }
        while self.log.get(self.visible_prefix).is_some_and(|next| next.visible || next.unlogged) {
            self.visible_prefix += 1;
        }
        self.states
    }

    /// Returns the answer to a probe: all transactions up to here are visible.
    pub fn visible_prefix(&self) -> u64 {
        self.visible_prefix as u64
    }

    pub fn version_of(&self, object: usize) -> Version {
        self.history[object].last().map_or(0, |since| since.version)
    }

    /// Returns the table that the view reads in this version.
    pub fn view_target(version: Version) -> usize {
        (version % 2) as usize
    }

    /// Answers a query, a set of objects as bits, from a snapshot taken now.
    pub fn answer(&self, query: u32) -> Content {
        Self::answer_in(&std::array::from_fn(|object| self.version_of(object)), query)
    }

    /// Answers a query from a snapshot with these versions.
    pub fn answer_in(sees: &[Version; OBJECTS], query: u32) -> Content {
        let mut reads: Vec<usize> = (0..OBJECTS).filter(|object| query & (1 << object) != 0).collect();
        if reads.contains(&VIEW) {
            reads.push(Self::view_target(sees[VIEW]));
        }
        if reads.contains(&KEYED) {
            reads.extend(ALTER..OBJECTS);
        } else if reads.iter().any(|object| *object >= FIRST_ROW) {
            reads.extend([KEYED, ALTER]);
        }
        reads.into_iter().map(|object| (object, sees[object])).collect()
    }
}
