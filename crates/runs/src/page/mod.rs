//! What a page shows: the fold of a conversation's events, then of the parts of its active run.
//!
//! Live and rebuilt agree by construction: what a run has finished goes through the same fold, as the very facts that its
//! end records. So a page of the events before and all parts of a run equals the page of the events after its end.

use std::collections::HashMap;

use domain::event::{
    Annotation, ErrorOccurred, Fact, Lifecycle, MessageAppended, RecordedEvent, Role, ToolReturned,
};
use domain::{CallId, EventId, RunId, RunOutcome, Segments};

use crate::approvals::Approvals;
use crate::ending;
use crate::fold::RunFold;
use crate::shown;
use crate::step::{OpenStep, Piece, WordsKind};
use crate::ui_message::{TextState, ToolPart, ToolState, UiMessage, UiPart, UiRole};

/// The messages of a page.
///
/// `events` are whole commits in order, from the conversation's first or from any user's message on; results of calls
/// before them are left out. `live` is the run under way; one whose end is among the events adds nothing. Everything that
/// the assistant and its tools do up to the next user's message is one message, also where a run failed before it said anything;
/// instructions and notes are not shown, nor is
/// what a rewind among the events passes over.
#[must_use]
pub fn page(
    events: &[RecordedEvent],
    live: Option<&RunFold>,
    approvals: &Approvals,
) -> Vec<UiMessage> {
    let mut assembly = Assembly {
        approvals,
        messages: Vec::new(),
        calls: HashMap::new(),
        step_due: true,
        last_opener: None,
        error: None,
    };
    let history = Segments::default().without_rewound(events.iter().rev());
    for commit in events.chunk_by(|event, next| event.commit == next.commit) {
        let run = run_finished_by(commit);
        let shown = |event: &&RecordedEvent| history.contains(event.version);
        for event in commit.iter().filter(shown) {
            let origin = Origin {
                event: Some(event.event.id),
                run,
            };
            assembly.add(&event.event.fact, origin);
        }
    }
    if let Some(fold) = live
        && !events.iter().any(|event| ends(event, fold.started().run))
    {
        assembly.add_live(fold);
    }
    assembly.messages
}

/// The assistant's message that a run goes on with, if the last message is the assistant's: ask before the run starts.
#[must_use]
pub fn continued(messages: &[UiMessage]) -> Option<&UiMessage> {
    messages
        .last()
        .filter(|last| last.role == UiRole::Assistant)
}

/// The run whose end the commit records: what stands before it in the commit is what it came to.
fn run_finished_by(commit: &[RecordedEvent]) -> Option<RunId> {
    match commit.last().map(|event| &event.event.fact) {
        Some(Fact::Lifecycle(Lifecycle::RunFinished(finished))) => Some(finished.run),
        _ => None,
    }
}

fn ends(event: &RecordedEvent, run: RunId) -> bool {
    matches!(&event.event.fact, Fact::Lifecycle(Lifecycle::RunFinished(finished)) if finished.run == run)
}

/// Where a fact comes from.
#[derive(Clone, Copy)]
struct Origin {
    event: Option<EventId>,
    run: Option<RunId>,
}

struct Assembly<'a> {
    approvals: &'a Approvals,
    messages: Vec<UiMessage>,
    /// Where calls without a result stand: message and part.
    calls: HashMap<CallId, (usize, usize)>,
    /// Whether what the assistant says next begins a step.
    step_due: bool,
    /// The run that opened a message last: no two messages have one id.
    last_opener: Option<RunId>,
    /// What the run that ends next failed with.
    error: Option<ErrorOccurred>,
}

