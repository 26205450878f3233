//! The erasure of a user's conversations with all agents, including those created meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tests::agent::Agent;
use tests::events::{session, user_owner};
use tests::stack::Setup;
use wire::proto::document::v1::document_scope::Kind;
use wire::proto::document::v1::{DocumentScope, PutDocumentRequest};

use crate::cli::{conversation, erased_ids, in_nats, json};

const SECRET: &str = "ada-likes-green-umbrellas";
const KEPT: &str = "bob-likes-red-umbrellas";

/// Creates conversations of the user until the end; returns their number.
async fn keep_creating(agent: Agent, stop: Arc<AtomicBool>) -> usize {
    let mut begun = 0;
    while !stop.load(Ordering::Relaxed) {
        let texts = [SECRET.to_owned()];
        conversation(&agent, &format!("late-{begun}"), user_owner("ada"), &texts).await;
        begun += 1;
    }
    begun
}

/// Puts a document of a user.
async fn document(agent: &Agent, user: &str, text: &str) {
    let request = PutDocumentRequest {
        scope: Some(DocumentScope { agent_id: agent.id().to_owned(), kind: Some(Kind::Owner(user_owner(user))) }),
        namespace: vec!["memories".to_owned()],
        key: "k".to_owned(),
        value_json: format!("\"{text}\""),
        ..PutDocumentRequest::default()
    };
    agent.caller().documents().put_document(request).await.expect("a recorded value");
}

#[tokio::test(flavor = "multi_thread")]
async fn users_are_erased_completely_and_without_others() {
    let stack = Setup::tasks().start().await;
    let support = stack.agent("acme", "support").await;
    let sales = stack.agent("acme", "sales").await;
    let other_tenant = stack.agent("other", "their-bot").await;
    let texts = |text: &str| vec![text.to_owned(); 3];
    for n in 0..6 {
        let agent = if n % 2 == 0 { &support } else { &sales };
        conversation(agent, &format!("ada-{n}"), user_owner("ada"), &texts(SECRET)).await;
    }
    conversation(&support, "bob", user_owner("bob"), &texts(KEPT)).await;
    conversation(&support, "session", session("ada"), &texts(KEPT)).await;
    document(&support, "ada", SECRET).await;
    document(&support, "bob", KEPT).await;
    // The same user id of another tenant is another user.
    conversation(&other_tenant, "theirs", user_owner("ada"), &texts(KEPT)).await;

    let stop = Arc::new(AtomicBool::new(false));
    let beginning = tokio::spawn(keep_creating(support.clone(), Arc::clone(&stop)));
    let line = "erase user ada --tenant acme --json";
    // The erasure repeats while new conversations appear; creation ends after the erasure has started.
    let erasing = json(&stack, line);
    let ending = async {
        tests::eventually::eventually("an erasure", || async {
            let get = support.try_get(support.read_target("ada-0")).await;
            get.is_err().then_some(())
        })
        .await;
        stop.store(true, Ordering::Relaxed);
    };
    let (report, ()) = tokio::join!(erasing, ending);
    let begun = beginning.await.expect("conversations");
    assert!(begun > 0 && erased_ids(&report).len() >= 6, "{report}");

    let report = json(&stack, line).await;
    assert_eq!(erased_ids(&report).len(), 7 + begun);
    assert_eq!(report["signed"]["receipt"]["rows"], "gone");
    assert_eq!(in_nats(&stack, &[SECRET, KEPT]), [KEPT]);
    for (agent, id) in [(&support, "bob"), (&support, "session"), (&other_tenant, "theirs")] {
        assert_eq!(agent.version(id).await, 4, "{id}");
    }
    let report = json(&stack, "erase user ada --tenant acme --dry-run --json").await;
    assert_eq!((&report["conversations"], &report["erasedBefore"]), (&json!(0), &json!(7 + begun)));
    let report = json(&stack, "erase user nobody --tenant acme --dry-run --json").await;
    assert_eq!((&report["conversations"], &report["erasedBefore"]), (&json!(0), &json!(0)));
}
