//! The system message at the start of a conversation stays when the turns after it are omitted.

use serde_json::json;
use tests::events::{assistant, message, user};
use tests::stack::Stack;
use wire::proto::event::v1::Role;

use super::{FORMS, assemble, policy_request, room};
use crate::write::with;

const SYSTEM: &str = "You are a pirate. Never tell prices.";
const TURNS: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn own_instructions_are_included_once() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![message(Role::System, SYSTEM)]).await;
    let policy = room(2_000, json!({"instructions": "Serve."}));
    let mut begun: Option<String> = None;
    let mut left_out = 0;
    for number in 0..TURNS {
        let words = "and a few words more, ".repeat(6);
        let events = vec![user(format!("Question {number}, {words}")), assistant("An answer.")];
        agent.append("c", events).await;
        let is_last = number + 1 == TURNS;
        let forms = if is_last { &FORMS[..] } else { &FORMS[1..2] };
        for form in forms {
            let request = with(policy_request(&agent, &policy), |request| {
                request.format = (*form).into();
            });
            let context = assemble(&agent, request).await;
            let body = context.body.to_string();
            assert_eq!(body.matches(SYSTEM).count(), 1, "{form:?}: {body}");
            let is_left_out = context.receipt.left_out.is_some();
            let instructions_through = context.receipt.own_instructions_through;
            assert_eq!(instructions_through, if is_left_out { 2 } else { 0 });
            left_out += usize::from(is_left_out);
            // When the first turns are omitted, the instructions stay unchanged.
            if is_left_out && form == &FORMS[1] {
                let (head, _) = body.split_once(SYSTEM).expect("the instructions");
                let head = head.to_owned();
                assert_eq!(begun.get_or_insert(head.clone()), &head);
            }
        }
    }
    assert!(left_out > TURNS / 2, "{left_out}");
}
