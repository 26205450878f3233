//! Search in texts: the query language, the terms of a text, matches and snippets. Pure: no I/O, no clock.
//!
//! A text becomes [`token`]s: words, and single characters of scripts without spaces. The tokens of a [`document`] become
//! [`term`]s: keyed hashes, the only form in which the index contains them. A [`query`] is parsed, its words become terms by the
//! same functions, and what the index finds is compared with the text again ([`mod@matches`]), so that a hash that two words share
//! cannot produce a result. [`bloom`] filters summarise the terms of many documents. [`snippet()`] cuts the text around the matches. Texts come from rows, results go to callers as plain
//! text.

pub mod bloom;
pub mod document;
pub mod language;
pub mod matches;
pub mod query;
pub mod score;
pub mod snippet;
pub mod term;
pub mod token;

pub use bloom::{BloomFilter, PROBES_PER_TERM, probes};
pub use document::{Document, INDEXED_TEXT_BYTES_MAX, Kind};
pub use language::Language;
pub use matches::{Matcher, Matches};
pub use query::{Clause, Filters, Has, QUERY_BYTES_MAX, QUERY_CLAUSES_MAX, QUERY_TOKENS_MAX, Query, QueryError};
pub use score::score;
pub use snippet::{SNIPPET_BYTES_MAX, SnippetPart, snippet};
pub use term::{QueryTerms, TERM_KEY_BYTES, TERMS_PER_DOCUMENT_MAX, Term, TermKey};
pub use token::{Token, tokens};
