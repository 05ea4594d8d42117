//! What makes a watch.

/// What makes a watch: two readings with the same of it share one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchSpec {
    /// The columns that are equal to something, by their ordinals, ascending.
    pub equal: Vec<u16>,
    /// The column that lies in a range or starts with something.
    pub range: Option<u16>,
    /// The columns read, ascending; `None`: all of them. Key columns count as read whether they are in it or not.
    pub read: Option<Vec<u16>>,
}
