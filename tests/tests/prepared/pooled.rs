//! What a session has had prepared means nothing on a connection that another session has given up.

use super::*;

const READ: &str = "SELECT v FROM t WHERE id = 1";

/// A session gives its connection up where what it was answered last was carried, and had been asked before.
fn rests(client: &mut Client) {
    (0..3).for_each(|_| assert!(client.one(READ).ends_with("10")));
}

/// A statement that its client has closed is known as long as its last answer may be asked about. On another connection its number is another
/// statement's.
#[test]
fn a_closed_statement_is_not_taken_for_one_that_another_session_has_left() {
    let schema = "prep_pooled";
    with_each(|server, shared| {
        if !shared.is_there() {
            return;
        }
        let mut direct = stage((server, shared), schema);
        let freshet = Freshet::with(server, &["--multiplexing", "always"]);
        caught_up(&freshet);
        let [mut lender, mut leaves, mut holds, mut asks] =
            [(); 4].map(|()| Client::of(freshet.target(), schema, 0));
        run_texts(&mut lender, &["SET @own = 1", READ, READ, READ]);
        // Whatever number the other one closes, it is that of such a statement here.
        for number in 1..=8 {
            let delete = leaves.prepare("DELETE FROM o WHERE id = ?");
            leaves.execute(delete, &[int(900 + number)]);
        }
        rests(&mut holds);
        rests(&mut leaves);
        let found = asks.prepare("SELECT v FROM t WHERE v > ? LIMIT 5");
        (0..3).for_each(|_| drop(asks.execute(found, &[int(1)])));
        run_texts(&mut asks, &["BEGIN", "UPDATE o SET x = x + 0 WHERE id = 1"]);
        asks.execute(found, &[int(1)]);
        run_texts(&mut asks, &["COMMIT"]);
        // On its own connection, from memory, and closed, without a pause in which anything could be given up.
        let update = [&[command::QUERY], b"UPDATE o SET x = x + 0 WHERE id = 1".as_slice()].concat();
        let execute = [&[command::STMT_EXECUTE], &*execution(found, &[int(1)], Types::Brought, 0)].concat();
        let close = [&[command::STMT_CLOSE], found.to_le_bytes().as_slice()].concat();
        let frames = [update, execute, close].map(|packet| {
            let length = u32::try_from(packet.len()).expect("it is short").to_le_bytes();
            [&length[..3], &[0], &packet].concat()
        });
        std::io::Write::write_all(&mut asks.0.stream(), &frames.concat()).expect("they are sent");
        for _ in 0..2 {
            asks.0.begin_answer();
            asks.0.answer().expect("an answer");
        }
        std::thread::sleep(Duration::from_millis(50));
        // It has the connection that was given up last, and keeps it.
        run_texts(&mut holds, &["SET @own = 1"]);
        asks.one("SELECT ROW_COUNT()");
        let left: Vec<u32> =
            mysql::prelude::Queryable::query(&mut direct, "SELECT id FROM o ORDER BY id").expect("rows");
        assert_eq!(left, [1, 2, 3], "{:?}", server.flavor);
    });
}

fn run_texts(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        let answer = client.0.query(statement).expect("an answer");
        assert_eq!(error_code(&answer[0]), None, "{statement}");
    }
}

/// COM_SET_OPTION is left by a reset: who has the connection next did not ask for it.
#[test]
fn several_statements_in_one_text_are_for_who_has_asked_for_them() {
    let schema = "prep_pooled_several";
    with_each(|server, shared| {
        if !shared.is_there() {
            return;
        }
        drop(stage((server, shared), schema));
        let freshet = Freshet::with(server, &["--multiplexing", "always"]);
        caught_up(&freshet);
        let [mut lender, mut asks, mut other] = [(); 3].map(|()| Client::of(freshet.target(), schema, 0));
        run_texts(&mut lender, &["SET @own = 1", READ, READ, READ]);
        rests(&mut other);
        asks.0.ask(command::SET_OPTION, &[0, 0]).expect("it is set");
        asks.0.ask(command::RESET_CONNECTION, &[]).expect("it is reset");
        run_texts(&mut asks, &[&format!("USE {schema}")]);
        rests(&mut asks);
        let answer = other.0.query("UPDATE o SET x = x + 0 WHERE id = 1; SELECT 1").expect("an answer");
        assert_eq!(error_code(&answer[0]), Some(1064), "{:?}", server.flavor);
    });
}
