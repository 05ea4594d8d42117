//! `freshet explain-plan`: what is made of one statement.

use freshet_session::explain::explain;

use crate::config::Config;
use crate::exit::Exit;

/// Explains `statement`; gives what is to be printed, and how the program ends.
pub fn run(config: &Config, statement: &str) -> (String, Exit) {
    let explained = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(explain(&config.upstream, statement.as_bytes())));
    match explained {
        Ok(explained) if explained.is_planned() => (explained.to_string(), Exit::Done),
        Ok(explained) => (explained.to_string(), Exit::Missing),
        Err(error) => {
            let address = &config.upstream.address;
            (format!("The server on {address} could not be asked: {error}\n"), Exit::Failed)
        }
    }
}
