//! Real clients through Freshet on real servers. One program, so that two tests run at any time until the last.

// Clients and applications see the server.
mod clients;
mod applications;
mod protocol;
mod diagnostics;
mod last_statement;
mod lockstep;

// Answers are never stale.
mod freshness;
mod moments;
mod by_names;
mod collations;
mod functions;
mod routines;

// Transactions.
mod transactions;
mod broken_off;

// Prepared statements.
mod prepared;
mod text_prepared;

// Logins, and rights.
mod logins;
mod remembered;
mod others_rights;

// Connections.
mod lanes;
mod kill;
mod coalescing;

// The native query cache: its variables, statements and tables.
mod native;
mod native_surface;
mod switches;
mod variables;

// Which results are stored, and why others are not.
mod admission;
mod curve;
mod registry;

// Caches for single queries.
mod created;
mod maintained;

// Query rules, and ProxySQL's admin port.
mod rules;
mod rules_deeds;
mod bargain;
mod proxysql;
mod admin_clients;
mod admin_survival;

// The program: its start and its end, and what it bears.
mod program;
mod robustness;
mod costs;
