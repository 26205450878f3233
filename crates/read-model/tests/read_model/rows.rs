//! Rows of all kinds of events, and their reads.

use domain::bounds::EVENTS_PER_COMMIT_MAX;
use domain::event::{
    ConversationUpdated, ErrorOccurred, MessageAppended, Role, SystemNoted, ToolCalled, ToolOutcome, ToolOutput,
    ToolReturned, Usage, UsageSource,
};
use domain::{
    CallId, Change, ClientContext, Conversation, Fact, FieldChange, JsonText, Label, Lifecycle, Owner, Part, Status,
    ToolName, UserId, Version,
};
use read_model::projections::conversations::Item;
use read_model::{Direction, EventQuery, EventRow, conversation, find_commit, head_and_events};

use crate::fixture::{Author, Projection, access, digest, message};

/// The pure fold of a conversation's commits.
pub(crate) fn folded(items: &[Item]) -> Conversation {
    let mut row = None;
    for item in items {
        let Item::Commit(placed) = item else { continue };
        row = Change::new(&placed.opened.commit, placed.position).apply(row);
    }
    row.unwrap()
}

/// The expected rows of the events of commits.
pub(crate) fn event_rows(items: &[Item]) -> Vec<EventRow> {
    let commits = items.iter().filter_map(|item| match item {
        Item::Commit(placed) => Some(placed),
        Item::Unreadable { .. } => None,
    });
    let rows = commits.flat_map(|placed| {
        let commit = &placed.opened.commit;
        let bodies = placed.opened.event_bytes.iter().enumerate();
        bodies.map(|(index, body)| EventRow {
            version: commit.first_version.plus(index),
            commit: commit.id,
            recorded_at: commit.recorded_at,
            bytes: body.clone(),
        })
    });
    rows.collect()
}

pub(crate) fn all(direction: Direction) -> EventQuery {
    EventQuery {
        from: Version(1),
        to: EventQuery::OPEN_END,
        direction,
        kinds: Vec::new(),
        limit: 1_000,
        bytes_max: u64::MAX,
    }
}

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

fn json(text: &str) -> JsonText {
    JsonText::parse(text).unwrap()
}

/// Sets all fields of the first event.
fn fill(author: &mut Author) {
    author.created.owner = Owner::User(UserId::parse("jo@example.org é").unwrap());
    author.created.title = Some("A title".to_owned());
    author.created.metadata = Some(json("{ \"b\":1.0, \"a\": [2] }"));
    author.created.client_context = ClientContext {
        page_url: Some("https://example.org/?q=1".to_owned()),
        locale: Some("de-CH".to_owned()),
        custom_metadata: Some(json("{\"x\":1.50}")),
        ..ClientContext::default()
    };
    author.created.provider_conversation_id = Some(label("conv_1"));
}

/// One fact of every kind except the tombstone, each with all fields.
fn every_fact(author: &mut Author) -> Vec<Fact> {
    fill(author);
    let call_id = CallId::parse("call_1").unwrap();
    let tool_name = ToolName::parse("search").unwrap();
    vec![
        Fact::from(author.created.clone()),
        Fact::MessageAppended(MessageAppended {
            role: Role::Assistant,
            parts: vec![
                Part::Text("zero\0inside".to_owned()),
                Part::Thinking { text: "hm".to_owned(), signature: Some("sig".to_owned()) },
                Part::Refusal("no".to_owned()),
            ],
            author: Some(label("bot")),
            model: Some(label("model-1")),
            provider: Some(label("openai")),
            provider_response_id: Some(label("resp_1")),
            finish_reason: Some(label("stop")),
            usage: Some(Usage { input_tokens: 7, output_tokens: 5, cached_tokens: 3, reasoning_tokens: 1 }),
            usage_source: UsageSource::Estimated,
        }),
        Fact::ToolCalled(ToolCalled {
            call_id: call_id.clone(),
            tool_name: tool_name.clone(),
            input: json("{\"q\":\"\\u0000\"}"),
            model: Some(label("model-1")),
            provider: Some(label("openai")),
            provider_response_id: None,
            signature: None,
        }),
        Fact::ToolReturned(ToolReturned {
            call_id,
            tool_name: Some(tool_name),
            output: ToolOutput::Json(json("[1, 2]")),
            outcome: ToolOutcome::Failed,
        }),
        Fact::from(SystemNoted { topic: Some(label("note")), text: "\0".to_owned() }),
        Fact::from(ErrorOccurred { error_type: label("rate_limit"), message: "slow".to_owned() }),
        Fact::from(ConversationUpdated {
            title: Some(FieldChange::Set("Another".to_owned())),
            last_response_id: Some(FieldChange::Set(label("resp_2"))),
            ..ConversationUpdated::default()
        }),
        Fact::Lifecycle(Lifecycle::ConversationArchived),
        Fact::Lifecycle(Lifecycle::ConversationRestored),
    ]
}

