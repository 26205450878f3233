//! `UpdateConversation`: the fields of the mask are set or cleared, the others stay unchanged.

use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::assistant;
use tests::stack::{Setup, Stack};
use tonic::Code::InvalidArgument;
use wire::proto::event::v1::event::Fact;
use wire::proto::read::v1::Conversation;
use wire::proto::write::v1::UpdateConversationRequest;

use super::with;

const PATHS: [&str; 4] = ["title", "metadata_json", "provider_conversation_id", "last_response_id"];

/// The fields of [`PATHS`], in that order.
type Fields = [String; 4];

fn fields(conversation: Conversation) -> Fields {
    let Conversation { title, metadata_json, provider_conversation_id, last_response_id, .. } = conversation;
    [title, metadata_json, provider_conversation_id, last_response_id]
}

fn request(agent: &Agent, paths: &[&str], values: [&str; 4]) -> UpdateConversationRequest {
    let [title, metadata_json, provider_conversation_id, last_response_id] = values.map(str::to_owned);
    UpdateConversationRequest {
        title,
        metadata_json,
        provider_conversation_id,
        last_response_id,
        ..agent.update_request("c", paths)
    }
}

/// Every subset of the mask: set from empty, replaced, cleared. Rows and tail agree.
#[tokio::test(flavor = "multi_thread")]
async fn every_mask_sets_and_clears_its_own_fields() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    stack.projector.stop().await;
    let mut expected: Fields = Default::default();
    for (round, values) in
        [["a", r#"{"b": 1.10}"#, "p1", "r1"], ["ä", "{}", "p2", "r2"], ["", "", "", ""]].iter().enumerate()
    {
        for mask in 1..16_usize {
            let chosen = |index: &usize| mask & (1 << index) != 0;
            let paths: Vec<&str> = (0..4).filter(chosen).map(|index| PATHS[index]).collect();
            agent.try_update(request(&agent, &paths, *values)).await.expect("an update");
            for index in (0..4).filter(chosen) {
                expected[index] = values[index].to_owned();
            }
            let seen = fields(agent.conversation("c").await);
            assert_eq!(seen, expected, "round {round}, {paths:?}");
        }
    }
    let last = agent.try_update(request(&agent, &PATHS, ["end", "{}", "p", "r"])).await;
    stack.projector.start().await;
    agent.wait_for_rows("c", last.expect("an update").version).await;
    let seen = fields(agent.conversation("c").await);
    assert_eq!(seen, ["end", "{}", "p", "r"].map(str::to_owned));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_named_fields_are_in_the_event() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let update = request(&agent, &["title", "last_response_id"], ["t", "not json", "\0", ""]);
    agent.try_update(update).await.expect("fields outside of the mask are not validated");
    let events = agent.events(agent.list_request("c")).await;
    let Fact::ConversationUpdated(updated) = tests::events::fact(&events[1]) else { panic!() };
    assert_eq!(updated.title.as_deref(), Some("t"));
    assert_eq!(updated.last_response_id.as_deref(), Some(""));
    assert_eq!((&updated.metadata_json, &updated.provider_conversation_id), (&None, &None));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_assistants_message_names_the_last_response_too() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let message = with(assistant("x"), |event| {
        if let Some(Fact::MessageAppended(message)) = &mut event.fact {
            message.provider_response_id = "resp_1".to_owned();
        }
    });
    agent.append("c", vec![message]).await;
    assert_eq!(agent.conversation("c").await.last_response_id, "resp_1");
}

/// Name, reason, field, mask, and the value of every field.
type InvalidUpdate = (&'static str, &'static str, &'static str, &'static [&'static str], &'static str);

#[rustfmt::skip]
const BAD: [InvalidUpdate; 11] = [
    ("an empty mask", "FIELD_MISSING", "update_mask", &[], ""),
    ("an unknown path", "FIELD_MALFORMED", "update_mask.paths[1]", &["title", "status"], ""),
    ("a path into a field", "FIELD_MALFORMED", "update_mask.paths[0]", &["metadata_json.a"], ""),
    ("an empty path", "FIELD_MALFORMED", "update_mask.paths[0]", &[""], ""),
    ("U+0000 in a title", "NUL_CHARACTER", "title", &["title"], "\0"),
    ("no JSON", "INVALID_JSON", "metadata_json", &["metadata_json"], "{"),
    ("a list", "INVALID_JSON", "metadata_json", &["title", "metadata_json"], "[]"),
    ("U+0000 in metadata", "NUL_CHARACTER", "metadata_json", &["metadata_json"], r#"{"a":"\u0000"}"#),
    ("a line break", "FIELD_MALFORMED", "provider_conversation_id", &["provider_conversation_id"], "a\n"),
    ("a tab", "FIELD_MALFORMED", "last_response_id", &["last_response_id"], "\t"),
    ("a delete", "FIELD_MALFORMED", "last_response_id", &["last_response_id"], "\u{7f}"),
];

#[tokio::test(flavor = "multi_thread")]
async fn invalid_masks_and_values() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let check = async |case, request, (reason, field)| {
        let outcome = agent.try_update(request).await;
        check_failure(case, outcome, (InvalidArgument, reason, field));
        assert_eq!(agent.version("c").await, 1, "{case}");
    };
    for (case, reason, field, paths, value) in BAD {
        check(case, request(&agent, paths, [value; 4]), (reason, field)).await;
    }
    for (field, bytes_max) in PATHS.into_iter().zip([1_024, 65_536, 256, 256]) {
        let long = "x".repeat(bytes_max + 1);
        let request = request(&agent, &[field], [&long; 4]);
        check("a long value", request, ("FIELD_TOO_LONG", field)).await;
    }
    let no_mask = with(agent.update_request("c", &[]), |r| r.update_mask = None);
    check("no mask", no_mask, ("FIELD_MISSING", "update_mask")).await;
    let no_target = with(agent.update_request("c", &["title"]), |r| r.target = None);
    check("no target", no_target, ("FIELD_MISSING", "target")).await;
}
