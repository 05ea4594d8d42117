//! The tables of the report.

use crate::keys::{Distribution, Draw, Rest};
use crate::load::Load;
use crate::mix::Mix;
use crate::target::Failure;

use super::options::Options;

/// The schema with the data, which has sysbench's form.
pub const DATABASE: &str = "sbtest";
/// The beginning of the tables' names.
pub const TABLE: &str = "sbtest";
/// The number of tables.
pub const TABLES: u32 = 5;
/// The rows of each table.
pub const ROWS: u32 = 20_000;
/// The rows of each table that most tables of the report ask for.
pub const KEYS: u32 = 10_000;
/// The number of keys if the cache is far too small. It is low, so that the cache has seen each key before the measurement.
const FEW_KEYS: u32 = 2_000;

/// A size at which everything fits, and one that is far too small.
const ROOMY: u64 = 512 << 20;
const TINY: u64 = 1 << 20;
/// sysbench's `special` as it is if nothing is said.
const SPECIAL: Draw =
    Draw { distribution: Distribution::Special, hot_keys: 1.0, hot_draws: 75, rest: Rest::Gaussian };
const UNIFORM: Draw = Draw { distribution: Distribution::Uniform, ..SPECIAL };

/// The quantity that differs from row to row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Across {
    /// The number of clients.
    Clients,
    /// The cache's size, as a share of the bytes of all results.
    Sizes,
    /// The number of statements that one client sends at once.
    Depths,
    /// The number of clients, in clear and with TLS.
    Channels,
}

impl Across {
    /// Returns the name of the quantity.
    pub fn name(self) -> &'static str {
        match self {
            Across::Clients | Across::Channels => "clients",
            Across::Sizes => "size",
            Across::Depths => "at once",
        }
    }
}

/// The content of the cache before a table is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warm {
    /// Only the statements that the clients have asked.
    Asked,
    /// The answer for each row.
    Everything,
}

/// Those who send the statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Clients that stay connected.
    Crew,
    /// Clients that connect, ask once and leave.
    Visitors,
    /// Stock sysbench, with this test.
    Sysbench(&'static str),
}

/// One table of the report.
#[derive(Debug)]
pub struct Table {
    /// The table's number. Its digit is that of the article's table.
    pub id: &'static str,
    /// The title.
    pub title: &'static str,
    /// How the table is measured, in a sentence or two.
    pub about: &'static str,
    /// The statements.
    pub mix: Mix,
    /// Whether the statements are prepared.
    pub prepared: bool,
    /// Whether the statements run in transactions.
    pub transactions: bool,
    /// The number of tables that the statements use.
    pub tables: u32,
    /// The number of rows of each of these tables that are asked for.
    pub keys: u32,
    /// How often each of these rows is asked for.
    pub draw: Draw,
    /// The cache's size in bytes.
    pub cache_bytes: u64,
    /// The content of the cache before the measurement.
    pub warm: Warm,
    /// What differs from row to row.
    pub across: Across,
    /// Whether latencies at a given rate are measured too.
    pub rate: bool,
    /// Whether a row with Freshet's cache off stands beside the others.
    pub without_cache: bool,
    /// Those who send the statements.
    pub by: By,
    /// The gains of the article's cache, at each number of clients or each size.
    pub published: &'static [(&'static str, &'static str)],
}

const ALL_HITS: Table = Table {
    id: "1a",
    title: "All hits",
    about: "Point selects by primary key (oltp_point_select) as texts. All answers are in memory before it is measured.",
    mix: Mix::Points,
    prepared: false,
    transactions: false,
    tables: TABLES,
    keys: KEYS,
    draw: SPECIAL,
    cache_bytes: ROOMY,
    warm: Warm::Everything,
    across: Across::Clients,
    rate: true,
    without_cache: false,
    by: By::Crew,
    published: &[("1", "+14 %"), ("8", "+21 %"), ("64", "+109 %"), ("256", "+108 %"), ("1024", "+127 %")],
};

const UNCACHEABLE: Table = Table {
    id: "3c",
    title: "Nothing cacheable at all, as texts",
    about: "Point selects with the time in their answers (`SELECT c, NOW() …`), which no cache may store.",
    mix: Mix::Volatile,
    draw: UNIFORM,
    warm: Warm::Asked,
    rate: false,
    published: &[],
    ..ALL_HITS
};

const LEGACY: Table = Table {
    id: "pk",
    title: "ProxySQL's plot: select by primary key",
    about: "The statement of oltp_legacy in autocommit: `SELECT c FROM sbtest1 WHERE id=…`.",
    tables: 1,
    rate: false,
    published: &[],
    ..ALL_HITS
};

