//! `/api/search`: what a caller finds in their own conversations; and what all ways to search over HTTP share.

pub mod search_chats;
pub mod search_params;
pub mod search_results;

pub(in crate::http) use search_params::{SearchCaller, SearchParams, page};
pub(in crate::http) use search_results::SearchResultsBody;
