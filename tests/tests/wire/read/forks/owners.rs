//! Changes of owners: a conversation moves between its owners' listings.

use tests::agent::{Agent, Outcome};
use tests::errors::check_failure;
use tests::events::{session, user, user_owner};
use tests::stack::Stack;
use tonic::Code;
use uuid::Uuid;
use wire::proto::event::v1::Owner;
use wire::proto::read::v1::list_conversations_request::Filter;
use wire::proto::write::v1::{ChangeOwnerRequest, CommandTarget, EraseConversationRequest};

use super::fork;
use crate::write::with;

async fn try_change(agent: &Agent, request: ChangeOwnerRequest) -> Outcome {
    let answer = agent.caller().write().change_owner(request).await?;
    Ok(answer.into_inner().result.expect("a result"))
}

fn change(agent: &Agent, id: &str, owner: Owner, expected: Option<Owner>) -> ChangeOwnerRequest {
    ChangeOwnerRequest { target: Some(agent.target(id)), owner: Some(owner), expected_owner: expected }
}

async fn check_listed(agent: &Agent, of_session: &[&str], of_user: &[&str]) {
    let cases = [(Filter::SessionId("s".to_owned()), of_session), (Filter::UserId("ada".to_owned()), of_user)];
    for (filter, expected) in cases {
        // Small pages, so that cursors continue across changes.
        let request = with(agent.conversations_request(filter.clone()), |request| {
            request.page_size = 1;
        });
        let mut listed: Vec<String> =
            agent.conversations(request).await.into_iter().map(|one| one.conversation_id).collect();
        listed.sort();
        assert_eq!(listed, expected, "{filter:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_moves_between_listings_and_back() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    for id in ["a", "b"] {
        agent.create(id).await;
    }
    fork(&agent, "c", "a", 1).await;
    for (id, version) in [("a", 1), ("b", 1), ("c", 2)] {
        agent.wait_for_rows(id, version).await;
    }
    check_listed(&agent, &["a", "b", "c"], &[]).await;
    let claim = |id: &str| change(&agent, id, user_owner("ada"), Some(session("s")));
    for (id, version) in [("a", 2), ("c", 3)] {
        let claimed = try_change(&agent, claim(id)).await.expect("a claim");
        assert_eq!(claimed.version, version);
        // Fresh reads show it at once, listings after projection.
        assert_eq!(agent.conversation(id).await.owner, Some(user_owner("ada")));
        agent.wait_for_rows(id, version).await;
    }
    check_listed(&agent, &["b"], &["a", "c"]).await;
    // Again: nothing to do. From another owner: not allowed.
    let again = try_change(&agent, claim("a")).await.expect("nothing to do");
    assert_eq!((again.version, again.commit_id.as_str()), (2, ""));
    let theft = change(&agent, "a", user_owner("eve"), Some(session("s")));
    let expected = (Code::FailedPrecondition, "OWNER_MISMATCH", "");
    check_failure("theft", try_change(&agent, theft).await, expected);
    let back = change(&agent, "a", session("s"), Some(user_owner("ada")));
    assert_eq!(try_change(&agent, back).await.expect("it").version, 3);
    agent.append("a", vec![user("4")]).await;
    agent.wait_for_rows("a", 4).await;
    check_listed(&agent, &["a", "b"], &["c"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retried_changes_get_the_first_answer() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("a").await;
    let keyed = |key: Uuid| CommandTarget { idempotency_key: key.to_string(), ..agent.target("a") };
    let request = ChangeOwnerRequest {
        target: Some(keyed(Uuid::now_v7())),
        ..change(&agent, "a", user_owner("ada"), Some(session("s")))
    };
    let first = try_change(&agent, request.clone()).await.expect("a claim");
    // The conversation was released since: the retry gets its answer, and claims nothing.
    let back = change(&agent, "a", session("s"), None);
    try_change(&agent, back).await.expect("a change");
    let again = try_change(&agent, request).await.expect("the answer");
    assert_eq!(again, with(first, |first| first.replayed = true));
    assert_eq!(agent.conversation("a").await.owner, Some(session("s")));
}

#[tokio::test(flavor = "multi_thread")]
async fn erasures_can_expect_an_owner() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("a").await;
    let erase = async |owner: Owner, key: Uuid| -> Outcome {
        let request = EraseConversationRequest {
            target: Some(CommandTarget { idempotency_key: key.to_string(), ..agent.target("a") }),
            expected_owner: Some(owner),
            ..EraseConversationRequest::default()
        };
        let answer = agent.caller().write().erase_conversation(request).await?;
        Ok(answer.into_inner().result.expect("a result"))
    };
    let mismatch = (Code::FailedPrecondition, "OWNER_MISMATCH", "");
    let theft = erase(session("t"), Uuid::now_v7()).await;
    check_failure("theft", theft, mismatch);
    let malformed = erase(Owner::default(), Uuid::now_v7()).await;
    let missing = (Code::InvalidArgument, "FIELD_MISSING", "expected_owner");
    check_failure("nobody", malformed, missing);
    let key = Uuid::now_v7();
    let first = erase(session("s"), key).await.expect("an erasure");
    let again = erase(session("s"), key).await.expect("the answer");
    assert_eq!(again, with(first, |first| first.replayed = true));
    let erased = (Code::FailedPrecondition, "CONVERSATION_ERASED", "");
    let fresh = erase(session("s"), Uuid::now_v7()).await;
    check_failure("another request", fresh, erased);
    let target = agent.target("a");
    let unnamed = agent.try_erase(target).await.expect("nothing to do");
    assert_eq!(unnamed.commit_id, "");
}
