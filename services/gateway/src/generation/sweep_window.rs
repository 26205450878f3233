//! Which of the active runs the sweeper looks at: a window of them by key, which moves on once each run in it was judged.
//!
//! Memory is bounded by [`WINDOW_RUNS_MAX`], and no run is left out: with more runs than that, a run that nobody makes is found
//! later, by as many times the abandonment delay as there are windows before it. Pure.

use std::time::Duration;

use domain::ConversationKey;
use tokio::time::Instant;

/// Most runs of a window: their sightings are in memory.
pub(super) const WINDOW_RUNS_MAX: usize = 20_000;

/// A window of the active runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Window {
    /// The conversation before its first; none: it begins with the first of all.
    pub(super) after: Option<ConversationKey>,
    /// When each of its runs had been looked at once; none: they have not been.
    pub(super) seen_at: Option<Instant>,
}

/// One look at every run of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    /// When it began.
    pub(super) began: Instant,
    /// When it ended.
    pub(super) ended: Instant,
    /// The last conversation of the window where others follow it; none: it ends with the last of all.
    pub(super) end: Option<ConversationKey>,
}

impl Window {
    /// The window after a look: the same until a look began so late that a run without news since the first one is abandoned.
    pub(super) fn after(self, look: Look, abandoned_after: Duration) -> Self {
        let Some(seen_at) = self.seen_at else {
            return Self {
                seen_at: Some(look.ended),
                ..self
            };
        };
        let is_whole = self.after.is_none() && look.end.is_none();
        if is_whole || look.began.saturating_duration_since(seen_at) < abandoned_after {
            return self;
        }
        Self {
            after: look.end,
            seen_at: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{ConversationId, TenantId};

    use super::*;

    const AFTER: Duration = Duration::from_secs(15);

    fn key(conversation: &str) -> ConversationKey {
        ConversationKey {
            tenant: TenantId::parse("acme").unwrap(),
            conversation: ConversationId::parse(conversation).unwrap(),
        }
    }

    /// Looks every five seconds at windows that end as listed, again from the beginning; the windows' beginnings.
    fn check(ends: &[Option<&str>], looks: usize, expected: &[Option<&str>]) {
        let start = Instant::now();
        let mut window = Window::default();
        let (mut place, mut afters) = (0, Vec::new());
        for number in 0..looks {
            let began = start + Duration::from_secs(5) * u32::try_from(number).unwrap();
            let ended = began + Duration::from_secs(1);
            let end = ends[place].map(key);
            afters.push(window.after.clone());
            let next = window.clone().after(Look { began, ended, end }, AFTER);
            if next.seen_at.is_none() {
                place = (place + 1) % ends.len();
            }
            window = next;
        }
        let expected: Vec<_> = expected.iter().map(|after| after.map(key)).collect();
        assert_eq!(afters, expected);
    }

    #[test]
    fn a_window_moves_once_its_runs_were_judged_and_comes_round() {
        check(&[None], 6, &[None; 6]);
        let b = Some("b");
        let first = [None, None, None, None, None];
        let second = [b, b, b, b, b];
        let all: Vec<_> = [first, second, first].concat();
        check(&[b, None], 15, &all);
    }
}
