//! Rounds of stock sysbench, which is a client of its own.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::counters::Counters;
use crate::round::{Memory, Outcome, Used};
use crate::target::{Account, Address, Failure, Target};

use super::plan::{DATABASE, KEYS, TABLES};
use super::sample::Sample;

/// Runs one round of a test against a target. The processor time of the clients is not known: they are another process.
pub async fn round(
    account: &Account,
    target: &Target,
    test: &str,
    clients: u32,
    length: Duration,
) -> Result<Sample, Failure> {
    let before = Counters::read(account, target).await?;
    let (used, started) = (Used::now(target), Instant::now());
    let said = run(account, target, test, clients, length)?;
    let (used, elapsed) = (Used::now(target).since(used), started.elapsed());
    let counters = Counters::read(account, target).await?.since(before);
    let said = Said::parse(&said).ok_or_else(|| format!("sysbench has said something else:\n{said}"))?;
    let mut outcome = Outcome { counters, elapsed, used, memory: Memory::now(target), ..Outcome::default() };
    outcome.tally.statements = said.statements;
    outcome.tally.reads = said.reads;
    let sample = Sample::new(&outcome);
    Ok(Sample {
        per_second: said.statements as f64 / said.seconds.max(f64::MIN_POSITIVE),
        p50_us: f64::NAN,
        p99_us: said.p99_ms * 1_000.0,
        p999_us: f64::NAN,
        write_p50_us: f64::NAN,
        write_p99_us: f64::NAN,
        client_us: f64::NAN,
        client_cores: f64::NAN,
        // The processor time of the clients would be counted here too.
        others: f64::NAN,
        ..sample
    })
}

fn run(
    account: &Account,
    target: &Target,
    test: &str,
    clients: u32,
    length: Duration,
) -> Result<String, Failure> {
    let address = match &target.address {
        Address::Tcp(address) => {
            let (host, port) = address.rsplit_once(':').ok_or("an address has no port")?;
            vec![format!("--mysql-host={host}"), format!("--mysql-port={port}")]
        }
        Address::Unix(path) => vec![format!("--mysql-socket={}", path.display())],
    };
    let out = Command::new("sysbench")
        .arg(test)
        .args(address)
        .args([format!("--mysql-user={}", account.user), format!("--mysql-password={}", account.password)])
        .args([
            format!("--mysql-db={DATABASE}"),
            format!("--tables={TABLES}"),
            format!("--table-size={KEYS}"),
        ])
        .args([format!("--threads={clients}"), format!("--time={}", length.as_secs().max(1))])
        .args(["--percentile=99", "--mysql-ignore-errors=1062,1213,1020,1205", "run"])
        .output()
        .map_err(|error| format!("sysbench cannot be run: {error}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    // The first error that sysbench prints names the cause.
    let cause = said.lines().find(|line| line.starts_with("FATAL")).unwrap_or(&said);
    Err(format!("sysbench has failed: {cause}").into())
}

/// The numbers that sysbench has printed.
#[derive(Debug, PartialEq)]
struct Said {
    statements: u64,
    reads: u64,
    seconds: f64,
    p99_ms: f64,
}

impl Said {
    fn parse(text: &str) -> Option<Said> {
        let after = |name: &str| {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(name))?;
            line.split_whitespace().next().map(|word| word.trim_end_matches('s'))
        };
        Some(Said {
            statements: after("queries:")?.parse().ok()?,
            reads: after("read:")?.parse().ok()?,
            seconds: after("total time:")?.parse().ok()?,
            p99_ms: after("99th percentile:")?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sysbench_says() {
        let text = "SQL statistics:\n    queries performed:\n        read:                            1400\n        \
                    write:                           400\n    transactions:                        100    (49.96 per sec.)\n    \
                    queries:                             2000   (999.2 per sec.)\n\nGeneral statistics:\n    \
                    total time:                          2.0016s\n\nLatency (ms):\n         99th percentile:  \
                    31.37\n";
        let said = Said { statements: 2000, reads: 1400, seconds: 2.0016, p99_ms: 31.37 };
        assert_eq!(Said::parse(text), Some(said));
        assert_eq!(Said::parse("FATAL: no"), None);
    }
}
