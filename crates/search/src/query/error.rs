//! Why a query is invalid.

use thiserror::Error;

use super::{QUERY_BYTES_MAX, QUERY_CLAUSES_MAX, QUERY_TOKENS_MAX};

/// Why a query is invalid. Messages contain no words of the query, since it may be what somebody wants to keep private.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QueryError {
    /// Over [`QUERY_BYTES_MAX`].
    #[error("has {bytes} bytes, at most {QUERY_BYTES_MAX} are allowed: search for fewer words")]
    TooLong {
        /// Its size, in bytes.
        bytes: usize,
    },
    /// Over [`QUERY_CLAUSES_MAX`].
    #[error("has {clauses} words, phrases and filters, at most {QUERY_CLAUSES_MAX} are allowed: remove some")]
    TooManyClauses {
        /// Their number.
        clauses: usize,
    },
    /// Over [`QUERY_TOKENS_MAX`].
    #[error("has phrases of {tokens} words, at most {QUERY_TOKENS_MAX} are allowed: shorten them")]
    TooManyTokens {
        /// Their number.
        tokens: usize,
    },
    /// Nothing to search for.
    #[error("names nothing to search for: add a word, a phrase in quotes, or a filter such as role:user")]
    Empty,
    /// A filter with `-`.
    #[error("excludes the filter {name}:, which is not possible: exclude words or phrases")]
    ExcludedFilter {
        /// The filter.
        name: &'static str,
    },
    /// A filter with an invalid value.
    #[error("has the filter {name}: with an invalid value, which {rule}")]
    InvalidFilter {
        /// The filter.
        name: &'static str,
        /// What the value must be.
        rule: String,
    },
    /// A filter that is given twice.
    #[error("has the filter {name}: twice, which finds nothing: keep one")]
    RepeatedFilter {
        /// The filter.
        name: &'static str,
    },
}
