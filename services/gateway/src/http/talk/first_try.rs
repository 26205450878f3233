//! The first try of a turn that is sent again under its key: where its commit stands, if it does.

use domain::bounds::RUN_EVENTS_MAX;
use domain::{CommitId, EventKind, Fact, Version};
use history::{Direction, Newest, Page, PageBounds, Query, Snapshot, View, WindowBounds, decode};
use runtime::http::HttpProblem;

use crate::generation::started_by;
use crate::http::owned_chat::{Owned, of_read};
use crate::http::problem;
use crate::http::state::HttpState;

/// Most runs, from the newest back, that are looked through for the first try.
const RUNS_LOOKED_THROUGH_MAX: usize = 1_000;
/// So many are read at first: who tries again mostly does so at once.
const RUNS_LIKELY: usize = 16;
/// Most events of runs, and most bytes of them: they hold names and no contents.
const RUNS: WindowBounds = WindowBounds {
    events_max: RUNS_LOOKED_THROUGH_MAX,
    bytes_max: 1024 * 1024,
};
/// What is read of the commit itself.
const COMMIT_READ: PageBounds = PageBounds {
    events_max: 1_000,
    bytes_max: 8 * 1024 * 1024,
};

/// The version of the run's start that a key named, and with it the last of its commit; `None`: there is none, or it is
/// longer ago than so many runs as are looked through.
///
/// # Errors
/// The conversation cannot be read.
pub(super) async fn start(
    state: &HttpState,
    chat: &Owned,
    key: CommitId,
) -> Result<Option<Version>, HttpProblem> {
    let query = Query {
        kinds: &[EventKind::RunStarted],
        ..Query::all(Direction::Backward)
    };
    let first = Newest::first_batch(RUNS, RUNS_LIKELY);
    let opened = Snapshot::open_with(&state.gateway.reader, &chat.target, &query, first);
    let (snapshot, first) = opened.await.map_err(of_read)?;
    let effective = snapshot.effective(snapshot.position().version).await;
    let effective = effective.map_err(of_read)?;
    let cursor = snapshot.cursor_from(query, View::Effective(&effective), first);
    let newest = Newest::read(cursor, RUNS, RUNS_LIKELY).await;
    let mut newest = newest.map_err(of_read)?;
    if let Some(found) = find(&newest, chat, key)? {
        return Ok(Some(found));
    }
    newest.read_older().await.map_err(of_read)?;
    find(&newest, chat, key)
}

fn find(newest: &Newest<'_>, chat: &Owned, key: CommitId) -> Result<Option<Version>, HttpProblem> {
    let run = started_by(key);
    for row in newest.newest_first() {
        let event = decode(&chat.target.key, row).map_err(problem::of)?;
        if matches!(&event.event.fact, Fact::RunStarted(started) if started.run == run) {
            return Ok(Some(event.version));
        }
    }
    Ok(None)
}

/// The version that the conversation stood at before the commit that a key named.
///
/// # Errors
/// As [`start`].
pub(super) async fn before(
    state: &HttpState,
    chat: &Owned,
    key: CommitId,
) -> Result<Option<Version>, HttpProblem> {
    let Some(last) = start(state, chat, key).await? else {
        return Ok(None);
    };
    let most = u64::try_from(RUN_EVENTS_MAX).unwrap_or(u64::MAX);
    let query = Query {
        from: Version(last.0.saturating_sub(most).max(1)),
        to: last,
        ..Query::all(Direction::Backward)
    };
    let reader = &state.gateway.reader;
    let page = Page::recorded(reader, &chat.target, query, COMMIT_READ).await;
    let page = page.map_err(of_read)?;
    let of_it = page.events.iter().filter(|row| row.commit == key);
    let first = of_it.map(|row| row.version).min();
    Ok(first.map(|first| Version(first.0.saturating_sub(1))))
}
