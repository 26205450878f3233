//! What the record knows nothing of is told, and signed by nobody: a slip of the pen is no erasure.

use serde_json::{Value, json};
use tests::events::{session, user_owner};
use tests::stack::Setup;

use crate::ground::{check, conversation, erased_ids, json};

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_knows_is_told_and_not_signed() {
    let stack = Setup::tasks().start().await;
    let agent = stack.agent("acme", "support").await;
    let texts = ["hello".to_owned()];
    conversation(&agent, "one", session("s"), &texts).await;
    conversation(&agent, "two", user_owner("ada"), &texts).await;
    let folder = tempfile::tempdir().expect("a folder");
    let receipt = folder.path().join("receipt.json");
    let signing = format!("--receipt {} --json", receipt.display());

    for (what, named) in [
        ("conversation nosuch --tenant acme", "conversation nosuch"),
        ("conversation one --tenant nosuch", "conversation one"),
        ("user nobody --tenant acme", "user nobody"),
        ("user ada --tenant nosuch", "user ada"),
        ("tenant nosuch", "tenant nosuch"),
    ] {
        let refused = check(&stack, &format!("erase {what} {signing}"), 1).await;
        for text in [named, "no receipt was written"] {
            assert!(refused.stderr.contains(text), "{refused:?}");
        }
        let told: Value = serde_json::from_str(&refused.stdout).expect("JSON");
        let ids = what.strip_prefix("conversation ").into_iter();
        let ids: Vec<&str> = ids.filter_map(|ids| ids.split(' ').next()).collect();
        assert_eq!(
            (&told["unknown"], &told["signed"]),
            (&json!(ids), &Value::Null)
        );
        assert!(!receipt.exists(), "{what}");
    }

    let both = "erase conversation one nosuch --tenant acme";
    let told = check(&stack, &format!("{both} --dry-run"), 0).await.stdout;
    assert!(
        told.contains("unknown:                  conversation nosuch"),
        "{told}"
    );
    let partly = check(&stack, &format!("{both} {signing}"), 1).await;
    assert!(
        partly.stderr.contains("has no conversation nosuch"),
        "{partly:?}"
    );
    let told: Value = serde_json::from_str(&partly.stdout).expect("JSON");
    assert_eq!(
        (erased_ids(&told), &told["unknown"]),
        (vec!["one"], &json!(["nosuch"]))
    );
    assert!(receipt.exists());
    assert_eq!(agent.version("two").await, 2);

    // What is erased is known for ever.
    let line = "erase conversation one --tenant acme --json";
    assert_eq!(erased_ids(&json(&stack, line).await), ["one"]);
    for _ in 0..2 {
        let told = json(&stack, "erase user ada --tenant acme --json").await;
        assert_eq!(erased_ids(&told), ["two"]);
    }
    let ledger = folder.path().join("ledger.json").display().to_string();
    let told = json(&stack, &format!("erase ledger {ledger} --json")).await;
    assert_eq!(told, json!({"conversations": 2, "file": ledger}));
    stack.agent("empty", "idle").await;
    for _ in 0..2 {
        let told = json(&stack, "erase tenant empty --json").await;
        assert_eq!(erased_ids(&told), [""; 0]);
    }
}
