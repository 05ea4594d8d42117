//! Types of keys in words.

use std::fmt;

use super::KeyType;

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("(its values are not told apart)"),
            Self::Integer { unsigned, bytes } => {
                write!(f, "integer({}){}", u16::from(*bytes) * 8, if *unsigned { " unsigned" } else { "" })
            }
            Self::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            Self::Text { collation, chars } => write!(f, "text({chars}) {collation}"),
            Self::Bytes { len } => write!(f, "bytes({len})"),
            Self::Date => f.write_str("date"),
            Self::DateTime { decimals } => write!(f, "datetime({decimals})"),
            Self::Timestamp { decimals } => write!(f, "timestamp({decimals})"),
            Self::Time { decimals } => write!(f, "time({decimals})"),
            Self::Year => f.write_str("year"),
            Self::Bit { bits } => write!(f, "bit({bits})"),
            Self::Enum(_) => f.write_str("enum"),
            Self::Set(_) => f.write_str("set"),
            Self::Uuid => f.write_str("uuid"),
            Self::Address { bytes } => f.write_str(if *bytes == 4 { "inet4" } else { "inet6" }),
        }
    }
}
