//! The parentheses around a token, as far as their contents have a grammar of their own.

use crate::words::is_in;

/// The contents of a parenthesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// An expression, a list, or a query.
    Plain,
    /// CAST(e AS type), WEIGHT_STRING(e AS type).
    Cast,
    /// CONVERT(e USING charset), CONVERT(e, type).
    Convert,
    /// CHAR(e USING charset).
    Char,
    /// EXTRACT(unit FROM e).
    Extract,
    /// TRIM(BOTH e FROM e).
    Trim,
    /// SUBSTRING(e FROM e FOR e).
    Substring,
    /// POSITION(e IN e).
    Position,
    /// GROUP_CONCAT(e ORDER BY e SEPARATOR 's').
    Concatenation,
    /// AGAINST(e IN BOOLEAN MODE).
    Against,
    /// JSON_TABLE(e, path COLUMNS (…)).
    JsonTable,
    /// OVER (…), WINDOW w AS (…).
    Window,
    /// `FROM (a, b)`: commas join.
    Tables,
}

impl Frame {
    /// Returns the frame of a parenthesis that follows this word.
    pub fn behind(word: &[u8]) -> Frame {
        const NAMES: &[(&str, Frame)] = &[
            ("AGAINST", Frame::Against),
            ("CAST", Frame::Cast),
            ("CHAR", Frame::Char),
            ("CONVERT", Frame::Convert),
            ("EXTRACT", Frame::Extract),
            ("GROUP_CONCAT", Frame::Concatenation),
            ("JSON_ARRAYAGG", Frame::Concatenation),
            ("JSON_OBJECTAGG", Frame::Concatenation),
            ("JSON_TABLE", Frame::JsonTable),
            ("MID", Frame::Substring),
            ("OVER", Frame::Window),
            ("POSITION", Frame::Position),
            ("SUBSTR", Frame::Substring),
            ("SUBSTRING", Frame::Substring),
            ("TRIM", Frame::Trim),
            ("WEIGHT_STRING", Frame::Cast),
        ];
        NAMES.iter().find(|(name, _)| is_in(word, &[name])).map_or(Frame::Plain, |&(_, frame)| frame)
    }
}
