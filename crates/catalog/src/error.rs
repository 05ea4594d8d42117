//! Why a definition could not be read.

use freshet_upstream::Error;

/// Why a definition could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The definition changed, or may have changed, while it was read. Ask again later; until then nothing may rest on it.
    #[error("the definition is being changed")]
    Unsettled,
    /// The definition could not be read.
    #[error(transparent)]
    Failed(Error),
}

impl From<Error> for CatalogError {
    fn from(error: Error) -> Self {
        match error {
            Error::Unsettled => Self::Unsettled,
            other => Self::Failed(other),
        }
    }
}
