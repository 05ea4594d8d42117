//! The processor time of processes, as the system counts it.

use std::fs;

/// The system's unit in /proc: hundredths of a second, on every Linux there is.
const TICK_US: u64 = 10_000;
/// Where utime and stime stand behind the name in /proc/PID/stat.
const UTIME_AT: usize = 11;

/// User and system time of some processes, in microseconds; 0 for those that are gone.
pub fn used_us(pids: &[u32]) -> u64 {
    pids.iter().filter_map(|&pid| ticks(pid)).sum::<u64>() * TICK_US
}

fn ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything, so it is skipped from behind.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(UTIME_AT);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}
