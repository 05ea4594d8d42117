//! The program under test, as a process.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Server, Target};

/// How long the program may take to say that it is ready.
const READY_SECONDS_MAX: u64 = 30;
/// How long the program may take to end.
const END_SECONDS_MAX: u64 = 30;

/// A running Freshet; it is killed when dropped.
#[derive(Debug)]
pub struct Freshet {
    child: Option<Child>,
    target: Target,
    log: Arc<Mutex<String>>,
}

/// The path of the program.
pub fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("FRESHET_BIN") {
        return path.into();
    }
    let target = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target"));
    let built = ["tested", "quick", "release", "debug"].map(|profile| target.join(profile).join("freshet"));
    let newest = built
        .into_iter()
        .filter(|path| path.exists())
        .max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok());
    newest.expect("freshet is built: cargo build --profile tested -p freshet")
}

/// A command for the program that takes nothing from the environment but what it is given.
pub fn command() -> Command {
    let mut command = Command::new(program());
    command.env_clear().stdin(Stdio::null());
    // Few tests have many clients: with `always`, those of one or two see shared connections, too.
    if let Some(when) = std::env::var_os("FRESHET_TEST_MULTIPLEXING") {
        command.env("FRESHET_MULTIPLEXING", when);
    }
    // Of a program that can be broken on purpose: a test of the remedy fails without it.
    if let Some(how) = std::env::var_os("FRESHET_TEST_SABOTAGE") {
        command.env("FRESHET_SABOTAGE", how);
    }
    command
}

impl Freshet {
    /// Starts one before a server.
    pub fn before(server: &Server) -> Freshet {
        Freshet::with(server, &[])
    }

    /// Starts one with further flags.
    pub fn with(server: &Server, flags: &[&str]) -> Freshet {
        if std::env::var_os("FRESHET_TEST_DIRECT").is_some() {
            return Freshet { child: None, target: server.target.clone(), log: Arc::default() };
        }
        let mut command = command();
        command.env("UPSTREAM_DB_URL", &server.url).env("LISTEN_ADDRESS", "127.0.0.1:0").args(flags);
        let mut freshet = Freshet::start(command);
        freshet.target =
            Target { port: freshet.target.port, host: freshet.target.host.clone(), ..server.target.clone() };
        freshet
    }

    /// Starts a command made by [`command`], which must listen on one TCP port.
    pub fn start(command: Command) -> Freshet {
        let (child, log, port) = start(command);
        let target = Target { host: "127.0.0.1".into(), port, user: String::new(), password: String::new() };
        Freshet { child: Some(child), target, log }
    }

    /// How to reach the server through it.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Its process.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Whether there is a program to be tested, and not the server itself.
    pub fn is_there(&self) -> bool {
        self.child.is_some()
    }

    /// All that it has logged.
    pub fn log(&self) -> String {
        self.log.lock().map(|log| log.clone()).unwrap_or_default()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        if let Some(child) = &self.child {
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process has an id");
            kill_process(pid, signal).expect("the process can be sent signals");
        }
    }

    /// Waits for its end.
    pub fn wait(mut self) -> ExitStatus {
        let child = self.child.as_mut().expect("there is a process");
        let until = Instant::now() + Duration::from_secs(END_SECONDS_MAX);
        loop {
            if let Some(status) = child.try_wait().expect("a child can be waited for") {
                return status;
            }
            assert!(Instant::now() < until, "freshet does not end; it logged:\n{}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it as an administrator would, and fails if it did not end well.
    pub fn stop(self) {
        if self.is_there() {
            self.signal(Signal::TERM);
            let log = Arc::clone(&self.log);
            let status = self.wait();
            assert!(status.success(), "freshet ended with {status}:\n{}", log.lock().unwrap());
        }
    }
}

impl Drop for Freshet {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
            if thread::panicking() {
                println!("freshet logged:\n{}", self.log());
            }
        }
    }
}

/// Starts the program and waits for its ready line, whose address holds the port.
fn start(mut command: Command) -> (Child, Arc<Mutex<String>>, u16) {
    // In a group of its own, so that a Ctrl-C ends the test, and the test ends it.
    let mut child = command.stderr(Stdio::piped()).process_group(0).spawn().expect("freshet can be started");
    let log = Arc::new(Mutex::new(String::new()));
    let stderr = child.stderr.take().expect("its standard error is a pipe");
    collect(stderr, Arc::clone(&log));
    let until = Instant::now() + Duration::from_secs(READY_SECONDS_MAX);
    loop {
        let so_far = log.lock().unwrap().clone();
        if let Some(port) =
            so_far.lines().filter(|line| line.contains("ready for connections")).find_map(port_in)
        {
            return (child, log, port);
        }
        let ended = child.try_wait().expect("a child can be waited for");
        assert!(ended.is_none() && Instant::now() < until, "freshet is not ready ({ended:?}):\n{so_far}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn collect(stderr: impl Read + Send + 'static, log: Arc<Mutex<String>>) {
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let mut log = log.lock().unwrap();
            log.push_str(&line);
            log.push('\n');
        }
    });
}

fn port_in(line: &str) -> Option<u16> {
    let address = line.split("address=").nth(1)?.split_whitespace().next()?;
    address.rsplit(':').next()?.parse().ok()
}

/// Returns what a process holds in memory, in bytes.
///
/// # Panics
/// If the process is gone.
#[must_use]
pub fn resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    let kib: u64 = line.split_whitespace().next().and_then(|kib| kib.parse().ok()).expect("a number");
    kib << 10
}
