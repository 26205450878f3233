//! The best results among the newest.

use domain::Timestamp;
use wire::status::Problem;

use super::SearchRequest;
use super::page::{Search, hash};
use super::results::{SearchPage, SearchResult};
use crate::page_token::{self, take_number};

/// Maximum number of documents that are compared by relevance, the newest ones.
pub const RANKED_RESULTS_MAX: u32 = 500;

/// The number of results on earlier pages, and when the newest result was recorded.
pub(super) type RankedStart = (usize, Timestamp);

/// Where a page starts.
///
/// # Errors
/// The page token is invalid or of another query.
pub(super) fn start(request: &SearchRequest<'_>) -> Result<Option<RankedStart>, Problem> {
    page_token::cursor(request.page_token, hash(request), take_start)
}

/// A page of the best results first. Later pages rank the same documents again: those up to the first page's newest one.
///
/// # Errors
/// As [`super::search()`].
pub(super) async fn best(search: &Search<'_>, start: Option<RankedStart>) -> Result<SearchPage, Problem> {
    let examined = search.examine(None, RANKED_RESULTS_MAX).await?;
    let newest = examined.results.first().map_or(Timestamp(i64::MIN), |(cursor, _)| cursor.recorded_at);
    let (offset, newest) = start.unwrap_or((0, newest));
    let mut results: Vec<SearchResult> = examined
        .results
        .into_iter()
        .filter(|(cursor, _)| cursor.recorded_at <= newest)
        .map(|(_, result)| result)
        .collect();
    // The sort is stable: equal results remain newest first.
    results.sort_by(|one, other| other.score.total_cmp(&one.score));
    let size = usize::try_from(search.request.page_size).unwrap_or(usize::MAX);
    let end = offset.saturating_add(size);
    let next = (results.len() > end).then(|| {
        let offset = u64::try_from(end).unwrap_or(u64::MAX);
        let cursor = [offset.to_be_bytes(), newest.0.to_be_bytes()].concat();
        page_token::encode(hash(search.request), &cursor)
    });
    Ok(SearchPage {
        results: results.into_iter().skip(offset).take(size).collect(),
        next,
        match_count: start.is_none().then_some(examined.matches),
        ..SearchPage::default()
    })
}

fn take_start(bytes: &[u8]) -> Option<RankedStart> {
    let (offset, rest) = take_number(bytes)?;
    let (newest, rest) = take_number(rest)?;
    let offset = usize::try_from(offset).ok()?;
    rest.is_empty().then_some((offset, Timestamp(newest.cast_signed())))
}
