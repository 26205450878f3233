//! The names and losses of a context that is being written.

use super::body::Body;
use crate::loss::{Became, Loss, Lost};
use crate::{Names, Rendered, Thoughts};

/// What is noted while a context is written.
#[derive(Debug)]
pub(super) struct Notes {
    pub(super) names: Names,
    pub(super) losses: Vec<Loss>,
    pub(super) thoughts: Thoughts,
}

impl Notes {
    pub(super) fn lose(&mut self, version: domain::Version, lost: Lost, became: Became) {
        self.losses.push(Loss {
            version,
            lost,
            became,
        });
    }

    #[expect(
        clippy::expect_used,
        reason = "texts, numbers and checked JSON always serialise into memory"
    )]
    pub(super) fn rendered(mut self, body: &Body<'_>) -> Rendered {
        self.losses.sort_by_key(|loss| loss.version);
        Rendered {
            body: serde_json::to_vec(body).expect("a body serialises"),
            names: self.names,
            losses: self.losses,
        }
    }
}
