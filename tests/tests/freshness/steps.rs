//! What a client does that is more than saying statements: it prepares one and runs it later, changes its schema by a
//! command of its own, becomes another user.

use freshet_tests::cached::{Answer, answer};
use mysql::prelude::Queryable;
use mysql::{ChangeUserOpts, Conn, Error, Statement};

/// One thing that a client does.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// COM_QUERY.
    Say(&'a str),
    /// COM_STMT_PREPARE and COM_STMT_EXECUTE at once.
    Execute(&'a str),
    /// COM_STMT_PREPARE, for a later [`Step::Run`].
    Prepare(&'a str),
    /// COM_STMT_EXECUTE of what was prepared last.
    Run,
    /// COM_INIT_DB.
    InitDb(&'a str),
    /// COM_CHANGE_USER, to the same user with another schema.
    ChangeUser(&'a str),
    /// COM_RESET_CONNECTION.
    Reset,
    /// COM_PING.
    Ping,
}

pub use Step::{ChangeUser, Execute, InitDb, Ping, Prepare, Reset, Run, Say};

/// Does all of it; what is answered is told as rows or codes, so that two ways to a server can be compared.
pub fn walk(conn: &mut Conn, steps: &[Step<'_>]) -> Vec<Answer> {
    let mut prepared = None;
    steps.iter().map(|step| take(conn, step, &mut prepared)).collect()
}

fn take(conn: &mut Conn, step: &Step<'_>, prepared: &mut Option<Statement>) -> Answer {
    let done = match *step {
        Say(text) => return answer(conn, text),
        Execute(text) => conn.prep(text).and_then(|statement| conn.exec_drop(statement, ())),
        Prepare(text) => conn.prep(text).map(|statement| *prepared = Some(statement)),
        Run => conn.exec_drop(prepared.as_ref().expect("something was prepared"), ()),
        InitDb(schema) => conn.select_db(schema),
        ChangeUser(schema) => conn.change_user(ChangeUserOpts::DEFAULT.with_db_name(Some(schema.to_owned()))),
        Reset => conn.reset(),
        Ping => conn.ping(),
    };
    match done {
        Ok(()) => Ok(Vec::new()),
        Err(Error::MySqlError(error)) => Err(error.code),
        Err(other) => panic!("{step:?}: {other}"),
    }
}
