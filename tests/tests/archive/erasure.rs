//! What is erased is in no segment either, and no rebuild brings it back.

use tests::eventually::eventually;

use crate::ground::{Ground, TENANT, files};
use crate::old::Old;

/// A text that no compression takes apart: it stands in a segment's blocks only packed, so what is looked for is the word of
/// the program.
const SECRET: &str = "the-codeword-is-cerulean-and-stands-alone";

async fn reads(ground: &Ground, id: &str) -> String {
    let folder = ground.segments();
    let line = format!(
        "archive read --tenant {TENANT} --conversation {id} --from file://{}",
        folder.display()
    );
    ground.run(&line, 0).await.stdout
}

fn in_nats(ground: &Ground) -> usize {
    let folder = ground.stack.servers.nats().folder();
    let holds = |file: &std::path::PathBuf| {
        std::fs::read(file).is_ok_and(|bytes| {
            bytes
                .windows(SECRET.len())
                .any(|window| window == SECRET.as_bytes())
        })
    };
    files(folder).iter().filter(|file| holds(file)).count()
}

async fn secret(ground: &Ground, id: &str) {
    let mut one = Old::named(id);
    one.say(&ground.record, 100, "").await;
    for _ in 0..3 {
        one.say(&ground.record, 100, SECRET).await;
    }
    one.say(&ground.record, 100, "goodbye").await;
}

#[tokio::test]
async fn what_is_erased_is_nowhere() {
    let ground = Ground::start().await;
    for id in ["by-operator", "by-door"] {
        secret(&ground, id).await;
    }
    ground.fill(6, 10).await;
    assert!(in_nats(&ground) > 0, "the search finds nothing");
    ground.archive().await;
    assert_eq!(
        in_nats(&ground),
        0,
        "what was archived is not left in the record's files"
    );
    for id in ["by-operator", "by-door"] {
        assert_eq!(reads(&ground, id).await.matches(SECRET).count(), 3, "{id}");
    }
    let segments = ground.lines("archive list --json", 0).await.len();

    let receipt = ground.folder.path().join("receipt.json");
    let line = format!(
        "erase conversation by-operator --tenant {TENANT} --json --receipt {}",
        receipt.display()
    );
    let erased = ground.lines(&line, 0).await;
    assert_eq!(erased[0]["archived"], 4, "{erased:?}");
    assert_eq!(reads(&ground, "by-operator").await, "");
    ground
        .run(&format!("erase verify-receipt {}", receipt.display()), 0)
        .await;

    ground
        .agent
        .try_erase(ground.agent.target("by-door"))
        .await
        .expect("an erasure");
    let found = ground.lines("archive sweep --dry-run --json", 0).await;
    assert_eq!(
        (&found[0]["erased"], &found[0]["swept"]),
        (&1.into(), &false.into())
    );
    let named = ground.lines("archive verify --json", 5).await;
    let found = (&named[0]["kind"], &named[0]["of"]);
    assert_eq!(
        found,
        (&"erased".into(), &format!("{TENANT}/by-door").into())
    );
    assert_eq!(reads(&ground, "by-door").await.matches(SECRET).count(), 3);
    let swept = ground.lines("archive sweep --json", 0).await;
    assert_eq!(swept[0]["commits"], 4, "{swept:?}");
    assert_eq!(reads(&ground, "by-door").await, "");

    assert!(ground.files().len() <= segments);
    assert_eq!(in_nats(&ground), 0);
    ground.run("archive verify", 0).await;
    ground.projected(ground.stack.servers.database_url()).await;
    ground.verify().await;
    ground.run("rebuild conversations", 0).await;
    ground.verify().await;
    for id in ["by-operator", "by-door"] {
        let target = ground.agent.read_target(id);
        let gone = ground.agent.try_get(target).await.expect_err("nothing");
        assert_eq!(gone.code(), tonic::Code::NotFound);
    }
    assert_eq!(ground.texts("old-2").await.len(), 10);
}

#[tokio::test]
async fn a_run_sweeps_first_and_a_detached_fork_keeps_its_archived_past() {
    let ground = Ground::start().await;
    let parent = Old::named("parent").chat(&ground.record, 6).await;
    let mut fork = Old::fork("child", &parent, 5);
    fork.say(&ground.record, 100, "").await;
    fork.say(&ground.record, 100, "aside").await;
    fork.say(&ground.record, 100, "and on").await;
    secret(&ground, "swept").await;
    let url = ground.stack.servers.database_url();
    ground.projected(url).await;
    let before = ground.texts("child").await;
    assert_eq!(before.len(), 6, "{before:?}");
    ground.archive().await;

    ground
        .agent
        .try_erase(ground.agent.target("swept"))
        .await
        .expect("an erasure");
    let told = ground.archive().await;
    assert_eq!(told["sweptCommits"], 4, "{told}");
    assert_eq!(reads(&ground, "swept").await, "");

    let line = format!("erase conversation parent --tenant {TENANT} --forks detach --json");
    ground.run(&line, 0).await;
    eventually("the copy", || async {
        let texts = ground.texts("child-detached").await;
        (texts == before).then_some(())
    })
    .await;
    for id in ["parent", "child"] {
        assert_eq!(reads(&ground, id).await, "", "{id}");
    }
    ground.projected(url).await;
    ground.run("archive verify", 0).await;
    ground.verify().await;
}
