//! Assembles the calls of a reply from their pieces.

use domain::bounds::EVENTS_PER_COMMIT_MAX;

use crate::reply::{Delta, ParseError};
use crate::values;

/// Maximum number of calls of one reply: they and the message are one commit.
pub(crate) const CALLS_MAX: usize = EVENTS_PER_COMMIT_MAX - 1;

/// A piece of a call. Empty texts mean that the piece does not contain the field.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CallPiece<'a> {
    /// The provider's number of the call, if it numbers calls.
    pub(crate) number: Option<usize>,
    /// The id of the call.
    pub(crate) id: &'a str,
    /// The tool.
    pub(crate) name: &'a str,
    /// More text of its input.
    pub(crate) input: &'a str,
}

/// A parsed call of a message. Empty texts mean that the message does not contain the field.
#[derive(Debug, Default)]
pub(crate) struct IncomingCall<'a> {
    /// As [`CallPiece::number`].
    pub(crate) number: Option<usize>,
    /// As [`CallPiece::id`].
    pub(crate) id: &'a str,
    /// As [`CallPiece::name`].
    pub(crate) name: &'a str,
    /// The input, as text.
    pub(crate) input: String,
}

impl IncomingCall<'_> {
    /// The call as a piece of a reply.
    pub(crate) fn piece(&self) -> CallPiece<'_> {
        CallPiece { number: self.number, id: self.id, name: self.name, input: &self.input }
    }
}

/// A complete call.
#[derive(Debug)]
pub(crate) struct FinishedCall {
    /// The id from the provider, or a generated one.
    pub(crate) id: String,
    /// The tool; may be empty.
    pub(crate) name: String,
    /// The input, as text.
    pub(crate) input: String,
}

/// The calls of a reply, in the order of their starts.
#[derive(Debug, Default)]
pub(crate) struct CallDrafts(Vec<CallDraft>);

#[derive(Debug, Default)]
struct CallDraft {
    number: Option<usize>,
    id: CallDraftId,
    name: String,
    input: String,
    is_reported: bool,
}

/// The id of a call. A generated id is final, because a delta contains it.
#[derive(Debug, Default)]
enum CallDraftId {
    #[default]
    Unknown,
    Given(String),
    Made(String),
}

impl CallDraft {
    /// The id; generated from the seed of the reply and the number of the call if the provider sent none.
    fn id(&mut self, seed: &str, index: usize) -> &str {
        if matches!(self.id, CallDraftId::Unknown) {
            self.id = CallDraftId::Made(values::generated_call_id(seed, index));
        }
        match &self.id {
            CallDraftId::Unknown => "",
            CallDraftId::Given(id) | CallDraftId::Made(id) => id,
        }
    }

    /// Whether a piece with this id may belong to the call.
    fn may_have(&self, id: &str) -> bool {
        match &self.id {
            CallDraftId::Given(given) => id.is_empty() || id == given,
            CallDraftId::Unknown | CallDraftId::Made(_) => true,
        }
    }
}

impl CallDrafts {
    /// The number of calls.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Starts or continues a call. The delta of its start follows when the tool is known.
    pub(crate) fn add(&mut self, piece: CallPiece<'_>, seed: &str, deltas: &mut Vec<Delta>) -> Result<(), ParseError> {
        let index = self.find_or_insert(piece)?;
        let Some(call) = self.0.get_mut(index) else {
            return Ok(());
        };
        if call.name.is_empty() {
            piece.name.clone_into(&mut call.name);
        }
        if matches!(call.id, CallDraftId::Unknown) && !piece.id.is_empty() {
            call.id = CallDraftId::Given(piece.id.to_owned());
        }
        call.input.push_str(piece.input);
        let fragment = if call.is_reported {
            piece.input
        } else if call.name.is_empty() {
            ""
        } else {
            call.is_reported = true;
            deltas.push(Delta::CallBegan {
                index,
                call_id: call.id(seed, index).to_owned(),
                tool_name: call.name.clone(),
            });
            &call.input
        };
        if !fragment.is_empty() {
            let fragment = fragment.to_owned();
            deltas.push(Delta::CallInput { index, fragment });
        }
        Ok(())
    }

