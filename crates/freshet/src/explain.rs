//! `freshet explain-plan`: the findings about one statement.

use freshet_session::explain::explain;

use crate::config::Config;
use crate::exit::{Exit, Report};

/// Explains `statement`.
pub fn run(config: &Config, statement: &str) -> Report {
    let explained = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(explain(&config.upstream, statement.as_bytes())));
    match explained {
        Ok(explained) if explained.is_planned() => Report::new(explained.to_string(), Exit::Done),
        Ok(explained) => Report::new(explained.to_string(), Exit::Missing),
        Err(error) => {
            let address = &config.upstream.address;
            Report::new(format!("The server on {address} could not be asked: {error}\n"), Exit::Failed)
        }
    }
}
