//! A request while it is written.

use std::collections::BTreeSet;

use context::Transcript;
use domain::Version;

use crate::loss::{Became, Loss, Lost};
use crate::names::Names;
use crate::options::{RenderOptions, Thoughts};

use super::body::Item;
use super::own_item::{Link, Verbatim, answered_links};

/// What is written so far, and what later items must know of it.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) items: Vec<Item<'a>>,
    pub(super) names: Names,
    pub(super) losses: Vec<Loss>,
    options: &'a RenderOptions,
    /// The links of items whose answer is in the transcript.
    answered: BTreeSet<Link>,
    /// The links of items that were sent and whose answer was not yet.
    waiting: BTreeSet<Link>,
    /// The ids of the items sent (R6).
    ids: BTreeSet<String>,
}

impl<'a> Draft<'a> {
    pub(super) fn of(transcript: &Transcript, options: &'a RenderOptions) -> Self {
        Self {
            items: Vec::new(),
            names: Names::default(),
            losses: Vec::new(),
            options,
            answered: answered_links(transcript),
            waiting: BTreeSet::new(),
            ids: BTreeSet::new(),
        }
    }

    pub(super) fn options(&self) -> &'a RenderOptions {
        self.options
    }

    pub(super) fn lose(&mut self, version: Version, lost: Lost, became: Became) {
        self.losses.push(Loss {
            version,
            lost,
            became,
        });
    }

    /// Whether an item of the model, not its reasoning, may go: its answer comes, and it was not sent before.
    pub(super) fn takes(&self, item: &Verbatim<'_>) -> bool {
        let answered = item.link.as_ref();
        answered.is_none_or(|link| self.answered.contains(link)) && self.is_new(item)
    }

    /// Writes an item that [`Draft::takes`] approved, and notes that its answer is due.
    pub(super) fn send(&mut self, item: Verbatim<'a>) {
        self.waiting.extend(item.link);
        self.ids.extend(item.id);
        self.items.push(Item::Verbatim(item.raw));
    }

    /// Writes the client's answer to an item that was sent.
    pub(super) fn answer(&mut self, answer: Verbatim<'a>, version: Version) {
        let due = answer.link.as_ref();
        let due = due.is_some_and(|link| self.waiting.contains(link));
        if !due || !self.is_new(&answer) {
            return self.lose(version, Lost::ProviderItem, Became::Nothing);
        }
        if let Some(link) = &answer.link {
            self.waiting.remove(link);
        }
        self.ids.extend(answer.id);
        self.items.push(Item::Verbatim(answer.raw));
    }

    /// Writes reasoning whose item follows at once (R3), if it may go; tells whether it went.
    pub(super) fn think(&mut self, reasoning: Verbatim<'a>, version: Version) -> bool {
        let asked = self.options.thoughts == Thoughts::Replay;
        let goes = asked && reasoning.signed && self.is_new(&reasoning);
        if goes {
            self.send(reasoning);
        } else {
            self.lose(version, Lost::Thinking, Became::Nothing);
        }
        goes
    }

    fn is_new(&self, item: &Verbatim<'_>) -> bool {
        item.id.as_ref().is_none_or(|id| !self.ids.contains(id))
    }
}