    /// The index of the piece's call. Some servers number every call 0, or do not number calls: an id that differs from that
    /// of the call with this number starts another call.
    fn find_or_insert(&mut self, piece: CallPiece<'_>) -> Result<usize, ParseError> {
        let known = self
            .0
            .iter()
            .rposition(|call| piece.number.is_none() || call.number.is_none() || call.number == piece.number);
        if let Some(index) = known
            && let Some(call) = self.0.get(index)
            && call.may_have(piece.id)
        {
            return Ok(index);
        }
        if self.0.len() >= CALLS_MAX {
            return Err(ParseError::Unusable {
                field: "tool_calls".into(),
                reason: format!("has more than {CALLS_MAX} calls"),
            });
        }
        self.0.push(CallDraft { number: piece.number, ..CallDraft::default() });
        Ok(self.0.len() - 1)
    }

    /// The calls, in order.
    pub(crate) fn finished(self, seed: &str) -> impl Iterator<Item = FinishedCall> {
        let calls = self.0.into_iter().enumerate();
        calls.map(move |(index, mut call)| FinishedCall {
            id: call.id(seed, index).to_owned(),
            name: call.name,
            input: call.input,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece<'a>(number: Option<usize>, id: &'a str, name: &'a str, input: &'a str) -> CallPiece<'a> {
        CallPiece { number, id, name, input }
    }

    #[test]
    fn pieces_find_their_call() {
        let numbered = [
            piece(Some(0), "a", "f", ""),
            piece(Some(1), "b", "g", "[1"),
            piece(Some(0), "", "", "{}"),
            piece(Some(1), "b", "g", "]"),
        ];
        check(&numbered, "a f {}; b g [1]");
        let all_zero = [piece(Some(0), "a", "f", "1"), piece(Some(0), "b", "f", "2")];
        check(&all_zero, "a f 1; b f 2");
        let unnumbered = [piece(None, "a", "f", "["), piece(None, "", "", "1]"), piece(None, "b", "f", "2")];
        check(&unnumbered, "a f [1]; b f 2");
        check(
            &[piece(Some(0), "", "", "1"), piece(Some(1), "", "g", "2")],
            "call_e3b0c44298fc1c149afb_0  1; call_e3b0c44298fc1c149afb_1 g 2",
        );
    }

    fn check(pieces: &[CallPiece<'_>], expected: &str) {
        let mut calls = CallDrafts::default();
        for piece in pieces {
            calls.add(*piece, "", &mut Vec::new()).unwrap();
        }
        let describe = |call: FinishedCall| format!("{} {} {}", call.id, call.name, call.input);
        let calls: Vec<String> = calls.finished("").map(describe).collect();
        assert_eq!(calls.join("; "), expected);
    }

    #[test]
    fn the_start_of_a_call_is_reported_when_its_tool_is_known() {
        let (mut calls, mut deltas) = (CallDrafts::default(), Vec::new());
        for piece in [piece(Some(0), "a", "", "{"), piece(Some(0), "", "f", ""), piece(Some(0), "", "", "}")] {
            calls.add(piece, "", &mut deltas).unwrap();
        }
        let input = |fragment: &str| Delta::CallInput { index: 0, fragment: fragment.to_owned() };
        let began = Delta::CallBegan { index: 0, call_id: "a".to_owned(), tool_name: "f".to_owned() };
        assert_eq!(deltas, [began, input("{"), input("}")]);
    }

    #[test]
    fn calls_at_their_bound_and_one_past() {
        let mut calls = CallDrafts::default();
        let mut add = |number| calls.add(piece(Some(number), "", "f", ""), "", &mut Vec::new());
        assert!((0..CALLS_MAX).all(|number| add(number).is_ok()));
        assert!(add(CALLS_MAX).is_err());
    }
}