const STOCK: Table = Table {
    id: "s1",
    title: "Stock sysbench: oltp_point_select",
    about: "sysbench's own script and clients, with no option but connection, threads, and the tables' number and size. Its statements are \
            prepared. Each round is of whole seconds, p99 is that of whole transactions, and of its clients the processor time is not known.",
    by: By::Sysbench("oltp_point_select"),
    prepared: true,
    rate: false,
    published: &[],
    ..ALL_HITS
};

/// All tables, in their order.
static ALL: [Table; 17] = [
    ALL_HITS,
    Table {
        id: "1b",
        title: "All hits, prepared",
        about: "The same, prepared once by each client and executed.",
        prepared: true,
        rate: false,
        published: &[],
        ..ALL_HITS
    },
    Table {
        id: "1p",
        title: "All hits, pipelined",
        about: "The same texts from one client, which sends several at once and then reads their answers.",
        across: Across::Depths,
        rate: false,
        published: &[],
        ..ALL_HITS
    },
    Table {
        id: "2",
        title: "More than 80 % hits, in transactions",
        about: "oltp_read_only: BEGIN, ten point selects, four ranges of a hundred rows, COMMIT. The cache has room for what is asked often.",
        mix: Mix::ReadOnly,
        transactions: true,
        published: &[("1", "+38 %"), ("8", "+56 %"), ("64", "+114 %"), ("256", "+127 %"), ("1024", "+122 %")],
        ..ALL_HITS
    },
    Table {
        id: "3a",
        title: "About 10 % hits, a cache far too small",
        about: "oltp_read_only in transactions; 2,000 rows of each table are asked for alike, and the cache has 1 MiB.",
        mix: Mix::ReadOnly,
        transactions: true,
        keys: FEW_KEYS,
        draw: UNIFORM,
        cache_bytes: TINY,
        warm: Warm::Asked,
        rate: true,
        published: &[("1", "+4 %"), ("8", "-1 %"), ("64", "+2 %"), ("256", "+2 %"), ("1024", "+2 %")],
        ..ALL_HITS
    },
    Table {
        id: "3b",
        title: "About 10 % hits, without transactions",
        about: "The same statements, each on its own.",
        mix: Mix::ReadOnly,
        keys: FEW_KEYS,
        draw: UNIFORM,
        cache_bytes: TINY,
        warm: Warm::Asked,
        rate: false,
        published: &[],
        ..ALL_HITS
    },
    Table { without_cache: true, ..UNCACHEABLE },
    Table {
        id: "3d",
        title: "Nothing cacheable at all, prepared",
        about: "The same, prepared once by each client and executed.",
        prepared: true,
        ..UNCACHEABLE
    },
    Table {
        id: "3e",
        title: "Nothing is asked twice",
        about: "Point selects that could be stored, no two of which are the same.",
        mix: Mix::Once,
        without_cache: true,
        ..UNCACHEABLE
    },
    Table {
        id: "4",
        title: "Reads and writes",
        about: "oltp_read_write: BEGIN, ten point selects, four ranges of a hundred rows, two updates, a delete and an insert, COMMIT.",
        mix: Mix::ReadWrite,
        transactions: true,
        warm: Warm::Asked,
        published: &[
            ("1", "-1.3 %"),
            ("8", "-0.8 %"),
            ("64", "-1.7 %"),
            ("256", "-1.0 %"),
            ("1024", "-1.3 %"),
        ],
        ..ALL_HITS
    },
    Table {
        id: "5",
        title: "The cache's size against hits and gain",
        about: "Point selects of 64 clients, with more rows; sizes as shares of what all results take in Freshet's memory. \
                *At best* is the share of hits of a cache that holds those results that are asked for most. *Curve said* is what \
                `freshet.curve` said of the size before, when the cache had 1/5.",
        keys: ROWS,
        warm: Warm::Asked,
        across: Across::Sizes,
        rate: false,
        published: &[
            ("1/40", "22 %, +1 %"),
            ("1/20", "45 %, +16 %"),
            ("1/10", "72 %, +43 %"),
            ("1/5", "82 %, +54 %"),
            ("2/5", "84 %, +57 %"),
            ("4/5", "87 %, +62 %"),
            ("8/5", "92 %, +72 %"),
        ],
        ..ALL_HITS
    },
    LEGACY,
    Table {
        id: "range",
        title: "ProxySQL's plot: select by range",
        about: "The statement of oltp_legacy in autocommit: `SELECT c FROM sbtest1 WHERE id BETWEEN … AND …`, a hundred rows.",
        mix: Mix::Ranges,
        ..LEGACY
    },
    Table {
        id: "connect",
        title: "Logins",
        about: "Clients that connect, ask one point select and leave, one after another: what is called a statement here is such a visit. \
                All answers are in memory, and the account has logged in once with TLS through each column before.",
        across: Across::Channels,
        by: By::Visitors,
        rate: false,
        published: &[],
        ..ALL_HITS
    },
    STOCK,
    Table {
        id: "s2",
        title: "Stock sysbench: oltp_read_only",
        by: By::Sysbench("oltp_read_only"),
        mix: Mix::ReadOnly,
        transactions: true,
        ..STOCK
    },
    Table {
        id: "s4",
        title: "Stock sysbench: oltp_read_write",
        by: By::Sysbench("oltp_read_write"),
        mix: Mix::ReadWrite,
        transactions: true,
        warm: Warm::Asked,
        ..STOCK
    },
];

