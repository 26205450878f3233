//! What the callers of public API keys get of tool calls. Documents, in which back ends keep their state, are never shown. Facts are
//! reduced before they are folded, streamed or exported, so every answer agrees.

use std::collections::BTreeSet;

use domain::event::{MessageAppended, ToolCalled, ToolOutput, ToolReturned};
use domain::{Annotation, Fact, JsonText, Part, RecordedEvent, RunPart, RunPartKind, ToolName};

use crate::data_part::DATA_PROVIDER;
use crate::denial::denial_of;

/// What is shown of the calls of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolDetail {
    /// Everything.
    #[default]
    Full,
    /// Their names and states.
    Names,
    /// Nothing.
    Hidden,
}

/// What is shown of a conversation. By default everything; to the callers of public API keys, what the agent's settings allow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Disclosure {
    detail: ToolDetail,
    /// Whether documents are left out.
    hides_documents: bool,
    /// The tools whose calls are always shown with their input: the caller runs or approves them.
    answered: BTreeSet<ToolName>,
}

impl Disclosure {
    /// For the caller of a public API key: shows this detail, and no documents; `answered` are the tools whose calls the caller must
    /// run or may approve.
    #[must_use]
    pub fn new(detail: ToolDetail, answered: BTreeSet<ToolName>) -> Self {
        Self { detail, hides_documents: true, answered }
    }

    /// Whether everything is shown of what is not left out.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.detail == ToolDetail::Full
    }

    /// What is shown of an event; `None`: nothing.
    #[must_use]
    pub fn event(&self, mut recorded: RecordedEvent) -> Option<RecordedEvent> {
        recorded.event.fact = self.fact(recorded.event.fact)?;
        Some(recorded)
    }

    /// What is shown of a part of a run. It keeps its number.
    #[must_use]
    pub fn part(&self, part: RunPart) -> RunPart {
        if self.is_full() {
            return part;
        }
        let kind = match part.kind {
            RunPartKind::CallBegan { tool_name, .. } if self.is_hidden(&tool_name) => RunPartKind::KeptAlive,
            // The complete input follows with the step, if it is shown.
            RunPartKind::CallInput { .. } => RunPartKind::KeptAlive,
            RunPartKind::StepFinished(facts) => {
                let shown = facts.into_iter().filter_map(|fact| self.fact(fact));
                RunPartKind::StepFinished(shown.collect())
            }
            RunPartKind::ToolReturned(result) => {
                self.result(result).map_or(RunPartKind::KeptAlive, RunPartKind::ToolReturned)
            }
            kind @ (RunPartKind::CallBegan { .. }
            | RunPartKind::TextDelta(_)
            | RunPartKind::ThinkingDelta(_)
            | RunPartKind::RefusalDelta(_)
            | RunPartKind::KeptAlive
            | RunPartKind::RunEnded(_)) => kind,
        };
        RunPart { kind, ..part }
    }

    fn fact(&self, fact: Fact) -> Option<Fact> {
        if self.hides_documents && is_of_document(&fact) {
            return None;
        }
        if self.is_full() {
            return Some(fact);
        }
        match fact {
            Fact::MessageAppended(message) => Some(Fact::MessageAppended(without_items(message))),
            Fact::ToolCalled(call) => self.call(call).map(Fact::ToolCalled),
            Fact::ToolReturned(result) => self.result(result).map(Fact::ToolReturned),
            Fact::Annotation(_) | Fact::Lifecycle(_) => Some(fact),
        }
    }

    fn is_hidden(&self, tool: &ToolName) -> bool {
        self.detail == ToolDetail::Hidden && !self.answered.contains(tool)
    }

    fn call(&self, call: ToolCalled) -> Option<ToolCalled> {
        if self.answered.contains(&call.tool_name) {
            return Some(call);
        }
        let input = JsonText::recorded("{}".to_owned());
        let reduced = ToolCalled { input, signature: None, ..call };
        (self.detail != ToolDetail::Hidden).then_some(reduced)
    }

    /// A result without its output. A refusal has no output: it is what the caller, or an administrator, decided.
    fn result(&self, result: ToolReturned) -> Option<ToolReturned> {
        let tool = result.tool_name.as_ref();
        if tool.is_some_and(|tool| self.is_hidden(tool)) {
            return None;
        }
        if denial_of(&result).is_some() {
            return Some(result);
        }
        Some(ToolReturned { output: ToolOutput::Parts(Vec::new()), ..result })
    }
}

fn is_of_document(fact: &Fact) -> bool {
    matches!(fact, Fact::Annotation(Annotation::DocumentPut(_) | Annotation::DocumentDeleted(_)))
}

/// A message without the items of providers, which contain the calls that a provider runs itself.
fn without_items(mut message: MessageAppended) -> MessageAppended {
    let is_item =
        |part: &Part| matches!(part, Part::ProviderItem { provider, .. } if provider.as_str() != DATA_PROVIDER);
    message.parts.retain(|part| !is_item(part));
    message
}

