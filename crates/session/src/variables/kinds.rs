//! The kinds of values, each with the server's own errors and warnings for a bad one.

use std::ops::RangeInclusive;

use freshet_protocol::ErrPacket;
use freshet_sql::AssignedValue;

use crate::warnings::Warning;

fn wrong_value(name: &str, value: &str) -> ErrPacket {
    ErrPacket::new(1231, "42000", format!("Variable '{name}' can't be set to the value of '{value}'"))
}

fn wrong_type(name: &str) -> ErrPacket {
    ErrPacket::new(1232, "42000", format!("Incorrect argument type to variable '{name}'"))
}

/// Refuses to set a variable that is read only.
pub(super) fn read_only(name: &str) -> Result<Option<Warning>, ErrPacket> {
    Err(ErrPacket::new(1238, "HY000", format!("Variable '{name}' is a read only variable")))
}

/// A number of bytes: clamped to `max` and rounded down to `step`, each with the server's warning 1292.
/// `DEFAULT` is `default`.
pub(super) fn size(
    name: &'static str,
    value: &AssignedValue,
    max: u64,
    step: u64,
    default: u64,
) -> Result<(u64, Option<Warning>), ErrPacket> {
    let given = match value {
        AssignedValue::Default => return Ok((default, None)),
        AssignedValue::Int(given) => *given,
        AssignedValue::Real(_) | AssignedValue::Text(_) | AssignedValue::Other(_) => {
            return Err(wrong_type(name));
        }
    };
    let clamped = u64::try_from(given.clamp(0, i128::from(max))).unwrap_or(max);
    let taken = clamped - clamped % step;
    let warning = (i128::from(taken) != given).then(|| truncated(name, given));
    Ok((taken, warning))
}

/// The warning for a size that is too small to be of use, and is 0 instead; none for 0 itself.
pub(super) fn too_small(bytes: u64) -> Option<Warning> {
    let message = format!("Query cache failed to set size {bytes}; new query cache size is 0");
    (bytes > 0).then_some(Warning { code: 1282, message })
}

fn truncated(name: &str, given: i128) -> Warning {
    Warning { code: 1292, message: format!("Truncated incorrect {name} value: '{given}'") }
}

/// A number within `range`, brought into it with the server's warning 1292; `None` is `DEFAULT`.
pub(super) fn number(
    name: &'static str,
    value: &AssignedValue,
    range: RangeInclusive<u64>,
) -> Result<Option<(u64, Option<Warning>)>, ErrPacket> {
    if *value == AssignedValue::Default {
        return Ok(None);
    }
    let (taken, warning) = size(name, value, *range.end(), 1, 0)?;
    if taken >= *range.start() {
        return Ok(Some((taken, warning)));
    }
    let AssignedValue::Int(given) = value else { return Err(wrong_type(name)) };
    Ok(Some((*range.start(), Some(truncated(name, *given)))))
}

/// One of `names`, by name in any case or by its number; `None` is `DEFAULT`.
pub(super) fn one_of(name: &str, value: &AssignedValue, names: &[&str]) -> Result<Option<usize>, ErrPacket> {
    match value {
        AssignedValue::Default => Ok(None),
        // A DECIMAL to the servers.
        AssignedValue::Int(number) if *number > i128::from(u64::MAX) => Err(wrong_type(name)),
        AssignedValue::Int(number) => usize::try_from(*number)
            .ok()
            .filter(|at| *at < names.len())
            .map(Some)
            .ok_or_else(|| wrong_value(name, &number.to_string())),
        AssignedValue::Text(text) => names
            .iter()
            .position(|known| known.eq_ignore_ascii_case(text))
            .map(Some)
            .ok_or_else(|| wrong_value(name, text)),
        AssignedValue::Real(_) => Err(wrong_type(name)),
        AssignedValue::Other(text) => Err(wrong_value(name, text)),
    }
}

/// `OFF`, `ON`, `FALSE`, `TRUE`, 0 or 1; `None` is `DEFAULT`.
pub(super) fn boolean(name: &str, value: &AssignedValue) -> Result<Option<bool>, ErrPacket> {
    let value = match value {
        AssignedValue::Text(text) if text.eq_ignore_ascii_case("true") => &AssignedValue::Int(1),
        AssignedValue::Text(text) if text.eq_ignore_ascii_case("false") => &AssignedValue::Int(0),
        value => value,
    };
    Ok(one_of(name, value, &["OFF", "ON"])?.map(|at| at == 1))
}
