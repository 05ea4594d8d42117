//! `freshet check`: what the server lacks, and the remedies.

use std::fmt::Write;

use freshet_follow::check::{Finding, Readiness, examine};
use freshet_upstream::{Error, control};

use crate::config::Config;
use crate::exit::{Exit, Report};

/// Examines the server.
pub fn run(config: &Config) -> Report {
    match look(config) {
        Ok(findings) => Report::new(table(&findings), exit(&findings)),
        Err(error) => {
            let address = &config.upstream.address;
            Report::new(format!("The server on {address} could not be examined: {error}\n"), Exit::Failed)
        }
    }
}

fn look(config: &Config) -> Result<Vec<Finding>, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connection = control::connect(&config.upstream).await?;
        let findings = examine(&mut connection, config.upstream.semisync).await;
        connection.quit().await;
        findings
    })
}

fn exit(findings: &[Finding]) -> Exit {
    match findings.iter().map(|finding| finding.state).max() {
        Some(Readiness::Missing) => Exit::Missing,
        _ => Exit::Done,
    }
}

/// Returns one line for each finding, a second one if there is a remedy, and a last line with the conclusion.
fn table(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.subject.len()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<8}  {:<width$}  {}", word(finding.state), finding.subject, finding.found);
        if let Some(remedy) = &finding.remedy {
            let _ = writeln!(text, "{:8}  {:width$}  -> {remedy}", "", "");
        }
    }
    let _ = writeln!(text, "\n{}", verdict(findings.iter().map(|finding| finding.state).max()));
    text
}

fn word(state: Readiness) -> &'static str {
    match state {
        Readiness::Fine => "ok",
        Readiness::Degraded => "degraded",
        Readiness::Missing => "MISSING",
    }
}

fn verdict(worst: Option<Readiness>) -> &'static str {
    match worst {
        None | Some(Readiness::Fine) => "Everything that Freshet needs is there.",
        Some(Readiness::Degraded) => "Freshet works, with the losses told above.",
        Some(Readiness::Missing) => {
            "Until what is missing is mended, Freshet forwards everything and caches nothing."
        }
    }
}

#[cfg(test)]
mod tests;
