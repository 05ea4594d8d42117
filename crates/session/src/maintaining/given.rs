//! Rows of the binlog and of answers, in the engine's form.

use std::borrow::Cow;

use freshet_catalog::ColumnInfo;
use freshet_protocol::binlog::{self, Decimal, Field, Value};
use freshet_views::{ColumnSpec, Date, Given, Kind, Number, date_number, moment_number};

/// A column that is copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Copied {
    pub(super) spec: ColumnSpec,
    /// Its place in the row images.
    ordinal: usize,
    /// How many bits the integers have, if they are unsigned.
    unsigned_bits: Option<u32>,
}

impl Copied {
    /// Returns the column of this name. The error says why it is not copied.
    pub(super) fn of(columns: &[ColumnInfo], spec: &ColumnSpec) -> Result<Self, String> {
        let found = columns.iter().enumerate().find(|(_, column)| column.name == spec.name);
        let (ordinal, column) = found.ok_or_else(|| format!("{} is not there", spec.name))?;
        if column.generated {
            return Err(format!("{} is a generated column", spec.name));
        }
        let bits = match &*column.data_type.name {
            "tinyint" => 8,
            "smallint" => 16,
            "mediumint" => 24,
            "bigint" => 64,
            _ => 32,
        };
        let is_unsigned = column.data_type.is_unsigned && matches!(spec.kind, Kind::Integer(_));
        Ok(Self { spec: spec.clone(), ordinal, unsigned_bits: is_unsigned.then_some(bits) })
    }

    /// Returns the column after a definition, which has taken the columns `from` these places; `None` if the column is gone or changed.
    pub(super) fn moved(&self, from: &[Option<usize>]) -> Option<Self> {
        let ordinal = from.iter().position(|from| *from == Some(self.ordinal))?;
        Some(Self { ordinal, ..self.clone() })
    }

    /// Returns the column's value in a row image; `None` if it is unknown.
    fn of_image(&self, image: &[Field<'_>]) -> Option<Given> {
        let value = match image.get(self.ordinal)? {
            Field::Absent => return None,
            Field::Null => return Some(Given::Number(None)),
            Field::Value(value) => value,
        };
        let number = match (self.spec.kind, value) {
            (Kind::Text { .. }, Value::Bytes(bytes)) => return Some(Given::Text(self.filled(bytes).into())),
            (Kind::Integer(_), Value::Int(number)) => match self.unsigned_bits {
                Some(bits) => Number::from(*number) & ((1 << bits) - 1),
                None => Number::from(*number),
            },
            (kind @ Kind::Folded(_), Value::Bytes(bytes)) => kind.parse(&self.filled(bytes))?,
            (Kind::Integer(_), Value::UInt(number)) => Number::from(*number),
            (Kind::Decimal { digits, scale }, Value::Decimal(decimal)) => {
                whole(decimal).filter(|_| (decimal.precision(), decimal.scale()) == (digits, scale))?
            }
            (Kind::Year, Value::Year(year)) if *year > 0 => Number::from(*year),
            // 0 stands for a value that is none of the names, or no moment.
            (Kind::Enum, Value::Enum(number)) if *number > 0 => Number::from(*number),
            (Kind::Set, Value::Set(bits)) | (Kind::Bit(_), Value::Bit(bits)) => Number::from(*bits),
            (Kind::Stamp(digits), Value::Timestamp(at)) if at.decimals == digits && at.seconds > 0 => {
                Number::from(at.seconds) * 1_000_000 + Number::from(at.micros)
            }
            (Kind::Date, Value::Date(date)) => date_number(written(*date))?,
            (Kind::Time(digits), Value::Time(time)) if time.decimals == digits => Number::from(time.micros),
            (Kind::Moment(digits), Value::DateTime(at)) if at.decimals == digits => {
                let seconds = (u32::from(at.hour) * 60 + u32::from(at.minute)) * 60 + u32::from(at.second);
                moment_number(written(at.date), seconds, at.micros)?
            }
            _ => return None,
        };
        Some(Given::Number(Some(number)))
    }

    /// Returns a BINARY with the zeros at its end, which row images leave out.
    fn filled<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let filled = self.spec.filled_bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
        if bytes.len() >= filled {
            return bytes.into();
        }
        let mut all = bytes.to_vec();
        all.resize(filled, 0);
        all.into()
    }

    /// Returns the column's value as a row of an answer shows it; `None` if it is unknown.
    fn of_text(&self, text: Option<&[u8]>) -> Option<Given> {
        match (text, self.spec.kind) {
            (None, _) => Some(Given::Number(None)),
            (Some(text), Kind::Text { .. }) => Some(Given::Text(text.into())),
            (Some(text), kind) => kind.parse(text).map(|number| Given::Number(Some(number))),
        }
    }
}

/// Returns a date of the binlog in the engine's form.
fn written(date: binlog::Date) -> Date {
    Date { year: date.year, month: date.month, day: date.day }
}

/// Returns a DECIMAL as a whole number of its last digit; `None` if it has too many digits.
fn whole(decimal: &Decimal<'_>) -> Option<Number> {
    let digits = decimal.digits();
    let digits = &digits[..usize::from(decimal.precision())];
    let add = |number: Number, digit: &u8| number.checked_mul(10)?.checked_add((*digit).into());
    let number = digits.iter().try_fold(0, add)?;
    Some(if decimal.is_negative() { -number } else { number })
}

/// Returns the copied part of a row image.
pub(super) fn of_image(columns: &[Copied], image: &[Field<'_>]) -> Option<Box<[Given]>> {
    columns.iter().map(|column| column.of_image(image)).collect()
}

/// Returns a row of an answer with these columns. The error names a column whose value is unknown.
pub(super) fn of_texts<'c>(
    columns: &'c [Copied],
    row: &[Option<Vec<u8>>],
) -> Result<Box<[Given]>, &'c ColumnSpec> {
    let value = |(at, column): (usize, &'c Copied)| {
        let text = row.get(at).ok_or(&column.spec)?;
        column.of_text(text.as_deref()).ok_or(&column.spec)
    };
    columns.iter().enumerate().map(value).collect()
}
