//! `tail` and `replay` give the record as if nothing of it were elsewhere.

use std::fs;

use tests::events::user;
use tokio::process::Command;

use crate::ground::{Ground, TENANT};
use crate::old::Old;

/// The server's time, by the one clock that both have.
async fn now() -> String {
    let date = Command::new("date")
        .args(["--utc", "+%Y-%m-%dT%H:%M:%S.%NZ"])
        .output()
        .await;
    let date = String::from_utf8(date.expect("a time").stdout);
    date.expect("a time").trim().to_owned()
}

/// What `tail` prints, each partition in its order.
async fn tail(ground: &Ground, arguments: &str) -> Vec<(u64, u64)> {
    let lines = ground.lines(&format!("tail {arguments}"), 0).await;
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
async fn what_is_archived_is_read_in_its_place() {
    let ground = Ground::start().await;
    ground.fill(6, 10).await;
    ground.agent.create("young").await;
    let middle = now().await;
    Old::named("late").chat(&ground.record, 10).await;
    ground.agent.append("young", vec![user("one")]).await;
    ground.projected(ground.stack.servers.database_url()).await;
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
        before.push(tail(&ground, arguments).await);
    }
    let all = before[0].len();
    assert_eq!(all, before[3].len() + before[4].len());
    assert_eq!((before[1].len(), before[5].len()), (11, 0));
    let told = ground.archive().await;
    assert_eq!(told["trimmed"], 70, "{told}");
    for (arguments, before) in asked.iter().zip(&before) {
        assert_eq!(&tail(&ground, arguments).await, before, "{arguments}");
    }
    let left = ground
        .run(&format!("tail {one} --without-archive"), 0)
        .await;
    assert_eq!(left.stdout.lines().count(), 1);
    assert!(left.stderr.contains("are not read"), "{left:?}");

    let file = ground.folder.path().join("all.jsonl");
    let replay = format!("replay --to-file {}", file.display());
    ground.run(&replay, 0).await;
    let lines = || fs::read_to_string(&file).expect("a file").lines().count();
    assert_eq!(lines(), all);
    ground.run(&format!("{replay} --resume"), 0).await;
    assert_eq!(lines(), all);

    // A store that is away is no reason to give less.
    let (here, away) = (ground.segments(), ground.folder.path().join("away"));
    fs::rename(&here, &away).expect("a folder");
    let lost = ground.run("tail", 1).await;
    assert!(lost.stderr.contains("cannot be reached"), "{lost:?}");
    let moved = format!("--archive file://{}", away.display());
    assert_eq!(tail(&ground, &moved).await, before[0]);
}
