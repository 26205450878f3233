//! Random contents: events of every kind, sizes around the compression limit, and values that are hard to store.

use domain::event::{
    ConversationCreated, ConversationUpdated, ErrorOccurred, HistorySummarised, MessageAppended, Role, SystemNoted,
    ToolCalled, ToolOutcome, ToolOutput, ToolReturned, Usage, UsageSource,
};
use domain::{
    AgentId, CallId, ClientContext, CommitId, EventId, Fact, FieldChange, JsonText, Label, Lifecycle, NewEvent, Owner,
    Part, SessionId, Timestamp, ToolName, UserId, Version,
};
use rand::rngs::StdRng;
use rand::{Rng as _, RngExt as _};
use tests::checker::Expectation;
use uuid::{Builder, Uuid};

/// Age of keys outside of the record's duplicate window, in milliseconds.
const OLD_KEY_AGE_MS: u64 = 20 * 60 * 1_000;

/// A key: mostly current ones, some without a time, some old ones.
pub(crate) fn key(rng: &mut StdRng) -> CommitId {
    let mut bytes = [0; 10];
    rng.fill_bytes(&mut bytes);
    let (seconds, nanos) = uuid::Timestamp::now(uuid::NoContext).to_unix();
    let now_ms = seconds * 1_000 + u64::from(nanos) / 1_000_000;
    CommitId(match rng.random_range(0..10) {
        0 => Builder::from_random_bytes(rng.random()).into_uuid(),
        1 => Builder::from_unix_timestamp_millis(now_ms - OLD_KEY_AGE_MS, &bytes).into_uuid(),
        _ => Builder::from_unix_timestamp_millis(now_ms, &bytes).into_uuid(),
    })
}

/// Some messages, notes and errors.
pub(crate) fn some_events(rng: &mut StdRng) -> Vec<NewEvent> {
    let count = rng.random_range(1..=4);
    (0..count).map(|_| some_event(rng)).collect()
}

/// A request for the given facts at any version.
pub(crate) fn request(facts: impl IntoIterator<Item = Fact>) -> Expectation {
    Expectation { events: facts.into_iter().map(plain).collect(), expected: None }
}

