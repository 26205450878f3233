//! How fast a rebuild is, beside a bare COPY of the same rows in the same run. Run with
//! `cargo test --release -p tests --test rebuild -- --ignored --nocapture speed`.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tests::agent::Agent;
use tests::events::user;
use tests::eventually::eventually;
use tests::stack::Setup;
use wire::proto::event::v1::Event;

use crate::ground::Ground;

const TEXT_BYTES: usize = 200;
/// Commits on their way at once.
const IN_FLIGHT: usize = 16;
const ROUNDS: usize = 3;

/// What is rebuilt.
#[derive(Debug, Clone, Copy)]
struct Shape {
    conversations: usize,
    commits_each: usize,
    events_per_commit: usize,
}

/// As an import leaves it, and as people do.
const SHAPES: [Shape; 2] = [
    Shape {
        conversations: 1_000,
        commits_each: 3,
        events_per_commit: 100,
    },
    Shape {
        conversations: 1_000,
        commits_each: 60,
        events_per_commit: 1,
    },
];

/// A bare COPY: the rows are in a file of the server's own folder, in binary, and go into a table of the same columns. The
/// indexes are made behind it, as a rebuild makes them.
const COPY: &str = "COPY bare.event FROM %L (FORMAT binary)";
const INDEXES: [&str; 3] = [
    "ALTER TABLE bare.event ADD PRIMARY KEY (tenant_id, conversation_id, version)",
    "CREATE UNIQUE INDEX ON bare.event (tenant_id, conversation_id, commit_id) WHERE commit_index = 0",
    "CREATE INDEX ON bare.event (tenant_id, conversation_id, kind, version) WHERE kind <> 1",
];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn speed() {
    for shape in SHAPES {
        let mut ground = Ground::of(Setup::processes(tests::program!()).with_own_postgres()).await;
        fill(&ground.agent, shape).await;
        ground.projected().await;
        let events = shape.conversations * (1 + shape.commits_each * shape.events_per_commit);
        for _ in 0..ROUNDS {
            let (copied, sorted) = bare(&mut ground).await;
            let steps = ground.rebuilt(&["conversations"]).await;
            let took = seconds(&steps, "copied") + seconds(&steps, "indexed");
            let rate = |seconds: f64| f64::from(u32::try_from(events).expect("few")) / seconds;
            let bare = copied.as_secs_f64();
            let with_indexes = (copied + sorted).as_secs_f64();
            println!(
                "{shape:?}: rebuilt {:.0} rows/s; bare COPY {:.0} rows/s, ratio {:.2}; with the same indexes {:.0} rows/s, ratio {:.2}",
                rate(took),
                rate(bare),
                bare / took,
                rate(with_indexes),
                with_indexes / took
            );
        }
    }
}

async fn fill(agent: &Agent, shape: Shape) {
    let text = "x".repeat(TEXT_BYTES);
    let ids: Vec<String> = (0..shape.conversations).map(|n| format!("c-{n}")).collect();
    for some in ids.chunks(IN_FLIGHT) {
        let fill = some.iter().map(|id| async {
            agent.create(id).await;
            for _ in 0..shape.commits_each {
                append(agent, id, vec![user(&text); shape.events_per_commit]).await;
            }
        });
        futures::future::join_all(fill).await;
    }
}

/// Appends once, however often it takes: a busy machine may not answer in time.
async fn append(agent: &Agent, id: &str, events: Vec<Event>) {
    let mut request = agent.append_request(id, events);
    if let Some(target) = &mut request.target {
        target.idempotency_key = uuid::Uuid::now_v7().to_string();
    }
    eventually("a commit", || async {
        agent.try_append(request.clone()).await.ok()
    })
    .await;
}

/// How long the COPY takes, and the indexes.
async fn bare(ground: &mut Ground) -> (Duration, Duration) {
    let live = ground.live().await;
    let psql = ground.stack.servers.postgres_mut().tool("psql");
    let url = ground.stack.servers.database_url().to_owned();
    let run = async |sql: &str| run(&psql, &url, sql).await;
    run(&with_file(&format!(
        "COPY {live}.event TO %L (FORMAT binary)"
    )))
    .await;
    run("CREATE SCHEMA bare").await;
    run(&format!("CREATE TABLE bare.event (LIKE {live}.event)")).await;
    run("CHECKPOINT").await;
    let began = Instant::now();
    run(&with_file(COPY)).await;
    let copied = began.elapsed();
    for index in INDEXES {
        run(index).await;
    }
    let indexed = began.elapsed().saturating_sub(copied);
    run("DROP SCHEMA bare CASCADE").await;
    run("CHECKPOINT").await;
    (copied, indexed)
}

/// A statement that names the file as `%L`.
fn with_file(statement: &str) -> String {
    format!(
        "DO $$ BEGIN EXECUTE format('{statement}', current_setting('data_directory') || '/rows'); END $$"
    )
}

async fn run(psql: &Path, url: &str, sql: &str) {
    let mut command = tokio::process::Command::new(psql);
    let ran = command.args([url, "-q", "-v", "ON_ERROR_STOP=1", "-c", sql]);
    let ran = ran.output().await.expect("psql");
    assert!(ran.status.success(), "{sql}: {ran:?}");
}

fn seconds(steps: &[Value], name: &str) -> f64 {
    let of = |step: &&Value| step.get("step").and_then(Value::as_str) == Some(name);
    let step = steps.iter().find(of).expect("a step");
    step.get("seconds").and_then(Value::as_f64).expect("a time")
}
