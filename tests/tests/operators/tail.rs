//! `hansard tail`: filters of the record, and output formats.

use domain::{Partition, Sequence};
use event_log::Record;
use serde_json::Value;
use tests::agent::Agent;
use tests::events::{assistant, call, result, user};
use tests::eventually::eventually_true;
use tests::settings;
use tests::stack::{Setup, Stack};

use crate::operator_cli::OperatorCli;

/// Conversations of two tenants.
struct Scene {
    stack: Stack,
    cli: OperatorCli,
    acme: Agent,
    other: Agent,
}

async fn scene() -> Scene {
    let stack = Setup::tasks().start().await;
    let (acme, other) = (stack.agent("acme", "a").await, stack.agent("other", "o").await);
    for conversation in ["c1", "c2"] {
        acme.create(conversation).await;
    }
    other.create("c1").await;
    acme.append("c1", vec![user("Weather in Oslo?\nPlease.")]).await;
    let calls = vec![call("k1", r#"{"city":"Oslo"}"#), result("k1", r#"{"t":-3}"#)];
    acme.append("c1", calls).await;
    acme.append("c1", vec![assistant("Cold.")]).await;
    let cli = OperatorCli::at(&stack);
    Scene { stack, cli, acme, other }
}

/// The tenant, and the index in its conversation, of each line.
fn places(lines: &[Value]) -> Vec<(&str, &str, &str)> {
    let mut places: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["envelope"]["tenantId"].as_str().unwrap(),
                line["envelope"]["conversationId"].as_str().unwrap(),
                line["envelope"]["firstVersion"].as_str().unwrap(),
            )
        })
        .collect();
    places.sort_unstable();
    places
}

const ACME: [(&str, &str, &str); 5] =
    [("acme", "c1", "1"), ("acme", "c1", "2"), ("acme", "c1", "3"), ("acme", "c1", "5"), ("acme", "c2", "1")];

#[tokio::test(flavor = "multi_thread")]
async fn tail_filters_by_tenant_and_time() {
    let scene = scene().await;
    let cli = &scene.cli;
    let own = cli.json("tail --tenant acme", 0).await;
    assert_eq!(places(&own), ACME);
    assert_eq!(cli.json("tail", 0).await.len(), 6);
    assert_eq!(cli.json("tail --tenant nobody", 0).await.len(), 0);
    let conversation = cli.json("tail --tenant acme --conversation c1", 0).await;
    assert_eq!(places(&conversation), ACME[..4]);

    // The time when the second commit was stored, from the server's clock.
    let record = Record::open(settings::record(&scene.stack.servers)).await.unwrap();
    let at = |name: &str| conversation[1][name].as_u64().unwrap();
    let partition = Partition(u16::try_from(at("partition")).unwrap());
    let before = Sequence(at("sequence") - 1);
    let stored = record.next_after(partition, before).await.unwrap().unwrap().stored_at;
    let time = wire::time::to_proto(stored);
    for line in [
        format!("tail --tenant acme --conversation c1 --since {time}"),
        format!("tail --tenant acme --partition {} --since {time}", partition.0),
    ] {
        let since = cli.json(&line, 0).await;
        assert_eq!(places(&since)[..3], ACME[1..4], "{line}");
    }
    let line = format!("tail --tenant acme --conversation c1 --until {time}");
    assert_eq!(places(&cli.json(&line, 0).await), ACME[..1]);
    let line = format!("tail --tenant acme --conversation c1 --since {time} --until {time}");
    assert_eq!(cli.json(&line, 0).await.len(), 0);
    assert_eq!(cli.json("tail --until 1990-01-01T00:00:00Z", 0).await.len(), 0);
    assert_eq!(cli.json("tail --since 1990-01-01T00:00:00Z", 0).await.len(), 6);
    assert_eq!(cli.json("tail --since 2200-01-01T00:00:00Z", 0).await.len(), 0);
    cli.check("tail --partition 8", 2, "the partition must be from 0 to 7").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_output_is_a_transcript() {
    let scene = scene().await;
    let line = "tail --tenant acme --conversation c1 --format transcript";
    let shown = scene.cli.check(line, 0, "").await;
    let words: Vec<&str> = shown.lines().map(|line| line.get(21..).unwrap_or(line)).collect();
    let expected = [
        "acme / c1",
        "        *  created for session s, agent a",
        "     user  Weather in Oslo?",
        "           Please.",
        "assistant  -> ",
    ];
    for (found, expected) in words.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found:?}: {shown}");
    }
    assert!(shown.contains(r#"{"t":-3}"#), "{shown}");
    assert!(shown.trim_end().ends_with("assistant  Cold."), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn follow_prints_new_commits() {
    let scene = scene().await;
    let lines = [("tail --tenant acme --follow", 6), ("tail --tenant acme --conversation c1 --follow", 5)];
    let following = lines.map(|(line, count)| (scene.cli.start(line), count));
    for (process, count) in &following {
        eventually_true("the past", || process.log().lines().count() == count - 1).await;
    }
    scene.other.append("c1", vec![user("not chosen")]).await;
    scene.acme.append("c1", vec![user("it goes on")]).await;
    for (process, count) in &following {
        eventually_true("the followed commits", || process.log().lines().count() >= *count).await;
        let log = process.log();
        assert!(log.lines().last().unwrap().contains("it goes on"), "{log}");
        assert!(!log.contains("not chosen"), "{log}");
    }
}
