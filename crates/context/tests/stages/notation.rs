//! Histories and selections as words.
//!
//! A history is words, each an event with the next version: `u` a user's message, `s` the system's, `a` the assistant's,
//! `c1` a call with id 1, `r1` its result, `n` a note, `k` the conversation's beginning. A selection is written as its
//! units: `u1` is the user's message at version 1; `a2[3>5 4>?]` the assistant's at 2 with the calls 3, answered at 5,
//! and 4, which waits; `-3[3>5]` a turn without a message; `..` before them, that older messages were left out.

use std::convert::Infallible;

use context::{CONTEXT_KINDS, Call, Extent, Reach, Selected, Selection, Unit, select};
use domain::event::{
    ConversationCreated, MessageAppended, Role, SystemNoted, ToolCalled, ToolOutcome, ToolOutput, ToolReturned,
};
use domain::{
    AgentId, CallId, ClientContext, CommitId, Event, EventId, EventTokens, Fact, JsonText, Owner, RecordedEvent,
    SessionId, Timestamp, ToolName, Version,
};
use uuid::Uuid;

pub(crate) fn whole(events: &[RecordedEvent], messages_max: usize) -> Selection {
    reaching(Reach::Beginning, events, messages_max, events.len())
}

/// The selection from only the `newest` events.
pub(crate) fn window(events: &[RecordedEvent], messages_max: usize, newest: usize) -> Selection {
    let reach = if newest < events.len() { Reach::Window } else { Reach::Beginning };
    reaching(reach, events, messages_max, newest)
}

pub(crate) fn reaching(reach: Reach, events: &[RecordedEvent], messages_max: usize, newest: usize) -> Selection {
    let newest_first = events.iter().rev().take(newest).cloned().map(Ok::<_, Infallible>);
    let Ok(selection) = select(newest_first, Extent::messages(messages_max), reach);
    selection
}

/// The selection of at most so many messages, with a summary up to a version.
pub(crate) fn after_summary(
    events: &[RecordedEvent],
    (messages_max, after): (usize, Version),
    reach: Reach,
) -> Selected {
    let extent = Extent { after, ..Extent::messages(messages_max) };
    let newest_first = events.iter().rev().cloned().map(Ok::<_, Infallible>);
    let Ok(Selection::Selected(selected)) = select(newest_first, extent, reach) else {
        panic!("what is given is enough");
    };
    selected
}

pub(crate) fn written(selected: &Selected) -> String {
    let mut words = Vec::new();
    if selected.truncated {
        words.push("..".to_owned());
    }
    words.extend(selected.units.iter().map(written_unit));
    words.join(" ")
}

fn written_unit(unit: &Unit) -> String {
    let speaker = match (&unit.message, unit.role()) {
        (None, _) => "-",
        (_, Role::User) => "u",
        (_, Role::Assistant) => "a",
        (_, Role::System | Role::Developer) => "s",
    };
    let calls: Vec<String> = unit.calls.iter().map(written_call).collect();
    let calls = if calls.is_empty() { String::new() } else { format!("[{}]", calls.join(" ")) };
    format!("{speaker}{}{calls}", unit.version)
}

fn written_call(call: &Call) -> String {
    let result = call.result.as_ref().map(|result| result.version.to_string());
    format!("{}>{}", call.version, result.as_deref().unwrap_or("?"))
}

pub(crate) fn history(words: &str) -> Vec<RecordedEvent> {
    recorded(words.split_whitespace().map(fact))
}

pub(crate) fn recorded(facts: impl Iterator<Item = Fact>) -> Vec<RecordedEvent> {
    let event = |(index, fact): (usize, Fact)| RecordedEvent {
        version: Version::ZERO.plus(index + 1),
        commit: CommitId(Uuid::nil()),
        recorded_at: Timestamp(0),
        event: Event {
            id: EventId(Uuid::nil()),
            occurred_at: None,
            metadata: None,
            tokens: EventTokens::default(),
            fact,
        },
    };
    facts.enumerate().map(event).collect()
}

/// The same events with the tokens that `own` gives to each by its index; notes and the like weigh nothing.
pub(crate) fn weighed(events: Vec<RecordedEvent>, own: impl Fn(usize) -> u32) -> Vec<RecordedEvent> {
    let mut through = 0;
    let weigh = |(index, mut event): (usize, RecordedEvent)| {
        let is_read = CONTEXT_KINDS.contains(&event.event.fact.kind());
        let own = if is_read { own(index) } else { 0 };
        through += u64::from(own);
        event.event.tokens = EventTokens { own, through };
        event
    };
    events.into_iter().enumerate().map(weigh).collect()
}

pub(crate) fn fact(word: &str) -> Fact {
    match word.split_at(1) {
        ("u", _) => message(Role::User),
        ("a", _) => message(Role::Assistant),
        ("s", _) => message(Role::System),
        ("c", id) => Fact::ToolCalled(ToolCalled {
            call_id: CallId::parse(id).unwrap(),
            tool_name: ToolName::parse("search").unwrap(),
            input: JsonText::parse("{}").unwrap(),
            model: None,
            provider: None,
            provider_response_id: None,
            signature: None,
        }),
        ("r", id) => Fact::ToolReturned(ToolReturned {
            call_id: CallId::parse(id).unwrap(),
            tool_name: Some(ToolName::parse("search").unwrap()),
            output: ToolOutput::Json(JsonText::parse("1").unwrap()),
            outcome: ToolOutcome::Succeeded,
        }),
        ("n", _) => Fact::from(SystemNoted { topic: None, text: String::new() }),
        ("k", _) => Fact::from(ConversationCreated {
            agent: AgentId::parse("a").unwrap(),
            owner: Owner::Session(SessionId::parse("s").unwrap()),
            title: None,
            metadata: None,
            client_context: ClientContext::default(),
            provider_conversation_id: None,
            forked_from: None,
        }),
        other => panic!("no such word: {other:?}"),
    }
}

fn message(role: Role) -> Fact {
    Fact::MessageAppended(MessageAppended::new(role, Vec::new()))
}
