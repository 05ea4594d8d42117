//! The server's tables, views and routines, and how their rows are told apart: definitions, foreign keys, keys and watches.
//!
//! This crate reads definitions on a connection that the caller hands in, and is told by others that a definition has changed. It refuses
//! to know where that news comes from: no binlog stream and no thread is in here. It also refuses to know who asks and what the answer is
//! used for.
//!
//! It has this shape because sessions and the follower must agree on what a table and a key are, and never meet. Both halves of that
//! agreement are in one room: [`Catalog`] says which definition counts, [`rows`] says which rows a reader could have seen and which rows
//! a change concerns.

// One object and its facts.
mod name;
mod changed;
mod error;
mod versions;
mod code;
mod table_info;
mod rules;
mod generated;

// Relations between objects: foreign keys, and definitions that are under way.
mod foreign_keys;
mod closure;
mod under_way;

// Which definition counts, and how it is read.
mod catalog;

// The rows that a reader could have seen, and the rows that a change concerns.
pub mod rows;

pub use catalog::{Beside, Catalog, Locate};
pub use changed::Changed;
pub use closure::Descendants;
pub use code::{Code, Routine, routine_name};
pub use error::CatalogError;
pub use foreign_keys::{Acts, ForeignKey, ForeignKeys, OnDelete, OnUpdate, ReadKeys, WantedKeys};
pub use name::{Name, is_same_name};
pub use rules::{is_system_schema, of_merged_tables, table_refusal};
pub use table_info::{ColumnInfo, TableInfo, TableKind};
pub use under_way::{Defined, Definition, Writing};
pub use versions::{Basis, ChangedSince, Told};
