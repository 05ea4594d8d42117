//! What is read through Freshet is never older than what was written, whichever way the write went.

mod cases;
mod directed;
mod environments;
mod never;
mod rights;
mod stored_code;
mod storm;
mod transactions;
mod workload;
