//! The newest conversations of each owner are kept.

use domain::Timestamp;
use wire::proto::event::v1::owner::Kind;

use crate::callers::{session, user};
use crate::stack::{SECOND, START, Stack, rules};

/// Creates conversations with these owners, one second apart.
async fn begin(stack: &Stack, agent: &str, owners: &[Kind]) -> Vec<String> {
    let mut ids = Vec::new();
    for (n, owner) in (0_i64..).zip(owners) {
        let id = format!("{agent}-{n}");
        let at = Timestamp(START.0 + n * SECOND);
        stack.create(agent, &id, owner.clone(), at).await;
        ids.push(id);
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_are_counted_apart() {
    let stack = Stack::start().await;
    stack.agent("two", rules(0, 2, 0)).await;
    stack.agent("free", rules(0, 0, 0)).await;
    // A session and a user with the same id, and a session within its limit.
    let owners = [
        session("a"),
        user("a"),
        session("a"),
        session("b"),
        user("a"),
        session("a"),
        user("a"),
        session("b"),
        session("a"),
    ];
    let ids = begin(&stack, "two", &owners).await;
    let free = begin(&stack, "free", &owners).await;
    assert_eq!(stack.round().await.changed, 3);
    assert_eq!(stack.erased(&ids).await, ["two-0", "two-1", "two-2"]);
    assert_eq!(stack.round().await.changed, 0);
    assert!(stack.erased(&free).await.is_empty());
    stack.set_rules("two", Some(rules(0, 1, 0))).await;
    assert_eq!(stack.round().await.changed, 3);
    let erased = ["two-0", "two-1", "two-2", "two-3", "two-4", "two-5"];
    assert_eq!(stack.erased(&ids).await, erased);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claimed_conversation_counts_for_its_new_owner() {
    let stack = Stack::start().await;
    stack.agent("two", rules(0, 2, 0)).await;
    let owners = [user("u"), user("u"), session("s"), session("s"), session("s")];
    let ids = begin(&stack, "two", &owners).await;
    // The user claims the session's oldest conversation. Then the session is within its limit and the user is not.
    stack.claim("two", "two-2", "u").await;
    assert_eq!(stack.round().await.changed, 1);
    assert_eq!(stack.erased(&ids).await, ["two-0"]);
}
