//! A request while it is rendered.

use std::collections::BTreeSet;

use context::Transcript;
use domain::Version;

use crate::loss::LostContent;
use crate::options::{RenderOptions, Thoughts};
use crate::outline::Section;
use crate::rendered::Notes;

use super::body::Item;
use super::own_item::{Link, Verbatim, answered_links};

/// The rendered items, and the state that later items depend on.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) items: Vec<Item<'a>>,
    pub(super) notes: Notes,
    pub(super) options: &'a RenderOptions,
    /// The links of items with an answer in the transcript.
    answered: BTreeSet<Link>,
    /// The links of rendered items without a rendered answer.
    unanswered: BTreeSet<Link>,
    /// The ids of the rendered items (R6).
    ids: BTreeSet<String>,
    /// Reasoning without its item, and its turn: the item may be in the next turn (R3).
    thought: Option<(Verbatim<'a>, Version)>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(transcript: &Transcript, options: &'a RenderOptions) -> Self {
        Self {
            items: Vec::new(),
            notes: Notes::default(),
            options,
            answered: answered_links(transcript),
            unanswered: BTreeSet::new(),
            ids: BTreeSet::new(),
            thought: None,
        }
    }

    /// Records the end of a section.
    pub(super) fn end_section(&mut self, section: Section) {
        self.notes.end_section(section, self.items.len(), 0);
    }

    /// Whether an item of the model other than reasoning may be sent: it has an answer, and was not sent before.
    pub(super) fn can_send(&self, item: &Verbatim<'_>) -> bool {
        let answered = item.link.as_ref();
        answered.is_none_or(|link| self.answered.contains(link)) && self.is_new(item)
    }

    /// Renders an item for which [`Draft::can_send`] is true.
    pub(super) fn send(&mut self, item: Verbatim<'a>) {
        self.unanswered.extend(item.link);
        self.ids.extend(item.id);
        self.items.push(Item::Verbatim(item.raw));
    }

    /// Renders the client's answer to a rendered item.
    pub(super) fn answer(&mut self, answer: Verbatim<'a>, version: Version) {
        let due = answer.link.as_ref().is_some_and(|link| self.unanswered.contains(link));
        if !due || !self.is_new(&answer) {
            return self.notes.omit(version, LostContent::ProviderItem);
        }
        if let Some(link) = &answer.link {
            self.unanswered.remove(link);
        }
        self.ids.extend(answer.id);
        self.items.push(Item::Verbatim(answer.raw));
    }

    /// Keeps reasoning for the item after it. Reasoning that waits already has no item.
    pub(super) fn keep_reasoning(&mut self, reasoning: Verbatim<'a>, version: Version) {
        self.drop_reasoning();
        self.thought = Some((reasoning, version));
    }

    /// Takes the reasoning of the next item.
    pub(super) fn take_reasoning(&mut self) -> Option<(Verbatim<'a>, Version)> {
        self.thought.take()
    }

    /// Drops reasoning without its item.
    pub(super) fn drop_reasoning(&mut self) {
        if let Some((_, version)) = self.thought.take() {
            self.notes.omit(version, LostContent::Thinking);
        }
    }

    /// Renders reasoning whose item follows directly (R3). Returns whether it was rendered.
    pub(super) fn push_reasoning(&mut self, (reasoning, version): (Verbatim<'a>, Version)) -> bool {
        let is_enabled = self.options.thoughts == Thoughts::Replay;
        let can_send = is_enabled && reasoning.signed && self.is_new(&reasoning);
        if can_send {
            self.send(reasoning);
        } else {
            self.notes.omit(version, LostContent::Thinking);
        }
        can_send
    }

    fn is_new(&self, item: &Verbatim<'_>) -> bool {
        item.id.as_ref().is_none_or(|id| !self.ids.contains(id))
    }
}
