use bytes::BytesMut;
use freshet_protocol::{ErrPacket, Greeting, StatusFlags, take_packet};
use tokio::net::UnixStream;
use tokio::task::LocalSet;

use super::queue::DEPTH_BYTES_MAX;
use super::statements::STATEMENTS_MAX;
use super::*;

const OK: [u8; 7] = [0, 0, 0, 2, 0, 0, 0];
const EOF: [u8; 5] = [0xfe, 0, 0, 2, 0];

/// The server's end.
struct Server {
    stream: UnixStream,
    heard: BytesMut,
}

impl Server {
    async fn hear(&mut self) -> Vec<u8> {
        loop {
            if let Some(packet) = take_packet(&mut self.heard, 1 << 20).unwrap() {
                return packet.payload.to_vec();
            }
            assert!(self.stream.read_buf(&mut self.heard).await.unwrap() > 0, "the lane hung up");
        }
    }

    async fn say(&mut self, payloads: &[&[u8]]) {
        let (mut frames, mut seq) = (BytesMut::new(), 1);
        payloads.iter().for_each(|payload| put_packet(&mut frames, &mut seq, payload));
        self.stream.write_all(&frames).await.unwrap();
    }
}

fn key(text: &Arc<[u8]>, kinds: u64) -> StatementKey {
    StatementKey { text: Arc::clone(text), kinds }
}

fn lane() -> (Rc<Lane>, Returning, Server) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let greeting = Greeting {
        server_version: b"8.0.99-imagined".to_vec(),
        connection_id: 7,
        scramble: [0; 20],
        capabilities: Capabilities::PROTOCOL_41,
        collation: 45,
        status: StatusFlags::AUTOCOMMIT,
        auth_plugin: String::new(),
    };
    let (lane, returning) = Lane::start(Connection::over(ours, greeting));
    (lane, returning, Server { stream: theirs, heard: BytesMut::new() })
}

fn ask(lane: &Lane, text: &str) -> oneshot::Receiver<LaneOutcome> {
    lane.carry(Command::Query, &[b"\x03", text.as_bytes()].concat()).unwrap()
}

async fn answered(asked: oneshot::Receiver<LaneOutcome>) -> Vec<u8> {
    asked.await.unwrap().unwrap().frames.to_vec()
}

