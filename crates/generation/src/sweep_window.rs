//! The window of active runs that the sweeper checks, by key. The window moves after every run in it was judged.
//!
//! The window bounds the memory by [`WINDOW_RUNS_MAX`]. Every run is checked: with more runs than that, an abandoned run is
//! found later, by one abandonment delay per window before it. Pure.

use std::time::Duration;

use domain::ConversationKey;
use tokio::time::Instant;

/// Maximum number of runs in a window: their observations are in memory.
pub(super) const WINDOW_RUNS_MAX: usize = 20_000;

/// A window of the active runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Window {
    /// The conversation before the window; `None`: the window begins with the first conversation.
    pub(super) after: Option<ConversationKey>,
    /// The end of the first scan; `None`: there was none.
    pub(super) seen_at: Option<Instant>,
}

/// One check of every run of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scan {
    pub(super) began: Instant,
    pub(super) ended: Instant,
    /// The last conversation of the window; `None`: the window ends with the last of all conversations.
    pub(super) end: Option<ConversationKey>,
}

impl Window {
    /// The window after a scan. It stays the same until `abandoned_after` has passed between its first scan and this one.
    pub(super) fn after(self, scan: Scan, abandoned_after: Duration) -> Self {
        let Some(seen_at) = self.seen_at else {
            return Self { seen_at: Some(scan.ended), ..self };
        };
        let holds_all = self.after.is_none() && scan.end.is_none();
        if holds_all || scan.began.saturating_duration_since(seen_at) < abandoned_after {
            return self;
        }
        Self { after: scan.end, seen_at: None }
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

    /// Scans every five seconds; the windows end as listed, in a cycle. Compares where each window begins.
    fn check(ends: &[Option<&str>], scans: usize, expected: &[Option<&str>]) {
        let start = Instant::now();
        let mut window = Window::default();
        let (mut index, mut afters) = (0, Vec::new());
        for number in 0..scans {
            let began = start + Duration::from_secs(5) * u32::try_from(number).unwrap();
            let ended = began + Duration::from_secs(1);
            let end = ends[index].map(key);
            afters.push(window.after.clone());
            let next = window.clone().after(Scan { began, ended, end }, AFTER);
            if next.seen_at.is_none() {
                index = (index + 1) % ends.len();
            }
            window = next;
        }
        let expected: Vec<_> = expected.iter().map(|after| after.map(key)).collect();
        assert_eq!(afters, expected);
    }

    #[test]
    fn a_window_moves_after_its_runs_were_judged_and_starts_again() {
        check(&[None], 6, &[None; 6]);
        let b = Some("b");
        let first = [None, None, None, None, None];
        let second = [b, b, b, b, b];
        let all: Vec<_> = [first, second, first].concat();
        check(&[b, None], 15, &all);
    }
}
