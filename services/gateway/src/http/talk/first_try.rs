//! The first try of a turn that is sent again under its key: where its commit stands, if it does.

use std::collections::BTreeSet;

use domain::bounds::RUN_EVENTS_MAX;
use domain::{CommitId, EventKind, Fact, Version};
use read_model::queries::EventQuery;
use runtime::http::HttpProblem;

use crate::fresh::Place;
use crate::generation::started_by;
use crate::history::{self, Range};
use crate::http::chats::owned::{Owned, of_read};
use crate::http::problem;
use crate::http::state::HttpState;
use crate::page::PageBounds;
use crate::recent::{Recent, Wanted};
use crate::window::{self, WindowBounds};

/// Most runs, from the newest back, that are looked through for the first try.
const RUNS_LOOKED_THROUGH_MAX: usize = 1_000;
/// So many are read at first: who tries again mostly does so at once.
const RUNS_LIKELY: usize = 16;
/// Most bytes of these runs' events, which hold names and no contents.
const BYTES_MAX: u64 = 1024 * 1024;
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
    let wanted = Wanted {
        kinds: &[EventKind::RunStarted],
        likely: RUNS_LIKELY,
        to: EventQuery::TO_THE_END,
        bounds: WindowBounds {
            events_max: RUNS_LOOKED_THROUGH_MAX,
            bytes_max: BYTES_MAX,
        },
    };
    let mut recent = Recent::read(&state.gateway, &chat.target, wanted)
        .await
        .map_err(of_read)?;
    if let Some(found) = find(&recent, chat, key)? {
        return Ok(Some(found));
    }
    let older = recent.read_older(&state.gateway, &chat.target).await;
    older.map_err(of_read)?;
    find(&recent, chat, key)
}

fn find(recent: &Recent, chat: &Owned, key: CommitId) -> Result<Option<Version>, HttpProblem> {
    let run = started_by(key);
    for row in recent.window.newest_first() {
        let event = window::recorded(&chat.target.key, row).map_err(problem::of)?;
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
    let range = Range {
        from: Version(last.0.saturating_sub(most).max(1)),
        to: last,
        kinds: BTreeSet::new(),
        after: Place::default(),
        bounds: COMMIT_READ,
    };
    let page = history::backward(&state.gateway, &chat.target, &range).await;
    let page = page.map_err(of_read)?;
    let of_it = page.events.iter().filter(|row| row.commit == key);
    let first = of_it.map(|row| row.version).min();
    Ok(first.map(|first| Version(first.0.saturating_sub(1))))
}