/// A lane belongs to one thread.
async fn with_lane(test: impl AsyncFnOnce(Rc<Lane>, Returning, Server)) {
    let test = async {
        let (lane, returning, server) = lane();
        test(lane, returning, server).await;
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn answers_come_to_those_who_have_asked() {
    with_lane(async |lane, returning, mut server| {
        let (first, second, third) = (ask(&lane, "a"), ask(&lane, "b"), ask(&lane, "c"));
        for text in [b"\x03a", b"\x03b", b"\x03c"] {
            assert_eq!(server.hear().await, text, "nobody waits for an answer before");
        }
        let refusal = ErrPacket::new(1054, "42S22", "no").encode();
        server.say(&[&OK]).await;
        server.say(&[&[1], b"column", &EOF, b"\x011", b"\x012", &EOF]).await;
        server.say(&[&refusal]).await;
        assert_eq!(answered(first).await[4..], OK);
        let rows = answered(second).await;
        assert!(rows.starts_with(&[1, 0, 0, 1, 1]) && rows.ends_with(&EOF), "{rows:?}");
        assert_eq!(answered(third).await[4..], refusal[..]);
        assert_eq!((lane.depth(), returning.carried().commands()), (0, 3));
    })
    .await;
}

#[tokio::test]
async fn a_connection_comes_back_when_all_is_answered() {
    with_lane(async |lane, returning, mut server| {
        let asked = ask(&lane, "a");
        lane.close();
        assert!(lane.carry(Command::Query, b"\x03b").is_none());
        assert_eq!(server.hear().await, b"\x03a");
        server.say(&[&OK]).await;
        assert_eq!(returning.await.unwrap().thread_id(), 7);
        assert_eq!(answered(asked).await[4..], OK);
    })
    .await;
}

#[tokio::test]
async fn an_unused_connection_comes_back_by_itself() {
    with_lane(async |_lane, mut returning, _server| {
        assert!((&mut returning).await.is_some());
        assert!(!returning.has_diagnostics(), "nothing was asked on it");
    })
    .await;
}

#[tokio::test]
async fn who_waits_behind_a_slow_one_goes_elsewhere() {
    with_lane(async |lane, mut returning, mut server| {
        let (slow, behind) = (ask(&lane, "slow"), ask(&lane, "behind"));
        assert_eq!(behind.await.unwrap().unwrap_err(), NotCarried::Elsewhere);
        assert!(!lane.is_open());
        for _ in 0..2 {
            server.hear().await;
            server.say(&[&OK]).await;
        }
        assert!(slow.await.unwrap().unwrap().took >= SLOW);
        assert!((&mut returning).await.is_some(), "what nobody waits for is answered too");
        assert!(returning.has_diagnostics(), "nobody has heard whether it told of warnings");
    })
    .await;
}

#[tokio::test]
async fn a_slow_one_may_take_longer_if_very_many_wait_behind_it() {
    with_lane(async |lane, returning, _server| {
        let began = Instant::now();
        let (_slow, next) = (ask(&lane, "slow"), ask(&lane, "next"));
        let _others: Vec<_> = (0..128).map(|_| ask(&lane, "behind")).collect();
        assert_eq!(next.await.unwrap().unwrap_err(), NotCarried::Elsewhere);
        assert!(began.elapsed() >= 2 * SLOW, "{:?}", began.elapsed());
        drop(returning);
    })
    .await;
}

#[tokio::test]
async fn a_server_is_not_left_with_what_nobody_waits_for() {
    with_lane(async |lane, returning, mut server| {
        lane.belongs_to_nobody();
        let (slow, behind) = (ask(&lane, "slow"), ask(&lane, "behind"));
        assert_eq!(behind.await.unwrap().unwrap_err(), NotCarried::Elsewhere);
        server.hear().await;
        server.say(&[&OK]).await;
        assert!(slow.await.unwrap().is_ok());
        assert!(returning.await.is_none(), "the connection is closed before the next answer");
    })
    .await;
}

#[tokio::test]
async fn what_is_closed_behind_a_slow_one_is_not_forgotten() {
    with_lane(async |lane, mut returning, mut server| {
        let slow = ask(&lane, "slow");
        server.hear().await;
        let text = "x".repeat(16_000);
        // No more of them are sent than the server's buffers hold.
        let behind: Vec<_> = (0..4).map(|_| ask(&lane, &text)).collect();
        lane.statements.borrow_mut().closed.push(5);
        let prepared = lane.prepare(key(&Arc::from(&b"SELECT ?"[..]), 1), b"\x16SELECT ?").unwrap();
        for outcome in behind.into_iter().chain([prepared]) {
            // Who was not sent yet hears nothing, which means the same.
            let outcome = outcome.await.unwrap_or(Err(NotCarried::Elsewhere));
            assert_eq!(outcome.unwrap_err(), NotCarried::Elsewhere);
        }
        assert_eq!(returning.prepared(), [5]);
        server.say(&[&OK]).await;
        assert!(slow.await.unwrap().is_ok());
        drop(server);
        assert!((&mut returning).await.is_none());
    })
    .await;
}

#[tokio::test]
async fn a_large_answer_is_not_kept() {
    with_lane(async |lane, returning, mut server| {
        let (large, small) = (ask(&lane, "large"), ask(&lane, "small"));
        let row = vec![b'x'; 40_000];
        server.say(&[&[1], b"column", &EOF, &row, &row, &row, &row, &EOF]).await;
        server.say(&[&OK]).await;
        assert_eq!(large.await.unwrap().unwrap_err(), NotCarried::TooLarge);
        assert_eq!(answered(small).await[4..], OK);
        assert!(returning.has_diagnostics(), "it may have told of warnings");
    })
    .await;
}

#[tokio::test]
async fn what_is_under_way_when_a_connection_is_lost_goes_elsewhere() {
    with_lane(async |lane, returning, mut server| {
        let (first, second) = (ask(&lane, "a"), ask(&lane, "b"));
        server.hear().await;
        server.say(&[&OK]).await;
        drop(server);
        assert_eq!(answered(first).await[4..], OK);
        assert_eq!(second.await.unwrap().unwrap_err(), NotCarried::Elsewhere);
        assert!(returning.await.is_none() && lane.carry(Command::Query, b"\x03c").is_none());
    })
    .await;
}

#[tokio::test]
async fn no_more_is_sent_than_the_servers_buffers_hold() {
    with_lane(async |lane, _returning, mut server| {
        let text = "x".repeat(10_000);
        let asked: Vec<_> = (0..40).map(|_| ask(&lane, &text)).collect();
        tokio::task::yield_now().await;
        let most = DEPTH_BYTES_MAX + READ_BYTES;
        let mut all = vec![0; 40 * 10_010];
        let sent = tokio::time::timeout(Duration::from_millis(20), server.stream.read(&mut all)).await;
        assert!((1..most).contains(&sent.unwrap().unwrap()));
        drop(asked);
    })
    .await;
}

#[tokio::test]
async fn a_statement_is_prepared_once_for_all_who_execute_it_alike() {
    with_lane(async |lane, returning, mut server| {
        let text: Arc<[u8]> = Arc::from(&b"SELECT ?"[..]);
        assert_eq!(lane.statement(&text, 1), StatementState::Unknown);
        let asked = lane.prepare(key(&text, 1), b"\x16SELECT ?").unwrap();
        assert_eq!(lane.statement(&text, 1), StatementState::Asked);
        assert_eq!(server.hear().await, b"\x16SELECT ?");
        // Number 9, one column, one parameter, no warning.
        server.say(&[&[0, 9, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], b"parameter", &EOF, b"column", &EOF]).await;
        asked.await.unwrap().unwrap();
        assert_eq!(
            (lane.statement(&text, 1), lane.statement(&text, 2)),
            (StatementState::At(9), StatementState::Unknown)
        );
        let refused = lane.prepare(key(&text, 2), b"\x16SELECT ?").unwrap();
        server.hear().await;
        server.say(&[&ErrPacket::new(1461, "42000", "no").encode()]).await;
        refused.await.unwrap().unwrap();
        assert_eq!(lane.statement(&text, 2), StatementState::Refused);
        tokio::time::sleep(Duration::from_millis(1100)).await;
        assert_eq!(lane.statement(&text, 2), StatementState::Unknown, "the server is asked again");
        let carried = CarriedSoFar { preparations: 2, ..CarriedSoFar::default() };
        assert_eq!((returning.prepared(), returning.carried()), (vec![9], carried));
        assert!(returning.has_diagnostics());
    })
    .await;
}

#[tokio::test]
async fn a_statement_that_nobody_waits_for_any_more_is_known_all_the_same() {
    with_lane(async |lane, returning, mut server| {
        drop(lane.prepare(key(&Arc::from(&b"a"[..]), 0), b"\x16a").unwrap());
        server.hear().await;
        server.say(&[&[0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]).await;
        while lane.statement(b"a", 0) == StatementState::Asked {
            tokio::task::yield_now().await;
        }
        assert_eq!(returning.prepared(), [4]);
    })
    .await;
}

#[tokio::test]
async fn what_was_not_used_for_long_makes_room() {
    with_lane(async |lane, returning, mut server| {
        for number in 0..=STATEMENTS_MAX {
            let text: Arc<[u8]> = Arc::from(number.to_string().as_bytes());
            let asked = lane.prepare(key(&text, 0), &[&[0x16], &*text].concat()).unwrap();
            let heard = server.hear().await;
            if number == STATEMENTS_MAX {
                assert_eq!(heard, [0x19, 2, 0, 0, 0], "the first was used meanwhile");
                server.hear().await;
            }
            let id = u32::try_from(number + 1).unwrap().to_le_bytes();
            server.say(&[&[&[0], &id[..], &[0; 7]].concat()]).await;
            asked.await.unwrap().unwrap();
            assert_eq!(lane.statement(b"0", 0), StatementState::At(1));
        }
        assert_eq!(lane.statement(b"1", 0), StatementState::Unknown);
        assert_eq!(returning.prepared().len(), STATEMENTS_MAX);
    })
    .await;
}
