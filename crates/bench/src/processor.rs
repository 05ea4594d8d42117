//! The processor time of processes and of the machine, and the memory of processes, as the system counts them.

use std::fs;

/// The unit of times in /proc: hundredths of a second, on every Linux.
const TICK_US: u64 = 10_000;
/// The place of utime behind the name in /proc/PID/stat. The next one is stime.
const UTIME_AT: usize = 11;
/// The places in /proc/stat of the idle time and of the time of waiting for a disk.
const IDLE_AT: [usize; 2] = [3, 4];
/// The places of the times of interrupts.
const INTERRUPTS_AT: [usize; 2] = [5, 6];
/// The number of times that count. The times of guests follow them, and are included in them.
const TIMES: usize = 8;

/// Processor time of some processes, in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Time {
    /// In the processes' own code.
    pub user: u64,
    /// In the system's code, on behalf of the processes.
    pub system: u64,
}

impl Time {
    /// Returns the time used up to now; 0 for processes that are gone.
    pub fn of(pids: &[u32]) -> Time {
        let times = pids.iter().filter_map(|&pid| Time::of_process(pid));
        times.fold(Time::default(), |sum, time| Time {
            user: sum.user + time.user,
            system: sum.system + time.system,
        })
    }

    /// Returns both together.
    pub fn all(self) -> u64 {
        self.user + self.system
    }

    /// Returns the time used since `before`.
    pub fn since(self, before: Time) -> Time {
        Time {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
        }
    }

    fn of_process(pid: u32) -> Option<Time> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in parentheses and may hold any character, so the last parenthesis is looked for.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(UTIME_AT);
        let mut next = || fields.next()?.parse::<u64>().ok().map(|ticks| ticks * TICK_US);
        Some(Time { user: next()?, system: next()? })
    }
}

/// Returns the resident memory of some processes, in bytes; 0 for processes that are gone.
pub fn resident_bytes(pids: &[u32]) -> u64 {
    let kib = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    pids.iter().filter_map(kib).sum::<u64>() * 1024
}

/// The time of all cores together, in microseconds: up to a moment, or between two.
#[derive(Debug, Clone, Copy, Default)]
pub struct Machine {
    /// The time in which the cores worked.
    pub busy: u64,
    /// The part of it for interrupts of devices and the network, which is counted for no process.
    pub interrupts: u64,
    /// The whole time.
    pub all: u64,
}

impl Machine {
    /// Returns the times used up to now.
    pub fn now() -> Machine {
        fs::read_to_string("/proc/stat").map(|stat| Machine::parse(&stat)).unwrap_or_default()
    }

    fn parse(stat: &str) -> Machine {
        let line = stat.lines().next().unwrap_or_default();
        let times = line.split_whitespace().skip(1).take(TIMES).map(|time| time.parse::<u64>().unwrap_or(0));
        let mut machine = Machine::default();
        for (at, time) in times.enumerate() {
            machine.all += time * TICK_US;
            machine.busy += if IDLE_AT.contains(&at) { 0 } else { time * TICK_US };
            machine.interrupts += if INTERRUPTS_AT.contains(&at) { time * TICK_US } else { 0 };
        }
        machine
    }

    /// Returns the times since `before`.
    pub fn since(self, before: Machine) -> Machine {
        Machine {
            busy: self.busy.saturating_sub(before.busy),
            interrupts: self.interrupts.saturating_sub(before.interrupts),
            all: self.all.saturating_sub(before.all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_idle_where_it_waits() {
        let machine = Machine::parse("cpu  1 2 3 40 5 6 7 8 100 100\ncpu0 1 2 3 40 5 6 7 8 100 100\n");
        assert_eq!((machine.busy, machine.interrupts, machine.all), (270_000, 130_000, 720_000));
    }

    #[test]
    fn this_process_has_memory_and_has_used_time() {
        assert!(resident_bytes(&[std::process::id()]) > 1 << 20);
        assert_eq!(resident_bytes(&[0]), 0);
    }
}
