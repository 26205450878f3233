//! `tail` and `replay` return the whole record, including archived commits.

use std::fs;

use tests::events::user;
use tokio::process::Command;

use crate::fixture::{Fixture, TENANT};
use crate::old_conversations::OldConversation;

/// The server's time, from the clock that server and test share.
async fn now() -> String {
    let date = Command::new("date").args(["--utc", "+%Y-%m-%dT%H:%M:%S.%NZ"]).output().await;
    let date = String::from_utf8(date.expect("a time").stdout);
    date.expect("a time").trim().to_owned()
}

/// The lines of `tail`, each partition in order.
async fn tail(fixture: &Fixture, arguments: &str) -> Vec<(u64, u64)> {
    let lines = fixture.lines(&format!("tail {arguments}"), 0).await;
    let place = |line: &serde_json::Value| {
        let number = |key: &str| line[key].as_u64().expect("a number");
        (number("partition"), number("sequence"))
    };
    let places: Vec<(u64, u64)> = lines.iter().map(place).collect();
    for partition in 0..8 {
        let own = places.iter().filter(|(one, _)| *one == partition);
        assert!(own.is_sorted(), "{places:?}");
    }
    let mut places = places;
    places.sort_unstable();
    places
}

#[tokio::test(flavor = "multi_thread")]
async fn tail_and_replay_read_archived_commits_in_order() {
    let fixture = Fixture::start().await;
    fixture.fill(6, 10).await;
    fixture.agent.create("young").await;
    let middle = now().await;
    OldConversation::new("late").chat(&fixture.record, 10).await;
    fixture.agent.append("young", vec![user("one")]).await;
    fixture.wait_for_rows(fixture.stack.servers.database_url()).await;
    let one = format!("--tenant {TENANT} --conversation old-5");
    let asked = [
        String::new(),
        one.clone(),
        "--partition 3 --after 2".to_owned(),
        format!("--since {middle}"),
        format!("--until {middle}"),
        format!("--tenant {TENANT} --conversation late --until {middle}"),
    ];
    let mut before = Vec::new();
    for arguments in &asked {
        before.push(tail(&fixture, arguments).await);
    }
    let all = before[0].len();
    assert_eq!(all, before[3].len() + before[4].len());
    assert_eq!((before[1].len(), before[5].len()), (11, 0));
    let summary = fixture.archive().await;
    assert_eq!(summary["trimmed"], 70, "{summary}");
    for (arguments, before) in asked.iter().zip(&before) {
        assert_eq!(&tail(&fixture, arguments).await, before, "{arguments}");
    }
    let left = fixture.run(&format!("tail {one} --without-archive"), 0).await;
    assert_eq!(left.stdout.lines().count(), 1);
    assert!(left.stderr.contains("are not read"), "{left:?}");

    let file = fixture.folder.path().join("all.jsonl");
    let replay = format!("replay --to-file {}", file.display());
    fixture.run(&replay, 0).await;
    let lines = || fs::read_to_string(&file).expect("a file").lines().count();
    assert_eq!(lines(), all);
    fixture.run(&format!("{replay} --resume"), 0).await;
    assert_eq!(lines(), all);

    // Without the store, the commands fail and return no shorter record.
    let (here, away) = (fixture.segments(), fixture.folder.path().join("away"));
    fs::rename(&here, &away).expect("a folder");
    let lost = fixture.run("tail", 1).await;
    assert!(lost.stderr.contains("cannot be reached"), "{lost:?}");
    let moved = format!("--archive file://{}", away.display());
    assert_eq!(tail(&fixture, &moved).await, before[0]);
}
