//! The erasure of a tenant: its callers are rejected, and its registry entries and conversations are gone.

use serde_json::json;
use tests::events::{session, user};
use tests::stack::Setup;
use tonic::Code;
use wire::proto::operate::v1::SigningKeyUse;

use crate::cli::{check, conversation, erased_ids, in_nats, json};

#[tokio::test(flavor = "multi_thread")]
async fn tenants_are_erased_with_their_keys() {
    let stack = Setup::tasks().start().await;
    let agent = stack.agent("acme", "support").await;
    let other = stack.agent("other", "their-bot").await;
    let operator = stack.operator().await;
    let key = operator.api_key("support").await;
    let secret = operator.signing_key("acme", "main", SigningKeyUse::User).await;
    let texts = ["acme-plans-a-merger".to_owned()];
    for id in ["a", "b", "c"] {
        conversation(&agent, id, session("s"), &texts).await;
    }
    conversation(&other, "a", session("s"), &["kept-by-another".to_owned()]).await;

    let report = json(&stack, "erase tenant acme --dry-run --json").await;
    let entries = json!({ "agent": 1, "apikey": 1, "secret": 1, "signing": 1, "tenant": 1, "token": 1 });
    assert_eq!((&report["conversations"], &report["registry"]), (&json!(3), &entries));
    agent.append("a", vec![user("still open")]).await;

    let report = json(&stack, "erase tenant acme --json").await;
    assert_eq!((erased_ids(&report).len(), &report["signed"]["receipt"]["registry"]), (3, &entries));
    assert_eq!(in_nats(&stack, &["acme-plans-a-merger", &secret, "kept-by-another"]), ["kept-by-another"]);
    tests::eventually::eventually("a caller that is shut out", || async {
        let refused = agent.try_append(agent.append_request("a", vec![user("x")])).await;
        (refused.err()?.code() == Code::Unauthenticated).then_some(())
    })
    .await;
    // Callers of every tenant find no such agent, and the HTTP listener rejects the key.
    let target = agent.target("b");
    let operators = tests::agent::Agent::new(operator.caller().clone(), "support");
    let refused = operators.try_archive(target).await;
    assert_eq!(refused.err().map(|status| status.code()), Some(Code::NotFound));
    let client = stack.http_client().with("x-api-key", &key.secret);
    tests::eventually::eventually("a key that is none any more", || async {
        (client.get("/api/chats").await.status_and_code().0 == 401).then_some(())
    })
    .await;
    other.append("a", vec![user("still open")]).await;
    check(&stack, "erase tenant acme", 0).await;
    check(&stack, "erase tenant b@d", 2).await;
}
