use super::*;
use crate::load::tests::load;

const NONE: Value = Value::None;

fn statement(form: Form, table: u32, values: [Value; VALUES_MAX]) -> Statement {
    Statement::Of { form, table, values }
}

#[test]
fn statements_as_texts() {
    let texts = Texts::new(&Load { table: "t".to_owned(), tables: 2, ..load() });
    let point = statement(Form::Point, 1, [Value::Int(7), NONE, NONE, NONE]);
    let insert = statement(
        Form::Insert,
        2,
        [
            Value::Int(1),
            Value::Int(2),
            Value::Digits { number: 3, width: 4 },
            Value::Digits { number: 5, width: 6 },
        ],
    );
    for (statement, expected) in [
        (point, "SELECT c FROM t1 WHERE id=7"),
        (insert, "INSERT INTO t2 (id, k, c, pad) VALUES (1, 2, '0003', '000005')"),
        (Statement::Begin, "BEGIN"),
        (Statement::Commit, "COMMIT"),
    ] {
        let mut packet = b"before".to_vec();
        texts.put(&mut packet, &statement);
        let [a, b, c, d] = ((expected.len() + 1) as u32).to_le_bytes();
        let expected = [b"before".as_slice(), &[a, b, c, d, 3], expected.as_bytes()].concat();
        assert_eq!(packet, expected);
    }
}

#[test]
fn executions_send_types_once() {
    let mut prepared = Prepared { id: 9, bound: false };
    let values = [Value::Int(258), Value::Digits { number: 3, width: 4 }, NONE, NONE];
    let mut packet = Vec::new();
    put_execution(&mut packet, &mut prepared, &values);
    let head = [0x17, 9, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    let binary = [2, 1, 0, 0, 4, b'0', b'0', b'0', b'3'];
    let first = [&[25, 0, 0, 0], head.as_slice(), &[1, 3, 0, 253, 0], &binary].concat();
    assert_eq!(packet, first);
    packet.clear();
    put_execution(&mut packet, &mut prepared, &values);
    assert_eq!(packet, [&[21, 0, 0, 0], head.as_slice(), &[0], &binary].concat());
}

#[test]
fn what_is_prepared_has_a_mark_for_each_value() {
    let texts = Texts::new(&load());
    assert_eq!(texts.len(), Form::ALL.len());
    assert_eq!(texts.question(Texts::at(Form::Range, 1)), "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?");
}
