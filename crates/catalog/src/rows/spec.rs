//! The facts that make a watch.

/// The facts that make a watch: two readings with the same facts share a watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchSpec {
    /// The ordinals of the columns that are equal to something, ascending.
    pub equal: Vec<u16>,
    /// The column that lies in a range or starts with a text.
    pub range: Option<u16>,
    /// The columns that are read, ascending; `None`: all. Key columns count as read whether they are listed or not.
    pub read: Option<Vec<u16>>,
}
