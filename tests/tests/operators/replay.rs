//! `hansard replay`: into files and under other subjects, stopped and gone on with.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::events::user;
use tests::eventually::eventually_true;
use tests::stack::{Setup, Stack};

use crate::desk::{Desk, lines_of};

/// Commits of the scene: several in each of some conversations.
const CONVERSATIONS: usize = 6;
const COMMITS: usize = 40;

async fn scene() -> (Stack, Desk, Agent) {
    let stack = Setup::tasks().start().await;
    let agent = stack.agent("acme", "a").await;
    for conversation in 0..CONVERSATIONS {
        agent.create(&format!("c{conversation}")).await;
    }
    for number in 0..COMMITS - CONVERSATIONS {
        let conversation = format!("c{}", number % CONVERSATIONS);
        let text = format!("number {number} {}", "x".repeat(2_000));
        agent.append(&conversation, vec![user(text)]).await;
    }
    let desk = Desk::at(&stack);
    (stack, desk, agent)
}

/// The lines, in an order of their own.
fn sorted(text: &str) -> BTreeSet<String> {
    let lines = lines_of(text);
    let sorted: BTreeSet<String> = lines.iter().map(Value::to_string).collect();
    assert_eq!(sorted.len(), lines.len(), "no line is there twice");
    sorted
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_holds_the_record_and_is_gone_on_with() {
    let (_stack, desk, agent) = scene().await;
    let plan = desk.json("replay --to-file @f --dry-run --json", 0).await;
    let through: u64 = plan
        .iter()
        .filter_map(|span| span["through"].as_u64())
        .sum();
    assert_eq!((plan.len(), through), (8, 40));
    assert!(!desk.folder.path().join("f").exists());
    let done = desk.json("replay --to-file @f --json", 0).await.remove(0);
    assert_eq!(
        (&done["commits"], &done["stream"]),
        (&json!(40), &json!(null))
    );
    let all = sorted(&desk.check("tail", 0, "").await);
    assert_eq!(sorted(&desk.text("f")), all);
    desk.check(
        "replay --to-file @f",
        2,
        "exists: continue it with --resume",
    )
    .await;

    // A line that is not whole is made anew.
    let file = desk.folder.path().join("f");
    let text = desk.text("f");
    fs::write(&file, &text[..text.len() - 10]).unwrap();
    let done = desk
        .json("replay --to-file @f --resume --json", 0)
        .await
        .remove(0);
    assert_eq!(done["commits"], 1);
    assert_eq!(sorted(&desk.text("f")), all);

    agent.append("c0", vec![user("later")]).await;
    let done = desk
        .json("replay --to-file @f --resume --json", 0)
        .await
        .remove(0);
    assert_eq!(done["commits"], 1);
    assert_eq!(
        sorted(&desk.text("f")),
        sorted(&desk.check("tail", 0, "").await)
    );
    files_of_others_are_refused(&desk).await;
}

async fn files_of_others_are_refused(desk: &Desk) {
    let file = desk.folder.path().join("g");
    let mut line = lines_of(&desk.text("f")).remove(0);
    line["commitId"] = json!("0199e8a1-0000-7000-8000-0000000000ad");
    fs::write(&file, format!("{line}\n")).unwrap();
    let resume = "replay --to-file @g --resume";
    desk.check(resume, 2, "belongs to another record").await;
    line["partition"] = json!(9);
    fs::write(&file, format!("{line}\n")).unwrap();
    desk.check(resume, 2, "belongs to another record").await;
    fs::write(&file, "sesame\n").unwrap();
    desk.check(resume, 2, "line 1 of ").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_that_was_killed_goes_on() {
    let (_stack, desk, _agent) = scene().await;
    let mut replay = desk.start("replay --to-file @f --rate 20");
    eventually_true("the first lines", || desk.text("f").lines().count() > 2).await;
    replay.kill();
    let there = desk.text("f").lines().count();
    assert!(there < COMMITS, "{there} lines at 20 a second");
    let done = desk
        .json("replay --to-file @f --resume --json", 0)
        .await
        .remove(0);
    assert!(done["commits"].as_u64().unwrap() > 0, "{done}");
    assert_eq!(
        sorted(&desk.text("f")),
        sorted(&desk.check("tail", 0, "").await)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn other_subjects_get_it_and_the_records_own_do_not() {
    let (_stack, desk, agent) = scene().await;
    for prefix in ["hansard", "hansard.3", "live.hansard", "a.>", "$JS.x"] {
        let line = format!("replay --to-subject {prefix}");
        desk.check(&line, 2, "the subject ").await;
    }
    assert_eq!(desk.json("tail", 0).await.len(), COMMITS);
    let stream = r#"{"name":"COPY","subjects":["copy.>"],"storage":"memory"}"#;
    desk.request("$JS.API.STREAM.CREATE.COPY", stream).await;
    let line = "replay --to-subject copy --places @p --rate 100000 --json";
    let told = "the stream COPY stores copy.>";
    let done = lines_of(&desk.check(line, 0, told).await).remove(0);
    assert_eq!(
        (&done["commits"], &done["stream"]),
        (&json!(40), &json!("COPY"))
    );
    desk.check(line, 2, "exists: continue it with --resume")
        .await;
    let resume = format!("{line} --resume");
    assert_eq!(desk.json(&resume, 0).await[0]["commits"], 0);
    agent.append("c0", vec![user("later")]).await;
    assert_eq!(desk.json(&resume, 0).await[0]["commits"], 1);
    let other = resume.replace("copy", "copy.two");
    desk.check(&other, 2, "belongs to another record or prefix")
        .await;
    desk.check("replay --to-subject copy --resume", 2, "--places")
        .await;
    let line = "replay --to-subject free --tenant acme --rate 100000 --json";
    let told = "no stream stores free.>";
    let done = lines_of(&desk.check(line, 0, told).await).remove(0);
    assert_eq!(done["commits"], 41);
}
