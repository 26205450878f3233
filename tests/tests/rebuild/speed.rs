//! The speed of a rebuild, compared with a plain COPY of the same rows in the same run. Run with
//! `cargo test --release -p tests --test rebuild -- --ignored --nocapture speed`.

use std::path::Path;
use std::time::{Duration, Instant};

use event_log::Record;
use read_model::projections::conversations::wait_until_reached;
use read_model::{ReadModel, ReadModelConfig, SchemaName, ShardConfig};
use serde_json::Value;
use tests::agent::Agent;
use tests::chitchat;
use tests::events::user;
use tests::eventually::eventually;
use tests::import;
use tests::settings::{self, Role};
use tests::stack::Setup;
use wire::proto::event::v1::Event;

use crate::fixture::Fixture;

const TEXT_BYTES: usize = 200;
/// Concurrent commits.
const IN_FLIGHT: usize = 16;
const ROUNDS: usize = 3;

/// The rebuilt data.
#[derive(Debug, Clone, Copy)]
enum Filling {
    /// The whole chitchat data set.
    Chitchat,
    /// Conversations with equal commits.
    Even { conversations: usize, commits_each: usize, events_per_commit: usize },
}

/// Commits of an import, real and generated, and commits as of people.
const FILLINGS: [Filling; 3] = [
    Filling::Chitchat,
    Filling::Even { conversations: 1_000, commits_each: 3, events_per_commit: 100 },
    Filling::Even { conversations: 1_000, commits_each: 200, events_per_commit: 1 },
];

/// The tables of a rebuild.
const TABLES: [&str; 2] = ["event", "conversation"];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn speed() {
    for filling in FILLINGS {
        let setup = Setup::processes(tests::program!()).with_own_postgres();
        let mut fixture = Fixture::of(setup).await;
        fill(&fixture, filling).await;
        fixture.wait_for_rows().await;
        for _ in 0..ROUNDS {
            let (events, copied, sorted) = plain_copy(&mut fixture).await;
            let steps = fixture.rebuild_steps(&["conversations"]).await;
            let steps = ["copied", "indexed"].map(|step| seconds(&steps, step));
            let took: f64 = steps.iter().sum();
            let rate = |seconds: f64| f64::from(events) / seconds;
            let bare = copied.as_secs_f64();
            let with_indexes = (copied + sorted).as_secs_f64();
            println!(
                "{filling:?}: {events} rows, rebuilt {:.0} rows/s, s per step {steps:.2?}; bare COPY {:.0} rows/s, ratio {:.2}; with the same indexes {:.0} rows/s, ratio {:.2}",
                rate(took),
                rate(bare),
                bare / took,
                rate(with_indexes),
                with_indexes / took
            );
        }
    }
}

/// A projector of a shard without commits reads the whole record, and skips it: the time and the processor time of a commit. Run
/// alone, without other work on the machine.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn skipped_commits() {
    let setup = Setup::processes(tests::program!()).with_own_postgres();
    let mut fixture = Fixture::of(setup).await;
    let even @ Filling::Even { conversations, commits_each, .. } = FILLINGS[2] else {
        panic!("not the filling with single events");
    };
    fill(&fixture, even).await;
    fixture.wait_for_rows().await;
    let postgres = fixture.stack.servers.postgres_mut();
    postgres.create_database("shard").await.unwrap();
    let shard = ShardConfig {
        name: "eu".to_owned(),
        database_url: postgres.database_url("shard"),
        tenants: vec!["nobody".to_owned()],
        replica_urls: Vec::new(),
    };
    let model = ReadModel::connect_lazy(&ReadModelConfig::new(&shard.database_url)).unwrap();
    let projector = &mut fixture.stack.projector;
    projector.stop().await;
    projector.settings.projector.read_model.shards = vec![shard.clone()];
    projector.start().await;
    let mut skipping = fixture.stack.another(Role::Projector);
    skipping.settings.projector.read_model.shards = vec![shard];
    "eu".clone_into(&mut skipping.settings.projector.shard);
    let began = Instant::now();
    skipping.start().await;
    wait_for_checkpoints(&fixture, &model).await;
    let (took, commits) = (began.elapsed(), conversations * (commits_each + 1));
    let commits = f64::from(u32::try_from(commits).unwrap());
    let micros = |seconds: f64| seconds * 1e6 / commits;
    println!(
        "{commits} commits skipped by the projections of rows and search: {:.0} commits/s, {:.1} µs of the projector's processor time each",
        commits / took.as_secs_f64(),
        micros(processor_seconds(skipping.process().unwrap().id()))
    );
}

/// Waits until the rows and the search of a database have passed the whole record.
async fn wait_for_checkpoints(fixture: &Fixture, model: &ReadModel) {
    let record = Record::open(settings::record(&fixture.stack.servers)).await;
    let ends = record.unwrap().ends().await.unwrap();
    for tables in [model.clone(), model.for_search()] {
        eventually("checkpoints at the end of the record", || async {
            let reached = wait_until_reached(&tables, &ends, Duration::ZERO).await;
            reached.is_ok_and(|reached| reached).then_some(())
        })
        .await;
    }
}

