//! A rendered context, and its names and losses while it is rendered.

use context::{AnsweredCall, Turn};
use domain::Version;
use serde::Serialize;

use crate::loss::{Loss, LostContent, Replacement};
use crate::names::Names;
use crate::outline::{Layout, Outline, Section, SectionEnd};

/// A context in the format of a provider. Equal transcripts and options always give equal bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// A JSON object: the fields of a request body that contain the context. Stable fields come first, the list of messages
    /// last.
    pub body: Vec<u8>,
    /// The replaced call ids and tool names.
    pub names: Names,
    /// The content that the format could not represent, by version.
    pub losses: Vec<Loss>,
    /// Where the sections of the transcript are in the body.
    pub outline: Outline,
}

/// The names and losses of a transcript while it is rendered.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The ids and names, in the order of the turns.
    pub(crate) names: Names,
    /// The losses, in the order of rendering.
    pub(crate) losses: Vec<Loss>,
    /// The ends of the sections, in the order of rendering.
    ends: Vec<SectionEnd>,
}

impl Notes {
    /// Records the end of a section: the number of messages, and of the parts of the last one in formats that merge messages.
    pub(crate) fn end_section(&mut self, section: Section, messages: usize, parts: usize) {
        self.ends.push(SectionEnd { section, messages, parts });
    }

    /// Records a loss.
    pub(crate) fn lose(&mut self, version: Version, lost: LostContent, replacement: Replacement) {
        self.losses.push(Loss { version, lost, replacement });
    }

    /// Records the loss of content that nothing replaces.
    pub(crate) fn omit(&mut self, version: Version, lost: LostContent) {
        self.lose(version, lost, Replacement::Nothing);
    }

    /// Records the loss of content that a text replaces.
    pub(crate) fn turn_into_text(&mut self, version: Version, lost: LostContent) {
        self.lose(version, lost, Replacement::Text);
    }

    /// Records the loss of content that is in another form, or at another position.
    pub(crate) fn change_form(&mut self, version: Version, lost: LostContent) {
        self.lose(version, lost, Replacement::OtherForm);
    }

    /// Records the loss of a turn's author, if it has one.
    pub(crate) fn omit_author(&mut self, turn: &Turn) {
        if turn.author.is_some() {
            self.omit(turn.version, LostContent::Author);
        }
    }

    /// Records the loss of a call's signature, if it has one.
    pub(crate) fn omit_signature(&mut self, call: &AnsweredCall) {
        if call.called.signature.is_some() {
            self.omit(call.version, LostContent::CallSignature);
        }
    }

    /// Sorts the losses by version. Losses of one version keep their order.
    pub(crate) fn sort_losses(&mut self) {
        self.losses.sort_by_key(|loss| loss.version);
    }

    /// The rendered context.
    #[expect(clippy::expect_used, reason = "writing to memory cannot fail, and every key of a body is a string")]
    pub(crate) fn rendered(self, body: &impl Serialize, layout: &'static Layout) -> Rendered {
        Rendered {
            body: serde_json::to_vec(body).expect("a body is plain structs, lists and texts"),
            names: self.names,
            losses: self.losses,
            outline: Outline { layout, ends: self.ends },
        }
    }
}
