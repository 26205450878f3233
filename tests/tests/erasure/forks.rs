//! Forks that read erased events: erasures are rejected by default, or include the forks.

use serde_json::{Value, json};
use tests::events::{session, user};
use tests::stack::{Setup, Stack};

use crate::cli::{check, conversation, erased_ids, fork, in_nats, json};

#[tokio::test(flavor = "multi_thread")]
async fn forks_block_erasure_or_are_erased() {
    let stack = Setup::tasks().start().await;
    let agent = stack.agent("acme", "support").await;
    let texts_of_root = ["the-key-is-under-the-mat".to_owned(), "second".to_owned()];
    conversation(&agent, "root", session("s"), &texts_of_root).await;
    fork(&agent, "one", "root", 2).await;
    agent.append("one", vec![user("the-fork-knows-of-the-mat")]).await;
    fork(&agent, "two", "one", 4).await;
    agent.create("beside").await;
    let line = "erase conversation root --tenant acme";

    let report = json(&stack, &format!("{line} --dry-run --json")).await;
    let expected = json!({
        "conversations": 1, "commits": 3, "archived": 0, "forks": ["one", "two"], "unfinished": [], "erasedBefore": 0,
        "registry": {}, "unknown": [], "refuses": [
            "2 forks read through the conversations to erase: one, two; erase them with --forks erase",
        ],
    });
    assert_eq!(report, expected);
    let report = check(&stack, &format!("{line} --dry-run"), 0).await.stdout;
    assert!(report.contains("prevented by:             2 forks"), "{report}");
    let report = json(&stack, &format!("{line} --forks erase --dry-run --json")).await;
    assert_eq!(report["refuses"], json!([]));
    let refused = check(&stack, line, 1).await;
    assert!(refused.stderr.contains("one, two"), "{refused:?}");
    assert_eq!(agent.version("root").await, 3);

    let folder = tempfile_folder();
    let receipt = folder.path().join("receipt.json").display().to_string();
    let report = json(&stack, &format!("{line} --forks erase --receipt {receipt} --json")).await;
    assert_eq!(erased_ids(&report), ["one", "root", "two"]);
    assert_eq!((&report["commits"], &report["parts"]), (&json!(6), &json!(0)));
    assert_eq!(report["signed"]["receipt"]["rows"], "gone");
    assert_eq!(in_nats(&stack, &["under-the-mat", "knows-of-the-mat"]), [""; 0]);
    for id in ["root", "one", "two"] {
        assert!(agent.try_get(agent.read_target(id)).await.is_err(), "{id}");
    }
    assert_eq!(agent.version("beside").await, 1);

    // Second run: nothing is left to do, and the receipt is the same.
    let again = json(&stack, &format!("{line} --json")).await;
    assert_eq!((erased_ids(&again), &again["commits"]), (erased_ids(&report), &json!(0)));
    rotated_keys_verify_receipts(&stack, &receipt).await;
    check_receipts(&stack, &receipt).await;
}

/// A rotated key verifies its old receipts, signs no new ones, and no receipt verifies with the id of another key.
async fn rotated_keys_verify_receipts(stack: &Stack, old: &str) {
    let signer = |receipt: &Value| receipt["keyId"].as_str().expect("a key's id").to_owned();
    let read = |file: &str| -> Value {
        let text = std::fs::read_to_string(file).expect("a receipt");
        serde_json::from_str(&text).expect("JSON")
    };
    let listed = check(stack, "receipt-key rotate --json", 0).await.stdout;
    let keys: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(keys.len(), 2, "{listed}");
    assert_eq!(keys[0]["keyId"], signer(&read(old)));
    let new = format!("{old}.new");
    let line = format!("erase conversation beside --tenant acme --receipt {new} --json");
    json(stack, &line).await;
    let mut changed = read(&new);
    assert_eq!(signer(&changed), keys[1]["keyId"]);
    for receipt in [old, &new] {
        check(stack, &format!("erase verify-receipt {receipt}"), 0).await;
    }
    for id in [&keys[0]["keyId"], &json!("0123456789abcdef")] {
        changed["keyId"] = id.clone();
        std::fs::write(&new, changed.to_string()).expect("a file");
        let refused = check(stack, &format!("erase verify-receipt {new}"), 5).await;
        assert!(refused.stdout.contains("not genuine"), "{id}: {refused:?}");
    }
}

fn tempfile_folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

async fn check_receipts(stack: &Stack, receipt: &str) {
    let report = json(stack, &format!("erase verify-receipt {receipt} --json")).await;
    assert_eq!(report, json!({ "genuine": true, "conversations": 3, "standing": [] }));
    let text = std::fs::read_to_string(receipt).expect("a receipt");
    let signed: Value = serde_json::from_str(&text).expect("JSON");
    let key = signed["publicKey"].as_str().expect("a key");
    check(stack, &format!("erase verify-receipt {receipt} --public-key {key}"), 0).await;
    let other = key.replace(|digit| digit != '0', "0");
    check(stack, &format!("erase verify-receipt {receipt} --public-key {other}"), 5).await;
    std::fs::write(receipt, text.replace("\"two\"", "\"too\"")).expect("a file");
    let ended = check(stack, &format!("erase verify-receipt {receipt}"), 5).await;
    assert!(ended.stdout.contains("not genuine"), "{ended:?}");
}