/// The processor time of a process so far.
fn processor_seconds(process: u32) -> f64 {
    /// Of a second, on every Linux that runs the tests.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    // The user's and the kernel's time are fields 14 and 15; the first two are before the parenthesis.
    let ticks = fields.skip(11).take(2).map(|field| field.parse::<f64>().unwrap());
    ticks.sum::<f64>() / TICKS
}

async fn fill(fixture: &Fixture, filling: Filling) {
    match filling {
        Filling::Chitchat => {
            let (program, all) = (tests::program!(), chitchat::CONVERSATIONS);
            import::chitchat(&program, &fixture.stack, &fixture.agent, all).await;
        }
        Filling::Even { conversations, commits_each, events_per_commit } => {
            let events = vec![user("x".repeat(TEXT_BYTES)); events_per_commit];
            let ids: Vec<String> = (0..conversations).map(|n| format!("c-{n}")).collect();
            for some in ids.chunks(IN_FLIGHT) {
                let begin = some.iter().map(|id| begin(&fixture.agent, id, (commits_each, &events)));
                futures::future::join_all(begin).await;
            }
        }
    }
}

/// Creates a conversation with this many commits of these events.
async fn begin(agent: &Agent, id: &str, (commits, events): (usize, &[Event])) {
    agent.create(id).await;
    for _ in 0..commits {
        append(agent, id, events.to_vec()).await;
    }
}

/// Appends once, with retries: a busy machine may not answer in time.
async fn append(agent: &Agent, id: &str, events: Vec<Event>) {
    let mut request = agent.append_request(id, events);
    if let Some(target) = &mut request.target {
        target.idempotency_key = uuid::Uuid::now_v7().to_string();
    }
    eventually("a commit", || async { agent.try_append(request.clone()).await.ok() }).await;
}

/// The number of events, and the time of a plain COPY of the same rows with their indexes. The rows are in binary files
/// in the server's folder. The tables have the same columns, and get their indexes after the COPY.
async fn plain_copy(fixture: &mut Fixture) -> (u32, Duration, Duration) {
    let live = fixture.live().await;
    let psql = fixture.stack.servers.postgres_mut().tool("psql");
    let url = fixture.stack.servers.database_url().to_owned();
    let run = async |statements: &[String]| run(&psql, &url, statements).await;
    let each = |statement: fn(&str, SchemaName) -> String| TABLES.map(|table| statement(table, live));
    run(&each(|table, live| with_file(&format!("COPY {live}.{table} TO %L (FORMAT binary)"), table))).await;
    let events = run(&[format!("SELECT count(*) FROM {live}.event")]).await;
    let indexes = run(&each(|table, live| {
        format!(
            "SELECT replace(indexdef, '{live}.', 'bare.') FROM pg_indexes WHERE schemaname = '{live}' AND tablename = '{table}'"
        )
    }))
    .await;
    run(&["CREATE SCHEMA bare".to_owned()]).await;
    run(&each(|table, live| format!("CREATE TABLE bare.{table} (LIKE {live}.{table})"))).await;
    run(&["CHECKPOINT".to_owned()]).await;
    let began = Instant::now();
    run(&each(|table, _| with_file(&format!("COPY bare.{table} FROM %L (FORMAT binary)"), table))).await;
    let copied = began.elapsed();
    let memory = "SET maintenance_work_mem = '256MB'".to_owned();
    let indexes = std::iter::once(memory).chain(indexes.lines().map(str::to_owned));
    run(&indexes.collect::<Vec<_>>()).await;
    let sorted = began.elapsed().saturating_sub(copied);
    run(&["DROP SCHEMA bare CASCADE", "CHECKPOINT"].map(str::to_owned)).await;
    (events.trim().parse().expect("a number"), copied, sorted)
}

/// A statement with the table's file as `%L`.
fn with_file(statement: &str, table: &str) -> String {
    format!("DO $$ BEGIN EXECUTE format('{statement}', current_setting('data_directory') || '/{table}.rows'); END $$")
}

/// Runs statements in one session; returns their output.
async fn run(psql: &Path, url: &str, statements: &[String]) -> String {
    let mut command = tokio::process::Command::new(psql);
    command.args([url, "-qAt", "-v", "ON_ERROR_STOP=1"]);
    for statement in statements {
        command.args(["-c", statement]);
    }
    let ran = command.output().await.expect("psql");
    assert!(ran.status.success(), "{statements:?}: {ran:?}");
    String::from_utf8(ran.stdout).expect("text")
}

fn seconds(steps: &[Value], name: &str) -> f64 {
    let of = |step: &&Value| step.get("step").and_then(Value::as_str) == Some(name);
    let step = steps.iter().find(of).expect("a step");
    step.get("seconds").and_then(Value::as_f64).expect("a time")
}
