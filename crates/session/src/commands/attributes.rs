//! Query attributes: values that may stand before the text of a COM_QUERY.

use freshet_protocol::{Malformed, Reader};

/// Returns where the statement starts in a COM_QUERY packet of a connection with CLIENT_QUERY_ATTRIBUTES. Source: the
/// protocol's page on COM_QUERY.
pub(super) fn text_offset(packet: &[u8]) -> Result<usize, Malformed> {
    let mut reader = Reader::new(packet);
    reader.u8()?;
    let parameters = usize::try_from(reader.lenenc_int()?).unwrap_or(usize::MAX);
    reader.lenenc_int()?;
    if parameters > 0 {
        if parameters > packet.len() {
            return Err(Malformed { what: "more query attributes than bytes" });
        }
        skip_parameters(&mut reader, parameters)?;
    }
    Ok(packet.len() - reader.remaining())
}

fn skip_parameters(reader: &mut Reader<'_>, parameters: usize) -> Result<(), Malformed> {
    let nulls = reader.take(parameters.div_ceil(8))?.to_vec();
    reader.u8()?;
    let mut kinds = Vec::new();
    for _ in 0..parameters {
        let kind = reader.u16()?;
        reader.lenenc_bytes()?;
        kinds.push(kind & 0xff);
    }
    for (at, kind) in kinds.into_iter().enumerate() {
        if nulls[at / 8] & (1 << (at % 8)) == 0 {
            skip_value(reader, kind)?;
        }
    }
    Ok(())
}

/// Skips one value in the binary form.
fn skip_value(reader: &mut Reader<'_>, kind: u16) -> Result<(), Malformed> {
    let bytes = match kind {
        // TINY
        0x01 => 1,
        // SHORT, YEAR
        0x02 | 0x0d => 2,
        // LONG, FLOAT, INT24
        0x03 | 0x04 | 0x09 => 4,
        // DOUBLE, LONGLONG
        0x05 | 0x08 => 8,
        // NULL
        0x06 => 0,
        // TIMESTAMP, DATE, TIME, DATETIME: their length in one byte
        0x07 | 0x0a | 0x0b | 0x0c => usize::from(reader.u8()?),
        _ => return reader.lenenc_bytes().map(|_| ()),
    };
    reader.take(bytes).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::text_offset;

    #[test]
    fn the_text_is_found_behind_any_attributes() {
        let none = [&[3, 0, 1][..], b"SELECT 1"].concat();
        assert_eq!(&none[text_offset(&none).unwrap()..], b"SELECT 1");
        // One string attribute `a` = `xy`, one BIGINT `b`, one NULL `c`.
        let mut some = vec![3, 3, 1, 0b100, 1];
        some.extend_from_slice(&[0xfe, 0, 1, b'a', 8, 0, 1, b'b', 6, 0, 1, b'c']);
        some.extend_from_slice(&[2, b'x', b'y', 1, 2, 3, 4, 5, 6, 7, 8]);
        some.extend_from_slice(b"SELECT 2");
        assert_eq!(&some[text_offset(&some).unwrap()..], b"SELECT 2");
        for cut in 1..some.len() - 8 {
            // A cut packet gives an error or a shorter text, never a panic.
            let _ = text_offset(&some[..cut]);
        }
        assert!(text_offset(&[3, 0xfe, 255, 255, 255, 255, 255, 255, 255, 255, 1]).is_err());
    }
}