#[tokio::test]
async fn every_kind_of_event_round_trips() {
    for together in [true, false] {
        let mut projection = Projection::new().await;
        let mut author = Author::new("c");
        let facts = every_fact(&mut author);
        let items = if together {
            vec![author.commit(1, facts)]
        } else {
            (1..).zip(facts).map(|(sequence, fact)| author.commit(sequence, vec![fact])).collect()
        };
        for item in items.clone() {
            projection.apply(vec![item]).await;
        }
        let (model, id) = (&projection.model, &author.key.conversation);
        let found = head_and_events(model, &access("acme"), id, &all(Direction::Forward)).await;
        let (head_row, rows) = found.unwrap().unwrap();
        let row = projection.row(&author).await.unwrap();
        assert_eq!(row, folded(&items));
        assert_eq!(rows, event_rows(&items));
        assert_eq!(row.title.as_deref(), Some("Another"));
        assert_eq!((head_row.head, head_row.sequence), (row.head, row.position.sequence));
        for row in rows {
            wire::commit::decode_event(row.bytes).unwrap();
        }
    }
}

#[tokio::test]
async fn fields_are_set_kept_and_cleared_across_batches() {
    let mut projection = Projection::new().await;
    let mut author = Author::new("c");
    author.created.title = Some("first".to_owned());
    author.created.metadata = Some(json("{\"v\":1}"));
    let update =
        |title, metadata| Fact::from(ConversationUpdated { title, metadata, ..ConversationUpdated::default() });
    let steps = [
        (message("hi"), Some("first"), Some("{\"v\":1}")),
        (update(Some(FieldChange::Set("second".to_owned())), None), Some("second"), Some("{\"v\":1}")),
        (update(None, Some(FieldChange::Clear)), Some("second"), None),
        (update(Some(FieldChange::Clear), Some(FieldChange::Set(json("{}")))), None, Some("{}")),
    ];
    projection.apply(vec![author.begin(1)]).await;
    for (sequence, (fact, title, metadata)) in (2..).zip(steps) {
        projection.apply(vec![author.commit(sequence, vec![fact])]).await;
        let row = projection.row(&author).await.unwrap();
        assert_eq!(row.title.as_deref(), title);
        assert_eq!(row.metadata.as_ref().map(JsonText::as_str), metadata);
        assert_eq!((&row.head, row.position.sequence.0), (author.head(), sequence));
    }
}

#[tokio::test]
async fn a_retry_finds_its_commit() {
    let mut projection = Projection::new().await;
    let mut author = Author::new("c");
    let many = vec![message("x"); EVENTS_PER_COMMIT_MAX];
    let items = vec![author.begin(3), author.commit(9, many), author.say(12, "y")];
    projection.apply(items.clone()).await;
    let (model, id) = (&projection.model, &author.key.conversation);
    for (nth, item) in (1..).zip(&items) {
        let Item::Commit(placed) = item else { panic!() };
        let row = find_commit(model, &access("acme"), id, author.commit_id(nth)).await.unwrap().unwrap();
        assert_eq!(row.position, placed.position);
        assert_eq!(row.recorded_at, placed.opened.commit.recorded_at);
        assert_eq!(row.first_version, placed.opened.commit.first_version);
        assert_eq!(row.last_version, placed.opened.commit.head.version);
        assert_eq!(row.request_digest, digest(placed.position.sequence.0));
    }
    for (tenant, nth) in [("acme", 4), ("other", 1)] {
        let found = find_commit(model, &access(tenant), id, author.commit_id(nth)).await;
        assert_eq!(found.unwrap(), None);
    }
}

#[tokio::test]
async fn a_foreign_tenant_sees_nothing() {
    let mut projection = Projection::new().await;
    let mut author = Author::new("c");
    projection.apply(vec![author.begin(1)]).await;
    let (model, id) = (&projection.model, &author.key.conversation);
    assert_eq!(conversation(model, &access("other"), id).await.unwrap(), None);
    let query = all(Direction::Backward);
    assert_eq!(head_and_events(model, &access("other"), id, &query).await.unwrap(), None);
    let row = projection.row(&author).await.unwrap();
    assert_eq!(row.head.status, Status::Active);
}
