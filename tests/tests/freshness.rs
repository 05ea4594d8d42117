//! What is read through Freshet is never older than what was written, whichever way the write went.

// Each way to change data or its definition, case by case.
mod cases;
mod directed;
mod steps;
mod several;

// What must not be stored, or not under the same key.
mod never;
mod dated;
mod charsets;
mod environments;
mod shadows;

// Writes and definitions that are under way.
mod fenced;
mod narrowed;
mod beside;
mod under_way;
mod definitions;
mod doubts;
mod stored_code;

// Changes that are in no binlog.
mod unlogged;
mod unlogged_rights;
mod unlogged_through;

// Sessions: what they are told, their rights, their transactions, and the levels of freshness.
mod sessions;
mod told;
mod rights;
mod transactions;
mod isolation;
mod levels;

// Hits that have to stay.
mod hits;
mod rows;
mod neighbours;
mod shares;

// Many clients at once, and a judge.
mod workload;
mod storm;
