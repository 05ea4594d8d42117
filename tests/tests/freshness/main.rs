//! What is read through Freshet is never older than what was written, whichever way the write went.

mod cases;
mod definitions;
mod directed;
mod doubts;
mod environments;
mod fenced;
mod hits;
mod isolation;
mod levels;
mod narrowed;
mod neighbours;
mod never;
mod rights;
mod rows;
mod sessions;
mod shadows;
mod shares;
mod steps;
mod stored_code;
mod storm;
mod told;
mod transactions;
mod unlogged;
mod unlogged_rights;
mod unlogged_through;
mod workload;