/// A request for an erasure that severs forks, as in its tombstone.
pub(crate) fn erasure() -> Expectation {
    request_of_events(vec![NewEvent {
        metadata: Some(json(r#"{"forks":"severed"}"#)),
        ..plain(Fact::Lifecycle(Lifecycle::ConversationErased))
    }])
}

/// A request for these events at any version.
pub(crate) fn request_of_events(events: Vec<NewEvent>) -> Expectation {
    Expectation { events, expected: None }
}

/// A creation.
pub(crate) fn creation(rng: &mut StdRng, agent: &str) -> Fact {
    let owner = match rng.random_range(0..2) {
        0 => Owner::User(UserId::parse(format!("user {}", rng.random_range(0..9))).unwrap()),
        _ => Owner::Session(SessionId::parse(format!("session {}", rng.random_range(0..9))).unwrap()),
    };
    let has_fields = rng.random_bool(0.5);
    Fact::from(ConversationCreated {
        agent: AgentId::parse(agent).unwrap(),
        owner,
        title: has_fields.then(|| "Früher Titel".to_owned()),
        metadata: has_fields.then(|| json(r#"{"b": 1.50, "a": 1e3}"#)),
        client_context: ClientContext { locale: has_fields.then(|| "de-AT".to_owned()), ..ClientContext::default() },
        provider_conversation_id: has_fields.then(|| label("thread-1")),
        forked_from: None,
    })
}

/// A change of some of the fields.
pub(crate) fn update(rng: &mut StdRng) -> Fact {
    let change = |rng: &mut StdRng| rng.random_range(0..3);
    Fact::from(ConversationUpdated {
        title: match change(rng) {
            0 => Some(FieldChange::Clear),
            _ => Some(FieldChange::Set(format!("Titel {}", rng.random_range(0..99)))),
        },
        metadata: match change(rng) {
            0 => None,
            1 => Some(FieldChange::Clear),
            _ => Some(FieldChange::Set(json(r#"{"z":[1, 2]}"#))),
        },
        provider_conversation_id: (change(rng) == 0).then(|| FieldChange::Set(label("thread-2"))),
        last_response_id: (change(rng) == 0).then_some(FieldChange::Clear),
    })
}

/// A call of a tool.
pub(crate) fn call(call: &str) -> Fact {
    Fact::ToolCalled(ToolCalled {
        call_id: CallId::parse(call).unwrap(),
        tool_name: ToolName::parse("search").unwrap(),
        input: json(r#"{ "query" : "x" }"#),
        model: Some(label("model-1")),
        provider: Some(label("openai")),
        provider_response_id: None,
        signature: Some("sig".to_owned()),
    })
}

/// A summary up to and including a version.
pub(crate) fn summary(rng: &mut StdRng, through: Version) -> Fact {
    Fact::from(HistorySummarised {
        through,
        text: some_text(rng),
        model: rng.random_bool(0.5).then(|| label("model-1")),
        previous: None,
    })
}

/// A result with or without the name of its tool.
pub(crate) fn tool_result(rng: &mut StdRng, call: &str) -> Fact {
    Fact::ToolReturned(ToolReturned {
        call_id: CallId::parse(call).unwrap(),
        tool_name: rng.random_bool(0.5).then(|| ToolName::parse("search").unwrap()),
        output: match rng.random_range(0..2) {
            0 => ToolOutput::Json(json("null")),
            _ => ToolOutput::Parts(vec![Part::Text("found\0it".to_owned())]),
        },
        outcome: if rng.random_bool(0.8) { ToolOutcome::Succeeded } else { ToolOutcome::Failed },
    })
}

fn some_event(rng: &mut StdRng) -> NewEvent {
    let fact = match rng.random_range(0..10) {
        0 => Fact::from(SystemNoted { topic: None, text: some_text(rng) }),
        1 => Fact::from(ErrorOccurred { error_type: label("timeout"), message: some_text(rng) }),
        2..6 => message(rng, Role::User),
        _ => message(rng, Role::Assistant),
    };
    NewEvent {
        id: rng.random_bool(0.2).then(|| EventId(Uuid::from_u128(rng.random()))),
        // Microseconds and nanoseconds, in the past and in the future: they must not influence the record.
        occurred_at: rng.random_bool(0.3).then(|| Timestamp(rng.random_range(-1..4_000_000_000_000_000_000))),
        metadata: rng.random_bool(0.2).then(|| json(r#"{"seen":true}"#)),
        tokens: 0,
        fact,
    }
}

fn message(rng: &mut StdRng, role: Role) -> Fact {
    let is_model = role == Role::Assistant;
    Fact::MessageAppended(MessageAppended {
        role,
        parts: vec![Part::Text(some_text(rng))],
        author: None,
        model: is_model.then(|| label("model-1")),
        provider: is_model.then(|| label("openai")),
        provider_response_id: (is_model && rng.random_bool(0.5))
            .then(|| label(&format!("response-{}", rng.random_range(0..999)))),
        finish_reason: is_model.then(|| label("stop")),
        usage_source: UsageSource::Reported,
        usage: is_model.then(|| Usage {
            input_tokens: rng.random_range(0..9_000),
            output_tokens: rng.random_range(0..900),
            cached_tokens: rng.random_range(0..90),
            reasoning_tokens: 0,
        }),
    })
}

/// A few words, or enough for compression; sometimes with U+0000.
fn some_text(rng: &mut StdRng) -> String {
    let words = match rng.random_range(0..10) {
        0 => 400,
        _ => rng.random_range(1..20),
    };
    let word = |_| ["what", "a\0b", "Straße", "日本", "yes"][rng.random_range(0..5)];
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// An event with only its fact.
pub(crate) fn plain(fact: Fact) -> NewEvent {
    NewEvent { id: None, occurred_at: None, metadata: None, tokens: 0, fact }
}

fn json(text: &str) -> JsonText {
    JsonText::parse(text).unwrap()
}

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}
