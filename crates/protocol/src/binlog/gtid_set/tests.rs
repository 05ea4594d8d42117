use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const A: &str = "628b60ba-e541-11f1-9ee9-02fc00000001";
const B: &str = "728b60ba-e541-11f1-9ee9-02fc00000001";

fn set(text: &str) -> GtidSet {
    GtidSet::parse(text.as_bytes()).unwrap()
}

#[test]
fn texts_and_their_canonical_form() {
    let cases = [
        (String::new(), String::new()),
        (format!("{A}:1"), format!("{A}:1")),
        (format!("{A}:1-3:4:7"), format!("{A}:1-4:7")),
        (format!(" {A} : 5-6 : 1 ,\n {A}:2,"), format!("{A}:1-2:5-6")),
        (format!("{B}:1,{A}:9"), format!("{A}:9,{B}:1")),
        (format!("{A}:blue:1-2:5:Red:1:2"), format!("{A}:blue:1-2:5:red:1-2")),
        (format!("{A}:3:x:1,{A}:x:2,{A}:4"), format!("{A}:3-4:x:1-2")),
        (A.to_uppercase() + ":1", format!("{A}:1")),
        (A.replace('-', "") + ":1", format!("{A}:1")),
    ];
    for (text, canonical) in cases {
        let set = set(&text);
        assert_eq!(set.to_string(), canonical, "{text}");
        assert_eq!(GtidSet::decode(&set.encode()), Ok(set));
    }
}

#[test]
fn texts_that_are_no_sets() {
    let long_tag = "t".repeat(33);
    for text in [
        A.to_owned(),
        format!("{A}:"),
        format!("{A}:0"),
        format!("{A}:3-2"),
        format!("{A}:1-"),
        format!("{A}:blue"),
        format!("{A}:9223372036854775807"),
        format!("{A}:{long_tag}:1"),
        format!("{A}:bl-ue:1"),
        format!("{}:1", &A[1..]),
        format!("{A}0:1"),
        "0-1-5".to_owned(),
    ] {
        assert_eq!(GtidSet::parse(text.as_bytes()), Err(InvalidGtid), "{text}");
    }
}

#[test]
fn one_gtid_and_supersets() {
    let all = set(&format!("{A}:1-5:blue:1-3,{B}:1"));
    let gtid = |tag: &str, gno| set(&format!("{A}{tag}:{gno}")).iter().next().unwrap();
    assert!(all.contains(&gtid("", 5)) && !all.contains(&gtid("", 6)));
    assert!(all.contains(&gtid(":blue", 3)) && !all.contains(&gtid(":red", 3)));
    assert!(all.is_superset(&set(&format!("{A}:2-4:blue:1"))) && all.is_superset(&GtidSet::default()));
    assert!(!all.is_superset(&set(&format!("{A}:2-6"))));
    assert!(!all.is_superset(&set(&format!("{B}:blue:1"))));
    let mariadb = Gtid::parse_mariadb(b"0-1-5").unwrap();
    assert!(!all.clone().add(&mariadb) && !all.contains(&mariadb));
    assert_eq!((mariadb.to_string(), gtid(":blue", 3).to_string()), ("0-1-5".into(), format!("{A}:blue:3")));
}

#[test]
fn the_untagged_encoding() {
    let mut expected = vec![1, 0, 0, 0, 0, 0, 0, 0];
    expected.extend_from_slice(&[0x62, 0x8b, 0x60, 0xba, 0xe5, 0x41, 0x11, 0xf1]);
    expected.extend_from_slice(&[0x9e, 0xe9, 2, 0xfc, 0, 0, 0, 1]);
    for number in [2u64, 1, 4, 7, 8] {
        expected.extend_from_slice(&number.to_le_bytes());
    }
    assert_eq!(set(&format!("{A}:1-3:7")).encode(), expected);
}

/// Small numbers, so that ranges meet.
fn gtids() -> impl Strategy<Value = Vec<(u8, u8, u64)>> {
    prop::collection::vec((0..2u8, 0..3u8, 1..40u64), 0..120)
}

fn gtid((server, tag, gno): (u8, u8, u64)) -> Gtid {
    let tag = ["", "blue", "a_1"][usize::from(tag)].to_owned();
    Gtid::MySql { uuid: [server; 16], tag, gno }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_a_plain_set(first in gtids(), second in gtids()) {
        let (mut ours, mut plain) = (GtidSet::default(), BTreeSet::new());
        for id in &first {
            prop_assert_eq!(ours.add(&gtid(*id)), plain.insert(gtid(*id)));
        }
        prop_assert_eq!(ours.iter().collect::<BTreeSet<_>>(), plain.clone());
        let (mut theirs, mut their_plain) = (GtidSet::default(), BTreeSet::new());
        for id in &second {
            prop_assert_eq!(ours.contains(&gtid(*id)), plain.contains(&gtid(*id)));
            theirs.add(&gtid(*id));
            their_plain.insert(gtid(*id));
        }
        prop_assert_eq!(ours.is_superset(&theirs), plain.is_superset(&their_plain));
        prop_assert_eq!(GtidSet::parse(ours.to_string().as_bytes()), Ok(ours.clone()));
        prop_assert_eq!(GtidSet::decode(&ours.encode()), Ok(ours.clone()));
        ours.merge(&theirs);
        prop_assert!(ours.is_superset(&theirs));
        prop_assert_eq!(ours.iter().count(), plain.union(&their_plain).count());
    }
}
