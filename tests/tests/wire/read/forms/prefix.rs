//! Contexts of a growing conversation have the same prefix, byte for byte, until the epoch changes.

use serde_json::json;
use tests::events::{assistant, call, user};
use tests::stack::Stack;
use wire::proto::event::v1::Event;
use wire::proto::read::v1::ContextFormat;

use super::{AssembledContext, assemble, long_result, policy_request, room};
use crate::write::with;

const TURNS: usize = 40;
/// The maximum size of a body's end after its last message, in bytes.
const END_BYTES_MAX: usize = 3;

/// The forms whose body ends with the list of messages.
const IN_A_ROW: [ContextFormat; 4] =
    [ContextFormat::Canonical, ContextFormat::OpenaiChat, ContextFormat::OpenaiResponses, ContextFormat::Ollama];

fn turn(number: usize) -> Vec<Event> {
    let id = format!("call-{number}");
    let asked = user(format!("Question {number}, and a few words more"));
    vec![asked, call(&id, "{}"), long_result(&id, 90), assistant("An answer.")]
}

fn shared(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Checks that contexts of one epoch have the same prefix; returns the number of epochs.
fn epochs(contexts: &[AssembledContext]) -> usize {
    let mut epochs = 1;
    for (earlier, later) in contexts.iter().zip(&contexts[1..]) {
        if earlier.receipt.epoch != later.receipt.epoch {
            epochs += 1;
            continue;
        }
        let shared = shared(&earlier.bytes, &later.bytes);
        let form = earlier.receipt.format();
        assert!(shared + END_BYTES_MAX >= earlier.bytes.len(), "{form:?}: {shared} bytes shared");
    }
    epochs
}

#[tokio::test(flavor = "multi_thread")]
async fn one_epoch_change_serves_many_turns() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let policies = [
        ("trimmed", room(3_000, json!({"instructions": "Serve."})), 6),
        ("cleared", room(3_000, json!({"clear": {"result_tokens_min": 97}})), 12),
    ];
    let mut contexts = vec![Vec::new(); policies.len() * IN_A_ROW.len()];
    for number in 0..TURNS {
        agent.append("c", turn(number)).await;
        let cases = policies.iter().flat_map(|policy| IN_A_ROW.map(|form| (policy, form)));
        for (contexts, ((_, policy, _), form)) in contexts.iter_mut().zip(cases) {
            let request = with(policy_request(&agent, policy), |request| {
                request.format = form.into();
            });
            contexts.push(assemble(&agent, request).await);
        }
    }
    for (policy, contexts) in policies.iter().zip(contexts.chunks(IN_A_ROW.len())) {
        let (name, _, epochs_max) = policy;
        for contexts in contexts {
            let (epochs, last) = (epochs(contexts), contexts.last().expect("one"));
            assert!((2..=*epochs_max).contains(&epochs), "{name}: {epochs} epochs");
            assert!(last.receipt.left_out.is_some(), "{name}");
        }
    }
}

/// Many short messages, more than the read limit: the first message moves in blocks, too.
#[tokio::test(flavor = "multi_thread")]
async fn message_limits_move_in_blocks() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let hundred = || (0..100).map(|number| user(number.to_string())).collect();
    for _ in 0..20 {
        agent.append("c", hundred()).await;
    }
    let mut contexts = Vec::new();
    for _ in 0..20 {
        agent.append("c", hundred()).await;
        contexts.push(assemble(&agent, policy_request(&agent, &json!({}))).await);
    }
    assert!(epochs(&contexts) <= 5, "{} epochs", epochs(&contexts));
    for context in contexts {
        assert!((900..=2_000).contains(&context.receipt.turns), "{}", context.receipt.turns);
        assert!(context.receipt.left_out.is_some());
    }
}
