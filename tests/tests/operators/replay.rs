//! `hansard replay`: into files and to other subjects, stopped and resumed.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::events::user;
use tests::eventually::eventually_true;
use tests::stack::{Setup, Stack};

use crate::operator_cli::{OperatorCli, lines_of};

/// Commits of the scene: several in each of some conversations.
const CONVERSATIONS: usize = 6;
pub(crate) const COMMITS: usize = 40;

pub(crate) async fn scene() -> (Stack, OperatorCli, Agent) {
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
    let cli = OperatorCli::at(&stack);
    (stack, cli, agent)
}

/// The lines in sorted order.
fn sorted_lines(text: &str) -> BTreeSet<String> {
    let lines = lines_of(text);
    let sorted: BTreeSet<String> = lines.iter().map(Value::to_string).collect();
    assert_eq!(sorted.len(), lines.len(), "no line is there twice");
    sorted
}

#[tokio::test(flavor = "multi_thread")]
async fn files_hold_the_record_and_can_be_continued() {
    let (_stack, cli, agent) = scene().await;
    let plan = cli.json("replay --to-file @f --dry-run --json", 0).await;
    let through: u64 = plan.iter().filter_map(|span| span["through"].as_u64()).sum();
    assert_eq!((plan.len(), through), (8, 40));
    assert!(!cli.folder.path().join("f").exists());
    let done = cli.json("replay --to-file @f --json", 0).await.remove(0);
    assert_eq!((&done["commits"], &done["stream"]), (&json!(40), &json!(null)));
    let all = sorted_lines(&cli.check("tail", 0, "").await);
    assert_eq!(sorted_lines(&cli.text("f")), all);
    cli.check("replay --to-file @f", 2, "exists: continue it with --resume").await;

    // An incomplete line is written again.
    let file = cli.folder.path().join("f");
    let text = cli.text("f");
    fs::write(&file, &text[..text.len() - 10]).unwrap();
    let done = cli.json("replay --to-file @f --resume --json", 0).await.remove(0);
    assert_eq!(done["commits"], 1);
    assert_eq!(sorted_lines(&cli.text("f")), all);

    agent.append("c0", vec![user("later")]).await;
    let done = cli.json("replay --to-file @f --resume --json", 0).await.remove(0);
    assert_eq!(done["commits"], 1);
    assert_eq!(sorted_lines(&cli.text("f")), sorted_lines(&cli.check("tail", 0, "").await));
    check_files_of_other_records(&cli).await;
}

async fn check_files_of_other_records(cli: &OperatorCli) {
    let file = cli.folder.path().join("g");
    let mut line = lines_of(&cli.text("f")).remove(0);
    line["commitId"] = json!("0199e8a1-0000-7000-8000-0000000000ad");
    fs::write(&file, format!("{line}\n")).unwrap();
    let resume = "replay --to-file @g --resume";
    cli.check(resume, 2, "belongs to another record").await;
    line["partition"] = json!(9);
    fs::write(&file, format!("{line}\n")).unwrap();
    cli.check(resume, 2, "belongs to another record").await;
    fs::write(&file, "sesame\n").unwrap();
    cli.check(resume, 2, "line 1 of ").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_replays_resume() {
    let (_stack, cli, _agent) = scene().await;
    let mut replay = cli.start("replay --to-file @f --rate 20");
    eventually_true("the first lines", || cli.text("f").lines().count() > 2).await;
    replay.kill();
    let there = cli.text("f").lines().count();
    assert!(there < COMMITS, "{there} lines at 20 a second");
    let done = cli.json("replay --to-file @f --resume --json", 0).await.remove(0);
    assert!(done["commits"].as_u64().unwrap() > 0, "{done}");
    assert_eq!(sorted_lines(&cli.text("f")), sorted_lines(&cli.check("tail", 0, "").await));
}

#[tokio::test(flavor = "multi_thread")]
async fn replays_publish_to_other_subjects_only() {
    let (_stack, cli, agent) = scene().await;
    for prefix in ["hansard", "hansard.3", "live.hansard", "a.>", "$JS.x"] {
        let line = format!("replay --to-subject {prefix}");
        cli.check(&line, 2, "the subject ").await;
    }
    assert_eq!(cli.json("tail", 0).await.len(), COMMITS);
    let stream = r#"{"name":"COPY","subjects":["copy.>"],"storage":"memory"}"#;
    cli.request("$JS.API.STREAM.CREATE.COPY", stream).await;
    let line = "replay --to-subject copy --places @p --rate 100000 --json";
    let warning = "the stream COPY stores copy.>";
    let done = lines_of(&cli.check(line, 0, warning).await).remove(0);
    assert_eq!((&done["commits"], &done["stream"]), (&json!(40), &json!("COPY")));
    cli.check(line, 2, "exists: continue it with --resume").await;
    let resume = format!("{line} --resume");
    assert_eq!(cli.json(&resume, 0).await[0]["commits"], 0);
    agent.append("c0", vec![user("later")]).await;
    assert_eq!(cli.json(&resume, 0).await[0]["commits"], 1);
    let other = resume.replace("copy", "copy.two");
    cli.check(&other, 2, "belongs to another record or prefix").await;
    cli.check("replay --to-subject copy --resume", 2, "--places").await;
    let line = "replay --to-subject free --tenant acme --rate 100000 --json";
    let warning = "no stream stores free.>";
    let done = lines_of(&cli.check(line, 0, warning).await).remove(0);
    assert_eq!(done["commits"], 41);
}
