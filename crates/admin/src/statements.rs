//! Several statements in one text, and their text without comments.

/// Returns the length of a piece of a text; the piece is a unit in which a `;` can be hidden.
fn piece_len(text: &[u8]) -> usize {
    let until = |end: &[u8], from: usize| {
        let body = text.get(from..).unwrap_or_default();
        body.windows(end.len())
            .position(|window| window == end)
            .map_or(text.len(), |at| from + at + end.len())
    };
    match text {
        [quote @ (b'\'' | b'"' | b'`'), ..] => until(&[*quote], 1),
        [b'/', b'*', ..] => until(b"*/", 2),
        [b'#', ..] => until(b"\n", 1),
        [b'-', b'-', rest @ ..] if rest.first().is_none_or(|byte| *byte <= b' ') => until(b"\n", 2),
        _ => 1,
    }
}

fn is_comment(text: &[u8]) -> bool {
    match text {
        [b'/', b'*', ..] | [b'#', ..] => true,
        [b'-', b'-', rest @ ..] => rest.first().is_none_or(|byte| *byte <= b' '),
        _ => false,
    }
}

/// Returns the statements of a text, without comments and the blanks around them.
pub fn split(text: &str) -> Vec<String> {
    let mut statements = Vec::new();
    let mut statement = Vec::new();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(piece_len(rest).min(rest.len()));
        match piece {
            b";" => statements.push(std::mem::take(&mut statement)),
            _ if is_comment(rest) => statement.push(b' '),
            _ => statement.extend_from_slice(piece),
        }
        rest = behind;
    }
    statements.push(statement);
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).trim().to_owned();
    statements.iter().map(text).filter(|statement| !statement.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn statements_end_where_no_text_goes_on() {
        let cases: [(&str, &[&str]); 6] = [
            (
                "LOAD MYSQL QUERY RULES TO RUNTIME; SAVE MYSQL QUERY RULES TO DISK;",
                &["LOAD MYSQL QUERY RULES TO RUNTIME", "SAVE MYSQL QUERY RULES TO DISK"],
            ),
            ("SELECT ';', \"a;b\" ; ;", &["SELECT ';', \"a;b\""]),
            ("SELECT 'it''s;' -- a ; b\n, 1", &["SELECT 'it''s;'  , 1"]),
            ("/* c; */ SELECT 1 # d;", &["SELECT 1"]),
            ("SELECT 'open;", &["SELECT 'open;"]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
