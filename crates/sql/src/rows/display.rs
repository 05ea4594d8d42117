//! Values and conditions in words.

use std::fmt;

use super::{Condition, Datum};

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Int(value) => value.fmt(f),
            Self::InRow(value) | Self::Double(value) => value.fmt(f),
            Self::Decimal(digits) => f.write_str(digits),
            Self::Text(text) | Self::Shown(text) | Self::Moment(text) => {
                write!(f, "'{}'", String::from_utf8_lossy(text))
            }
            Self::Bytes(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
            Self::Param(number) => write!(f, "?{number}"),
            Self::Other => f.write_str("_"),
        }
    }
}

impl Condition {
    /// Returns the condition on a column of this name.
    #[must_use]
    pub fn on(&self, column: &str) -> String {
        match self {
            Self::OneOf(values) => match values.as_slice() {
                [value] => format!("{column} = {value}"),
                values => {
                    let values: Vec<String> = values.iter().map(Datum::to_string).collect();
                    format!("{column} IN ({})", values.join(", "))
                }
            },
            Self::Between { low, high } => {
                let low =
                    low.as_ref().map(|(value, is_in)| bound(column, if *is_in { ">=" } else { ">" }, value));
                let high =
                    high.as_ref().map(|(value, is_in)| bound(column, if *is_in { "<=" } else { "<" }, value));
                low.into_iter().chain(high).collect::<Vec<_>>().join(" AND ")
            }
            Self::Like(pattern) => format!("{column} LIKE {pattern}"),
            Self::IsNull => format!("{column} IS NULL"),
        }
    }
}

fn bound(column: &str, operator: &str, value: &Datum) -> String {
    format!("{column} {operator} {value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_read_as_in_a_statement() {
        let (one, two) = (Datum::Int(1), Datum::Text(b"two".to_vec()));
        let between = |low, high| Condition::Between { low, high };
        for (condition, words) in [
            (Condition::OneOf(vec![one.clone()]), "c = 1"),
            (Condition::OneOf(vec![one.clone(), two.clone(), Datum::Param(3)]), "c IN (1, 'two', ?3)"),
            (between(Some((one.clone(), true)), Some((Datum::Int(9), false))), "c >= 1 AND c < 9"),
            (between(Some((one, false)), None), "c > 1"),
            (Condition::Like(two), "c LIKE 'two'"),
            (Condition::OneOf(vec![Datum::Bytes(vec![0, 0xfe])]), "c = X'00fe'"),
            (Condition::IsNull, "c IS NULL"),
        ] {
            assert_eq!(condition.on("c"), words);
        }
    }
}
