//! The query language: words, `"phrases"`, `-exclusions`, and filters such as `role:user`.
//!
//! Parsing never fails because of punctuation: what is no filter is text. A query fails only if a filter has an invalid value,
//! if nothing remains to search for, or if a bound is exceeded.

mod error;
mod filters;
mod lexer;

pub use error::QueryError;
pub use filters::{Filters, Has};

use crate::token::{Token, tokens};
use lexer::{Piece, pieces};

/// Maximum size of a query, in bytes.
pub const QUERY_BYTES_MAX: usize = 512;
/// Maximum number of words, phrases and filters of a query.
pub const QUERY_CLAUSES_MAX: usize = 16;
/// Maximum number of tokens of a query, of all its words and phrases.
pub const QUERY_TOKENS_MAX: usize = 64;

/// A parsed query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// Texts that a result contains, all of them.
    pub required: Vec<Clause>,
    /// Texts that no result contains.
    pub excluded: Vec<Clause>,
    /// The filters.
    pub filters: Filters,
}

/// A word or a phrase: tokens that follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// The tokens; at least one.
    pub tokens: Vec<Token<'static>>,
    /// Whether it is quoted: then inflections do not match.
    pub is_exact: bool,
}

impl Query {
    /// Parses a query.
    ///
    /// # Errors
    /// [`QueryError`].
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if text.len() > QUERY_BYTES_MAX {
            return Err(QueryError::TooLong { bytes: text.len() });
        }
        let pieces: Vec<Piece<'_>> = pieces(text).collect();
        if pieces.len() > QUERY_CLAUSES_MAX {
            return Err(QueryError::TooManyClauses { clauses: pieces.len() });
        }
        let mut query = Self::default();
        for piece in pieces {
            query.add(&piece)?;
        }
        query.check()?;
        Ok(query)
    }

    fn add(&mut self, piece: &Piece<'_>) -> Result<(), QueryError> {
        if let Some((name, value)) = piece.filter {
            if piece.is_excluded {
                return Err(QueryError::ExcludedFilter { name });
            }
            return self.filters.set(name, value);
        }
        let clause = Clause { tokens: tokens(piece.text).map(Token::into_owned).collect(), is_exact: piece.is_quoted };
        match (clause.tokens.is_empty(), piece.is_excluded) {
            (true, _) => {}
            (false, true) => self.excluded.push(clause),
            (false, false) => self.required.push(clause),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), QueryError> {
        if self.required.is_empty() && self.filters.is_empty() {
            return Err(QueryError::Empty);
        }
        let clauses = self.required.iter().chain(&self.excluded);
        let tokens = clauses.map(|clause| clause.tokens.len()).sum();
        if tokens > QUERY_TOKENS_MAX {
            return Err(QueryError::TooManyTokens { tokens });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