impl Table {
    /// Returns the load of the table's clients.
    pub fn load(&self, clients: u32) -> Load {
        let name = if self.tables == 1 { format!("{TABLE}1") } else { TABLE.to_owned() };
        Load {
            table: name,
            tables: self.tables,
            mix: self.mix,
            prepared: self.prepared,
            transactions: self.transactions,
            clients,
            pipeline: 1,
            rate: None,
            keys: self.keys,
            draw: self.draw,
            writes: 0,
        }
    }

    /// Returns the numbers of clients: the usual ones, and those that the article has a gain for, unless others are wanted.
    pub fn clients(&self, options: &Options) -> Vec<u32> {
        let mut clients = options.clients();
        if options.clients.is_empty() && !options.quick {
            clients.extend(self.published.iter().filter_map(|(clients, _)| clients.parse::<u32>().ok()));
            clients.sort_unstable();
            clients.dedup();
        }
        clients
    }
}

/// Returns the wanted tables: all, or those whose number begins with one of the names in `only`. Tables of stock sysbench are returned
/// only if `sysbench` is set or if they are named.
///
/// # Errors
/// If no table has one of the names.
pub fn tables(only: &[String], sysbench: bool) -> Result<Vec<&'static Table>, Failure> {
    for name in only {
        if !ALL.iter().any(|table| table.is(name)) {
            let all: Vec<_> = ALL.iter().map(|table| table.id).collect();
            return Err(format!("there is no table {name}; there are {}", all.join(", ")).into());
        }
    }
    let is_wanted = |table: &&Table| match only {
        [] => sysbench || !matches!(table.by, By::Sysbench(_)),
        _ => only.iter().any(|name| table.is(name)),
    };
    Ok(ALL.iter().filter(is_wanted).collect())
}

impl Table {
    /// Whether the table has this number, or is a part of the table with this number.
    fn is(&self, name: &str) -> bool {
        self.id.eq_ignore_ascii_case(name)
            || self.id.strip_prefix(name).is_some_and(|part| name.len() == 1 && part.len() == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(only: &[&str], sysbench: bool) -> Vec<&'static str> {
        let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
        tables(&only, sysbench).unwrap().iter().map(|table| table.id).collect()
    }

    #[test]
    fn tables_are_chosen_by_number_and_part() {
        assert_eq!(named(&["3"], false), ["3a", "3b", "3c", "3d", "3e"]);
        assert_eq!(named(&["3c", "pk"], false), ["3c", "pk"]);
        assert_eq!(named(&["s"], false), ["s1", "s2", "s4"]);
        assert_eq!(named(&["connect"], false), ["connect"]);
        assert_eq!((named(&[], false).len(), named(&[], true).len()), (14, 17));
        assert!(tables(&["6".to_owned()], false).is_err());
    }

    fn clients(table: &str, said: &[&str]) -> Vec<u32> {
        #[derive(clap::Parser)]
        struct Wanted {
            #[command(flatten)]
            options: Options,
        }
        let said = ["test", "--column", "a:direct=a:1"].iter().chain(said);
        let wanted = <Wanted as clap::Parser>::parse_from(said);
        tables(&[table.to_owned()], false).unwrap()[0].clients(&wanted.options)
    }

    #[test]
    fn the_tables_of_the_article_have_its_numbers_of_clients() {
        for (table, said, expected) in [
            ("1a", vec![], vec![1, 8, 64, 256, 1024]),
            ("4", vec![], vec![1, 8, 64, 256, 1024]),
            ("1b", vec![], vec![1, 8, 64, 256]),
            ("1a", vec!["--quick"], vec![1, 64]),
            ("1a", vec!["--clients", "64,8"], vec![64, 8]),
        ] {
            assert_eq!(clients(table, &said), expected, "{table} {said:?}");
        }
    }
}
