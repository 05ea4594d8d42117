//! One run: inputs until the time is up.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::corpus::Corpus;
use crate::minimise::minimise;
use crate::mutate::mutate;
use crate::random::Random;
use crate::target::{Finding, Outcome, Target};
use crate::watch::Watch;

/// The stack that a reader has in the product, bytes: that of a thread.
const STACK_BYTES: usize = 2 << 20;
/// After so many different findings a run ends early.
const FINDINGS_MAX: usize = 20;

thread_local! {
    /// Where the last panic was, and what it said.
    static PANICKED: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
}

/// Keeps panics from standard error; they are told as findings.
pub fn hush_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        PANICKED.set(Some((place, info.to_string())));
    }));
}

/// Reads one input, a panic being a finding.
fn execute(target: &Target, input: &[u8]) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| (target.check)(input))).unwrap_or_else(|_| {
        let (place, said) = PANICKED.take().unwrap_or_default();
        Err(Finding { rule: format!("panic at {place}"), detail: said })
    })
}

/// Runs the input of a file.
pub fn once(target: &'static Target, path: &Path) -> ExitCode {
    let Ok(input) = std::fs::read(path) else {
        eprintln!("freshet-fuzz: {} cannot be read", path.display());
        return ExitCode::from(2);
    };
    match on_a_stack(move || execute(target, &input)) {
        Ok(_) => ExitCode::SUCCESS,
        Err(finding) => {
            println!("FINDING {}\n{}", finding.rule, finding.detail);
            ExitCode::FAILURE
        }
    }
}

fn on_a_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).expect("a thread starts");
    thread.join().expect("the runner itself does not panic")
}

/// Feeds a target until the time is up; fails if anything was found.
pub fn run(target: &'static Target, time: Duration, seed: u64, folder: &Path) -> ExitCode {
    std::fs::create_dir_all(folder).expect("the folder for findings can be made");
    let folder = folder.to_owned();
    let found = on_a_stack(move || feed(target, time, seed, &folder));
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Feeds it, says what came of it, and gives the number of findings.
fn feed(target: &Target, time: Duration, seed: u64, folder: &Path) -> usize {
    let watch = Watch::begin(folder, target.name).expect("the present input can be kept");
    let mut random = Random::new(seed);
    let mut corpus = Corpus::default();
    let mut findings: BTreeMap<String, u64> = BTreeMap::new();
    let (mut executions, mut seeds) = (0u64, (target.seeds)().into_iter());
    let begun = Instant::now();
    while begun.elapsed() < time && findings.len() < FINDINGS_MAX {
        let input = seeds.next().unwrap_or_else(|| {
            let other = corpus.any(&mut random).to_vec();
            let base = corpus.any(&mut random).to_vec();
            mutate(&mut random, &base, &other, target.is_text)
        });
        watch.note(&input);
        executions += 1;
        match execute(target, &input) {
            Ok(behaviour) => corpus.take(&mut random, &input, behaviour),
            Err(finding) => {
                let times = findings.entry(finding.rule.clone()).or_default();
                *times += 1;
                if *times == 1 {
                    tell(target, &finding.rule, &input, folder);
                }
            }
        }
    }
    watch.end();
    println!(
        "{}: {executions} executions in {} s, {} behaviours, {} findings, seed {seed}",
        target.name,
        begun.elapsed().as_secs(),
        corpus.behaviours(),
        findings.len()
    );
    findings.iter().for_each(|(rule, times)| println!("  {times} times: {rule}"));
    findings.len()
}

/// Makes a finding small, says it and keeps it.
fn tell(target: &Target, rule: &str, input: &[u8], folder: &Path) {
    let fails_so = |input: &[u8]| execute(target, input).is_err_and(|finding| finding.rule == rule);
    let small = minimise(input, fails_so);
    let detail = execute(target, &small).err().map(|finding| finding.detail).unwrap_or_default();
    let path = folder.join(format!("{}-{:016x}.bin", target.name, crate::target::behaviour(rule)));
    let _ = std::fs::write(&path, &small);
    println!(
        "FINDING {}: {rule}\n  {detail}\n  input \"{}\"\n  kept in {}",
        target.name,
        small.escape_ascii(),
        path.display()
    );
}
