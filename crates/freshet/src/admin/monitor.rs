//! Notes that are taken by themselves: the server's answers, and the counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use freshet_admin::{Admin, PROBES, Probe, Probed};
use freshet_upstream::control::connect;
use freshet_upstream::{Connection, Error, UpstreamConfig};
use tokio::time::timeout;

/// The time between two looks whether a note is due.
const LOOKED_EVERY: Duration = Duration::from_millis(250);
/// How long the server may take to answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(1);

/// Asks the server and notes the counts, forever. `ping_us` is set to the duration of the last ping.
pub async fn watch(admin: Arc<Mutex<Admin>>, config: Arc<UpstreamConfig>, ping_us: Arc<AtomicU64>) {
    let mut connection = None;
    let mut asked = [None::<Instant>; PROBES.len()];
    let mut looks = tokio::time::interval(LOOKED_EVERY);
    loop {
        looks.tick().await;
        for (probe, asked) in PROBES.into_iter().zip(&mut asked) {
            let interval = Duration::from_millis(locked(&admin).number(probe.interval()));
            if interval.is_zero() || asked.is_some_and(|asked| asked.elapsed() < interval) {
                continue;
            }
            *asked = Some(Instant::now());
            let probed = ask(probe, &mut connection, &config).await;
            if let (Probe::Ping, Ok((took_us, _))) = (probe, &probed.answer) {
                ping_us.store(*took_us, Ordering::Relaxed);
            }
            locked(&admin).probed(&probed);
        }
        locked(&admin).keep(since_1970().as_secs().try_into().unwrap_or(i64::MAX));
    }
}

fn locked(admin: &Mutex<Admin>) -> MutexGuard<'_, Admin> {
    admin.lock().unwrap_or_else(PoisonError::into_inner)
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Asks a question, over the connection that is kept for it unless the question is about connecting. A lost connection is made anew.
async fn ask(probe: Probe, connection: &mut Option<Connection>, config: &UpstreamConfig) -> Probed {
    let begun_us = i64::try_from(since_1970().as_micros()).unwrap_or(i64::MAX);
    let answer = match answer(probe, connection, config).await {
        Ok(answer) => Ok(answer),
        Err(error) => {
            *connection = None;
            Err(error.to_string())
        }
    };
    Probed { probe, begun_us, answer }
}

async fn answer(
    probe: Probe,
    connection: &mut Option<Connection>,
    config: &UpstreamConfig,
) -> Result<(u64, Option<bool>), Error> {
    let begun = Instant::now();
    let took_us = |begun: Instant| u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    if probe == Probe::Connect {
        let new = connect(config).await?;
        let took_us = took_us(begun);
        // The old connection has served its time: a server that was restarted behind a balancer is reached anew.
        if let Some(old) = connection.replace(new) {
            old.quit().await;
        }
        return Ok((took_us, None));
    }
    if connection.is_none() {
        *connection = Some(connect(config).await?);
    }
    let Some(connection) = connection else { return Err(Error::Closed) };
    let begun = Instant::now();
    let late = |_| Error::TimedOut { doing: "an answer to the monitor", limit: ANSWER_TIME_MAX };
    if probe == Probe::Ping {
        timeout(ANSWER_TIME_MAX, connection.ping()).await.map_err(late)??;
        return Ok((took_us(begun), None));
    }
    let rows =
        timeout(ANSWER_TIME_MAX, connection.query("SELECT @@global.read_only")).await.map_err(late)??;
    let is_read_only = rows.text(0, 0).map(|text| !matches!(text, "0" | "OFF"));
    Ok((took_us(begun), is_read_only))
}