#[cfg(test)]
mod tests {
    use domain::event::{DocumentPut, Role, ToolOutcome};
    use domain::{CallId, DocumentName, Label};

    use super::*;
    use crate::denial::{Denial, denial_result};

    const SECRET: &str = "secret";

    fn tool(name: &str) -> ToolName {
        ToolName::parse(name).unwrap()
    }

    fn disclosure(detail: ToolDetail) -> Disclosure {
        Disclosure::new(detail, BTreeSet::from([tool("answered")]))
    }

    fn call(name: &str) -> ToolCalled {
        let input = JsonText::parse(format!("{{\"a\":\"{SECRET}\"}}")).unwrap();
        ToolCalled {
            signature: Some(SECRET.to_owned()),
            ..ToolCalled::new(CallId::parse("c").unwrap(), tool(name), input)
        }
    }

    fn result(name: &str) -> ToolReturned {
        ToolReturned {
            call_id: CallId::parse("c").unwrap(),
            tool_name: Some(tool(name)),
            output: ToolOutput::Parts(vec![Part::Text(SECRET.to_owned())]),
            outcome: ToolOutcome::Succeeded,
        }
    }

    /// What is left of each fact: nothing, its name, or everything.
    fn shown(detail: ToolDetail, fact: Fact) -> &'static str {
        match disclosure(detail).fact(fact) {
            None => "nothing",
            Some(fact) if format!("{fact:?}").contains(SECRET) => "everything",
            Some(_) => "name",
        }
    }

    #[test]
    fn documents_are_only_shown_to_others_than_callers_of_public_keys() {
        let put = Fact::from(DocumentPut {
            name: DocumentName::parse(vec!["n".to_owned()], "k".to_owned()).unwrap(),
            value: JsonText::parse(format!("\"{SECRET}\"")).unwrap(),
            ttl_seconds: None,
        });
        let details = [ToolDetail::Full, ToolDetail::Names, ToolDetail::Hidden];
        let seen = details.map(|detail| shown(detail, put.clone()));
        assert_eq!(seen, ["nothing"; 3]);
        assert_eq!(Disclosure::default().fact(put.clone()), Some(put));
    }

    #[test]
    fn the_detail_decides_what_is_left() {
        let check = |fact: Fact, expected: [&str; 3]| {
            let details = [ToolDetail::Full, ToolDetail::Names, ToolDetail::Hidden];
            let seen = details.map(|detail| shown(detail, fact.clone()));
            assert_eq!(seen, expected, "{fact:?}");
        };
        check(Fact::ToolCalled(call("hook")), ["everything", "name", "nothing"]);
        check(Fact::ToolReturned(result("hook")), ["everything", "name", "nothing"]);
        check(Fact::ToolCalled(call("answered")), ["everything"; 3]);
        check(Fact::ToolReturned(result("answered")), ["everything", "name", "name"]);
        let denial = Denial { reason: Some(SECRET.to_owned()) };
        let denied =
            ToolReturned { tool_name: Some(tool("answered")), ..denial_result(CallId::parse("c").unwrap(), denial) };
        check(Fact::ToolReturned(denied), ["everything"; 3]);
        let item = |provider: &str| Part::ProviderItem {
            provider: Label::parse(provider).unwrap(),
            item: JsonText::parse(format!("\"{SECRET}\"")).unwrap(),
        };
        let message = |part| Fact::MessageAppended(MessageAppended::new(Role::Assistant, vec![part]));
        check(message(item("openai")), ["everything", "name", "name"]);
        check(message(item(DATA_PROVIDER)), ["everything"; 3]);
        check(message(Part::Text(SECRET.to_owned())), ["everything"; 3]);
    }

    #[test]
    fn parts_of_a_run_keep_their_numbers() {
        let check = |kind: RunPartKind, expected: [bool; 3]| {
            let details = [ToolDetail::Full, ToolDetail::Names, ToolDetail::Hidden];
            let seen = details.map(|detail| {
                let part = disclosure(detail).part(RunPart { number: 7, kind: kind.clone() });
                assert_eq!(part.number, 7);
                format!("{:?}", part.kind).contains(SECRET)
            });
            assert_eq!(seen, expected, "{kind:?}");
        };
        let began = |name: &str| RunPartKind::CallBegan {
            index: 0,
            call_id: CallId::parse("c").unwrap(),
            tool_name: tool(name),
        };
        check(began(SECRET), [true, true, false]);
        let input = RunPartKind::CallInput { index: 0, fragment: SECRET.to_owned() };
        check(input, [true, false, false]);
        let finished = RunPartKind::StepFinished(vec![Fact::ToolCalled(call("hook"))]);
        check(finished, [true, false, false]);
        check(RunPartKind::ToolReturned(result("hook")), [true, false, false]);
        check(RunPartKind::TextDelta(SECRET.to_owned()), [true; 3]);
    }
}
