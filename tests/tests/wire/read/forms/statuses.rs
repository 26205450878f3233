//! Contexts by the status of a conversation, and by consistency.

use tests::agent::Agent;
use tests::errors::{Expected, check_failure};
use tests::events::user;
use tests::stack::Setup;
use tonic::Code::{InvalidArgument, NotFound};
use wire::proto::read::v1::AssembleContextRequest;

use super::{FORMS, assemble, form_request, try_assemble, versions};
use crate::write::with;

const NOT_FOUND: Expected = (NotFound, "CONVERSATION_NOT_FOUND", "");

/// The same request with eventual consistency.
fn eventual(agent: &Agent, request: AssembleContextRequest) -> AssembleContextRequest {
    with(request, |request| {
        request.target = Some(agent.eventual_target("c"));
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn eventual_contexts_read_only_rows() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("2"), user("3")]).await;
    agent.wait_for_rows("c", 3).await;
    stack.projector.stop().await;
    let written = agent.append("c", vec![user("4")]).await;
    let request = form_request(&agent, FORMS[0]);
    let rows = assemble(&agent, eventual(&agent, request.clone())).await;
    assert_eq!((rows.receipt.version, versions(&rows)), (3, vec![2, 3]));
    let fresh = assemble(&agent, request.clone()).await;
    assert_eq!((fresh.receipt.version, versions(&fresh)), (4, vec![2, 3, 4]));
    let later = with(request.clone(), |request| request.at_version = 4);
    let outcome = try_assemble(&agent, eventual(&agent, later)).await;
    let past = (InvalidArgument, "FIELD_OUT_OF_RANGE", "at_version");
    check_failure("a version that the rows do not hold", outcome, past);
    let fenced = with(request, |request| {
        let target = request.target.as_mut().expect("a target");
        target.position_token = written.position_token;
    });
    assert_eq!(assemble(&agent, fenced).await, fresh);
}

#[tokio::test(flavor = "multi_thread")]
async fn archived_conversations_have_contexts_and_erased_ones_none() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let agent = operator.agent("acme", "support").await;
    let colleague = operator.agent("acme", "sales").await;
    agent.create("c").await;
    agent.append("c", vec![user("2")]).await;
    let before = assemble(&agent, form_request(&agent, FORMS[0])).await;
    agent.try_archive(agent.target("c")).await.expect("archived");
    let archived = assemble(&agent, form_request(&agent, FORMS[0])).await;
    assert_eq!((archived.receipt.version, archived.bytes), (3, before.bytes));
    let foreign = form_request(&colleague, FORMS[0]);
    check_failure("a colleague's", try_assemble(&colleague, foreign).await, NOT_FOUND);
    agent.try_erase(agent.target("c")).await.expect("erased");
    for form in FORMS {
        let outcome = try_assemble(&agent, form_request(&agent, form)).await;
        check_failure("an erased one", outcome, NOT_FOUND);
        let again = super::receipt_request(&agent, &before.receipt);
        check_failure("an earlier version", try_assemble(&agent, again).await, NOT_FOUND);
    }
}
