use super::*;

/// Returns a packet for statement 1 with these flags and this rest.
fn packet(flags: u8, rest: &[&[u8]]) -> Vec<u8> {
    [&[0x17, 1, 0, 0, 0, flags, 1, 0, 0, 0][..], &rest.concat()].concat()
}

fn parse<'a>(
    packet: &'a [u8],
    parameters: usize,
    caps: Capabilities,
    types: Option<&[ParameterType]>,
) -> Result<Execution<'a>, Malformed> {
    Execution::parse(packet, parameters, caps, types, |_| false)
}

const PLAIN: Capabilities = Capabilities::PROTOCOL_41;

#[test]
fn values_of_all_kinds_are_read() {
    let types: [&[u8]; 8] =
        [&[1, 0], &[1, 0x80], &[3, 0], &[8, 0x80], &[253, 0], &[246, 0], &[5, 0], &[12, 0]];
    let values: [&[u8]; 8] = [
        &[0xff],
        &[0xff],
        &[0xfe, 0xff, 0xff, 0xff],
        &[0xff; 8],
        &[2, b'a', b'b'],
        &[3, b'1', b'.', b'5'],
        &[0; 8],
        &[4, 0xe8, 0x07, 2, 29],
    ];
    let packet = packet(0, &[&[0], &[1], &types.concat(), &values.concat()]);
    let execution = parse(&packet, 8, PLAIN, None).unwrap();
    let date = Parameter::DateTime { is_date: false, year: 2024, parts: [2, 29, 0, 0, 0], micros: 0 };
    assert_eq!(
        execution.parameters,
        [
            Parameter::Int(-1),
            Parameter::UInt(255),
            Parameter::Int(-2),
            Parameter::UInt(u64::MAX),
            Parameter::Text(b"ab"),
            Parameter::Decimal(b"1.5"),
            Parameter::Float(0.0),
            date,
        ]
    );
    // The same again without types.
    let again = self::packet(0, &[&[0], &[0], &values.concat()]);
    let second = parse(&again, 8, PLAIN, execution.types.as_deref()).unwrap();
    assert_eq!((second.parameters, second.types), (execution.parameters, None));
    assert!(parse(&again, 8, PLAIN, None).is_err());
}

#[test]
fn nulls_and_long_data_have_no_value_in_the_packet() {
    let packet = packet(0, &[&[0b001], &[1], &[3, 0, 252, 0, 3, 0], &[7, 0, 0, 0]]);
    let execution = Execution::parse(&packet, 3, PLAIN, None, |at| at == 1).unwrap();
    assert_eq!(execution.parameters, [Parameter::Null, Parameter::Other, Parameter::Int(7)]);
}

#[test]
fn attributes_stand_behind_the_parameters() {
    let caps = PLAIN | Capabilities::QUERY_ATTRIBUTES;
    let types: [&[u8]; 2] = [&[8, 0, 0], &[254, 0, 1, b'n']];
    let packet = packet(8, &[&[2], &[0], &[1], &types.concat(), &[5, 0, 0, 0, 0, 0, 0, 0], &[1, b'v']]);
    let execution = parse(&packet, 1, caps, None).unwrap();
    assert_eq!(execution.parameters, [Parameter::Int(5)]);
    assert_eq!(parse(&packet, 0, caps, None).unwrap().parameters, []);
}

/// As mysql2 executes a statement without parameters.
#[test]
fn a_count_of_nothing_is_followed_by_nothing() {
    let caps = PLAIN | Capabilities::QUERY_ATTRIBUTES;
    let nothing = packet(PARAMETER_COUNT_AVAILABLE, &[&[0]]);
    let execution = parse(&nothing, 0, caps, None).unwrap();
    assert_eq!((execution.parameters, execution.types), (Vec::new(), None));
    assert!(parse(&packet(PARAMETER_COUNT_AVAILABLE, &[]), 0, caps, None).is_err());
}

#[test]
fn every_truncation_is_an_error_and_never_a_panic() {
    let whole = packet(0, &[&[0], &[1], &[8, 0, 253, 0], &[1; 8], &[2, b'a', b'b']]);
    assert!(parse(&whole, 2, PLAIN, None).is_ok());
    for cut in 0..whole.len() {
        assert!(parse(&whole[..cut], 2, PLAIN, None).is_err(), "{cut}");
    }
    assert!(parse(&packet(0, &[&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]]), 1, PLAIN, None).is_err());
}

#[test]
fn parts_of_a_packet_without_attributes() {
    let packet = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0b10, 1, 3, 0, 253, 0, 7, 0, 0, 0];
    let parts = ExecutionParts::cut(&packet, 2, Capabilities::empty()).unwrap();
    assert_eq!((parts.nulls, parts.values, parts.has_cursor), (&[0b10][..], &[7, 0, 0, 0][..], false));
    let types: Vec<ParameterType> = parts.types().unwrap().collect();
    assert_eq!(types.iter().map(|one| one.bytes()).collect::<Vec<_>>(), [[3, 0], [253, 0]]);
    assert_eq!(parts.with_types(&packet, &types, Capabilities::empty()), None, "it has them");
    // The same without types, and with them again.
    let short = [&packet[..11], &[0], &packet[16..]].concat();
    let parts = ExecutionParts::cut(&short, 2, Capabilities::empty()).unwrap();
    assert!(parts.types().is_none());
    assert_eq!(parts.with_types(&short, &types, Capabilities::empty()).as_deref(), Some(&packet[..]));
    for len in 0..12 {
        assert_eq!(ExecutionParts::cut(&packet[..len], 2, Capabilities::empty()), None, "{len}");
    }
}

#[test]
fn parts_of_a_packet_with_attributes() {
    let caps = Capabilities::QUERY_ATTRIBUTES;
    let packet = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 3, 0, 0, 7, 0, 0, 0];
    let parts = ExecutionParts::cut(&packet, 1, caps).unwrap();
    let types: Vec<ParameterType> = parts.types().unwrap().collect();
    assert_eq!((types.len(), parts.values), (1, &[7, 0, 0, 0][..]));
    let short = [&packet[..12], &[0], &packet[16..]].concat();
    let parts = ExecutionParts::cut(&short, 1, caps).unwrap();
    assert_eq!(parts.with_types(&short, &types, caps).as_deref(), Some(&packet[..]));
    // A named one is an attribute, and so is one more than there are markers.
    let named = [&packet[..15], &[1, b'a'], &packet[16..]].concat();
    assert_eq!(ExecutionParts::cut(&named, 1, caps), None);
    assert_eq!(ExecutionParts::cut(&packet, 2, caps), None);
    // Without markers there are none, unless the packet counts them.
    let none = [0x17, 1, 0, 0, 0, 8, 1, 0, 0, 0, 0];
    assert!(ExecutionParts::cut(&none, 0, caps).is_some_and(|parts| !parts.has_cursor));
    assert!(ExecutionParts::cut(&none[..10], 0, caps).is_none());
}

#[test]
fn cursors_and_repetitions_are_told() {
    let packet = |flags: u8, times: u8| [0x17, 1, 0, 0, 0, flags, times, 0, 0, 0];
    let has_cursor = |flags, times| {
        ExecutionParts::cut(&packet(flags, times), 0, Capabilities::empty()).unwrap().has_cursor
    };
    assert!(has_cursor(1, 1) && has_cursor(0, 2) && !has_cursor(0, 1));
}
