//! How texts are normalised.

/// ProxySQL's variables `mysql-query_digests_…`, with its defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How many bytes of a statement are read (`max_query_length`).
    pub query_length_max: usize,
    /// How many bytes of a digest text are kept, and make its number (`max_digest_length`).
    pub digest_length_max: usize,
    /// The most values of a list that are kept before `...`, where the list is longer than that by two or more; 0: all.
    pub grouping_limit: usize,
    /// The same limit for rows of lists (`VALUES (…),(…)`).
    pub groups_grouping_limit: usize,
    /// Whether digits in names become `?`, so that `sbtest1` and `sbtest2` are the same.
    pub no_digits: bool,
    /// Whether NULL is a value.
    pub replace_null: bool,
    /// Whether comments stay.
    pub keep_comment: bool,
    /// Whether letters become small ones.
    pub lowercase: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            query_length_max: 65_000,
            digest_length_max: 2048,
            grouping_limit: 3,
            groups_grouping_limit: 10,
            no_digits: false,
            replace_null: false,
            keep_comment: false,
            lowercase: false,
        }
    }
}