impl Assembly<'_> {
    fn add(&mut self, fact: &Fact, origin: Origin) {
        match fact {
            Fact::MessageAppended(message) => self.add_message(message, origin),
            Fact::ToolCalled(call) => {
                let part = ToolPart {
                    tool_name: call.tool_name.clone(),
                    tool_call_id: call.call_id.clone(),
                    state: shown::call(call, self.approvals),
                };
                let place = self.show(UiPart::Tool(part), origin);
                self.calls.insert(call.call_id.clone(), place);
            }
            Fact::ToolReturned(result) => self.answer(result),
            Fact::Annotation(Annotation::ErrorOccurred(error)) => {
                self.error = origin.run.map(|_| error.clone());
            }
            Fact::Lifecycle(Lifecycle::RunFinished(finished)) => {
                self.end_run(finished.outcome, origin)
            }
            Fact::Annotation(_) | Fact::Lifecycle(_) => {}
        }
    }

    fn add_message(&mut self, message: &MessageAppended, origin: Origin) {
        match message.role {
            Role::User => {
                let event_only = Origin {
                    run: None,
                    ..origin
                };
                self.open(UiRole::User, event_only);
                if let Some(opened) = self.messages.last_mut() {
                    opened.parts = message
                        .parts
                        .iter()
                        .filter_map(|part| shown::part(part, None))
                        .collect();
                }
            }
            Role::Assistant => {
                self.step_due = true;
                for part in &message.parts {
                    if let Some(part) = shown::part(part, Some(TextState::Done)) {
                        self.show(part, origin);
                    }
                }
            }
            Role::System | Role::Developer => {}
        }
    }

    fn add_live(&mut self, fold: &RunFold) {
        let origin = Origin {
            event: None,
            run: Some(fold.started().run),
        };
        let Some(step) = fold.open_step() else {
            for fact in &fold.facts() {
                self.add(fact, origin);
            }
            if let Some(end) = fold.end() {
                self.end_run(end.outcome, origin);
            }
            return;
        };
        for fact in fold.settled() {
            self.add(fact, origin);
        }
        self.add_open_step(step, origin);
    }

    /// Words first, then calls: the order in which the record keeps them.
    fn add_open_step(&mut self, step: &OpenStep, origin: Origin) {
        self.step_due = true;
        let last = step.pieces().len().saturating_sub(1);
        for (index, piece) in step.pieces().iter().enumerate() {
            let Piece::Words { kind, text } = piece else {
                continue;
            };
            let state = if index == last {
                TextState::Streaming
            } else {
                TextState::Done
            };
            let text = text.clone();
            let part = match kind {
                WordsKind::Text | WordsKind::Refusal => UiPart::Text {
                    text,
                    state: Some(state),
                },
                WordsKind::Thinking => UiPart::Reasoning { text, state },
            };
            self.show(part, origin);
        }
        for piece in step.pieces() {
            let Piece::Call(call) = piece else { continue };
            let part = ToolPart {
                tool_name: call.tool_name.clone(),
                tool_call_id: call.call_id.clone(),
                state: ToolState::InputStreaming {
                    raw_input: call.input.clone(),
                },
            };
            self.show(UiPart::Tool(part), origin);
        }
    }

    fn answer(&mut self, result: &ToolReturned) {
        self.step_due = true;
        let Some((message, part)) = self.calls.remove(&result.call_id) else {
            return;
        };
        let message = self.messages.get_mut(message);
        if let Some(UiPart::Tool(tool)) = message.and_then(|message| message.parts.get_mut(part))
            && let Some(input) = tool.state.input().cloned()
        {
            tool.state = shown::answered(input, result);
        }
    }

    /// A run that ended before it said anything is a message without parts, unless it completed.
    fn end_run(&mut self, outcome: RunOutcome, origin: Origin) {
        self.step_due = true;
        let error = self.error.take();
        if outcome != RunOutcome::Completed && continued(&self.messages).is_none() {
            self.open(UiRole::Assistant, origin);
        }
        if let Some(last) = self.messages.last_mut()
            && last.role == UiRole::Assistant
        {
            last.metadata = Some(ending::metadata(outcome, error.as_ref()));
        }
    }

    /// Adds a part to the assistant's message; where it stands.
    fn show(&mut self, part: UiPart, origin: Origin) -> (usize, usize) {
        if continued(&self.messages).is_none() {
            self.open(UiRole::Assistant, origin);
            self.step_due = true;
        }
        let message = self.messages.len().saturating_sub(1);
        let Some(open) = self.messages.last_mut() else {
            return (0, 0);
        };
        if self.step_due {
            open.parts.push(UiPart::StepStart);
            self.step_due = false;
        }
        open.parts.push(part);
        (message, open.parts.len().saturating_sub(1))
    }

    fn open(&mut self, role: UiRole, origin: Origin) {
        let run = origin.run.filter(|run| self.last_opener != Some(*run));
        let id = match (run, origin.event) {
            (Some(run), _) => run.to_string(),
            (None, Some(event)) => event.to_string(),
            (None, None) => origin.run.map(|run| run.to_string()).unwrap_or_default(),
        };
        self.last_opener = run.or(self.last_opener);
        self.messages.push(UiMessage {
            id,
            role,
            metadata: None,
            parts: Vec::new(),
        });
    }
}

#[cfg(test)]
mod tests;
