//! Targets that the record does not know are reported and not signed, because a typo is no erasure.

use serde_json::{Value, json};
use tests::events::{session, user_owner};
use tests::stack::Setup;

use crate::cli::{check, conversation, erased_ids, json};

#[tokio::test(flavor = "multi_thread")]
async fn unknown_targets_are_reported_and_not_signed() {
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
        let report: Value = serde_json::from_str(&refused.stdout).expect("JSON");
        let ids: Vec<&str> =
            what.strip_prefix("conversation ").into_iter().filter_map(|ids| ids.split(' ').next()).collect();
        assert_eq!((&report["unknown"], &report["signed"]), (&json!(ids), &Value::Null));
        assert!(!receipt.exists(), "{what}");
    }

    let both = "erase conversation one nosuch --tenant acme";
    let report = check(&stack, &format!("{both} --dry-run"), 0).await.stdout;
    assert!(report.contains("unknown:                  conversation nosuch"), "{report}");
    let partly = check(&stack, &format!("{both} {signing}"), 1).await;
    assert!(partly.stderr.contains("has no conversation nosuch"), "{partly:?}");
    let report: Value = serde_json::from_str(&partly.stdout).expect("JSON");
    assert_eq!((erased_ids(&report), &report["unknown"]), (vec!["one"], &json!(["nosuch"])));
    assert!(receipt.exists());
    assert_eq!(agent.version("two").await, 2);

    // Erased ids stay known.
    let line = "erase conversation one --tenant acme --json";
    assert_eq!(erased_ids(&json(&stack, line).await), ["one"]);
    for _ in 0..2 {
        let report = json(&stack, "erase user ada --tenant acme --json").await;
        assert_eq!(erased_ids(&report), ["two"]);
    }
    let ledger = folder.path().join("ledger.json").display().to_string();
    let report = json(&stack, &format!("erase ledger {ledger} --json")).await;
    assert_eq!(report, json!({"conversations": 2, "file": ledger}));
    stack.agent("empty", "idle").await;
    for _ in 0..2 {
        let report = json(&stack, "erase tenant empty --json").await;
        assert_eq!(erased_ids(&report), [""; 0]);
    }
}
