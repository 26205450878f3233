//! The names and losses of a rendered context.

use super::body::Body;
use crate::loss::{Loss, LostContent, Replacement};
use crate::{Names, Rendered, Thoughts};

/// The names and losses, and the option for thoughts.
#[derive(Debug)]
pub(super) struct Notes {
    pub(super) names: Names,
    pub(super) losses: Vec<Loss>,
    pub(super) thoughts: Thoughts,
}

impl Notes {
    pub(super) fn lose(
        &mut self,
        version: domain::Version,
        lost: LostContent,
        replacement: Replacement,
    ) {
        self.losses.push(Loss {
            version,
            lost,
            replacement,
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
