//! What a server's tables, views and routines are, and how their rows are told apart: definitions, foreign keys, keys and
//! watches.
//!
//! This crate reads definitions on a connection that it is handed, and is told by others that one has changed. It refuses to
//! know where that news comes from: no binlog stream and no thread is in here. It refuses as well to know who asks, and what
//! is done with the answer.
//!
//! It has this shape because sessions and the follower must agree on what a table and a key are, and never meet. Both
//! halves of that agreement are in one room: [`Catalog`] says which definition counts, [`rows`] says which rows a reader
//! could have seen and which ones a change concerns.

mod catalog;
pub mod rows;

pub use catalog::{
    Acts, Basis, Beside, Catalog, CatalogError, Changed, Code, ColumnInfo, Defined, Definition, Descendants,
    ForeignKey, ForeignKeys, Locate, Name, OnDelete, OnUpdate, ReadKeys, Routine, TableInfo, TableKind, Told,
    WantedKeys, Writing, is_same_name, of_merged_tables, routine_name, table_refusal,
};
