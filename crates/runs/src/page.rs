//! Folds the events of a conversation, then the parts of its active run, into the messages of a page.
//!
//! The finished facts of a run go through the same fold as recorded events. So the page of the events before a run and all
//! its parts equals the page of the events after its end.

use std::collections::HashMap;

use domain::event::{Annotation, ErrorOccurred, Fact, Lifecycle, MessageAppended, RecordedEvent, Role, ToolReturned};
use domain::{CallId, EventId, RunId, RunOutcome, Segments};

use crate::approvals::Approvals;
use crate::fold::RunFold;
use crate::run_end;
use crate::step::{DeltaKind, OpenStep, Piece};
use crate::ui_message::{TextState, ToolPart, ToolState, UiMessage, UiPart, UiRole};
use crate::ui_part;

/// The messages of a page.
///
/// `events` are whole commits in order, from the first event or from any user message; results of calls before them are
/// omitted. `live` is the active run; it is ignored if `events` contain its end. Everything from the assistant and its tools
/// up to the next user message is one message, also of a run without output: that message has no parts. Instructions, notes and events that a
/// rewind hides are omitted.
#[must_use]
pub fn page(events: &[RecordedEvent], live: Option<&RunFold>, approvals: &Approvals) -> Vec<UiMessage> {
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
            let origin = Origin { event: Some(event.event.id), run };
            assembly.add(&event.event.fact, origin);
        }
    }
    if let Some(fold) = live {
        let run = fold.started().run;
        let ends = |event: &RecordedEvent| matches!(&event.event.fact, Fact::Lifecycle(Lifecycle::RunFinished(finished)) if finished.run == run);
        if !events.iter().any(ends) {
            assembly.add_live(fold);
        }
    }
    assembly.messages
}

/// The assistant message that the next run continues: the last message, if it is the assistant's.
#[must_use]
pub fn continued_message(messages: &[UiMessage]) -> Option<&UiMessage> {
    let last = messages.last();
    last.filter(|last| last.role == UiRole::Assistant)
}

/// The run whose end the commit records. The events before the end are the facts of the run.
fn run_finished_by(commit: &[RecordedEvent]) -> Option<RunId> {
    match commit.last().map(|event| &event.event.fact) {
        Some(Fact::Lifecycle(Lifecycle::RunFinished(finished))) => Some(finished.run),
        _ => None,
    }
}

#[derive(Clone, Copy)]
struct Origin {
    event: Option<EventId>,
    run: Option<RunId>,
}

struct Assembly<'a> {
    approvals: &'a Approvals,
    messages: Vec<UiMessage>,
    /// The calls without a result: indexes of message and part.
    calls: HashMap<CallId, (usize, usize)>,
    /// Whether the next part of the assistant starts a step.
    step_due: bool,
    /// The run that opened the last message. Only its first message has its id, so that ids are unique.
    last_opener: Option<RunId>,
    /// The error of the run that ends next.
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
                    state: ui_part::call(call, self.approvals),
                };
                let index = self.push_part(UiPart::Tool(part), origin);
                self.calls.insert(call.call_id.clone(), index);
            }
            Fact::ToolReturned(result) => self.add_result(result),
            Fact::Annotation(Annotation::ErrorOccurred(error)) => {
                self.error = origin.run.map(|_| error.clone());
            }
            Fact::Lifecycle(Lifecycle::RunFinished(finished)) => {
                self.end_run(finished.outcome, origin);
            }
            Fact::Annotation(_) | Fact::Lifecycle(_) => {}
        }
    }

    fn add_message(&mut self, message: &MessageAppended, origin: Origin) {
        match message.role {
            Role::User => {
                let event_only = Origin { run: None, ..origin };
                self.open(UiRole::User, event_only);
                if let Some(opened) = self.messages.last_mut() {
                    let parts = message.parts.iter().filter_map(|part| ui_part::part(part, None));
                    opened.parts = parts.collect();
                }
            }
            Role::Assistant => {
                self.step_due = true;
                for part in &message.parts {
                    if let Some(part) = ui_part::part(part, Some(TextState::Done)) {
                        self.push_part(part, origin);
                    }
                }
            }
            Role::System | Role::Developer => {}
        }
    }

    fn add_live(&mut self, fold: &RunFold) {
        let origin = Origin { event: None, run: Some(fold.started().run) };
        let Some(step) = fold.open_step() else {
            for fact in &fold.facts() {
                self.add(fact, origin);
            }
            if let Some(end) = fold.end() {
                self.end_run(end.outcome, origin);
            }
            return;
        };
        for fact in fold.finished_facts() {
            self.add(fact, origin);
        }
        self.add_open_step(step, origin);
    }

    /// Adds texts, then calls: the recorded order.
    fn add_open_step(&mut self, step: &OpenStep, origin: Origin) {
        self.step_due = true;
        let last = step.pieces().len().saturating_sub(1);
        for (index, piece) in step.pieces().iter().enumerate() {
            let Piece::Text { kind, text } = piece else {
                continue;
            };
            let state = if index == last { TextState::Streaming } else { TextState::Done };
            let text = text.clone();
            let part = match kind {
                DeltaKind::Text | DeltaKind::Refusal => UiPart::Text { text, state: Some(state) },
                DeltaKind::Thinking => UiPart::Reasoning { text, state },
            };
            self.push_part(part, origin);
        }
        for piece in step.pieces() {
            let Piece::Call(call) = piece else { continue };
            let part = ToolPart {
                tool_name: call.tool_name.clone(),
                tool_call_id: call.call_id.clone(),
                state: ToolState::InputStreaming { raw_input: call.input.clone() },
            };
            self.push_part(UiPart::Tool(part), origin);
        }
    }

    fn add_result(&mut self, result: &ToolReturned) {
        self.step_due = true;
        let Some((message, part)) = self.calls.remove(&result.call_id) else {
            return;
        };
        let message = self.messages.get_mut(message);
        if let Some(UiPart::Tool(tool)) = message.and_then(|message| message.parts.get_mut(part))
            && let Some(input) = tool.state.input().cloned()
        {
            tool.state = ui_part::result_state(input, result);
        }
    }

    /// Sets the metadata of the message. A run without output gets a message without parts, so that pages show its outcome.
    fn end_run(&mut self, outcome: RunOutcome, origin: Origin) {
        self.step_due = true;
        let error = self.error.take();
        if continued_message(&self.messages).is_none() {
            self.open(UiRole::Assistant, origin);
        }
        if let Some(last) = self.messages.last_mut()
            && last.role == UiRole::Assistant
        {
            last.metadata = Some(run_end::metadata(outcome, error.as_ref()));
        }
    }

    /// Adds a part to the assistant message. Returns the indexes of message and part.
    fn push_part(&mut self, part: UiPart, origin: Origin) -> (usize, usize) {
        if continued_message(&self.messages).is_none() {
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
        self.messages.push(UiMessage { id, role, metadata: None, parts: Vec::new() });
    }
}

#[cfg(test)]
mod tests;
