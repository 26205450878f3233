//! The speed of archiving commits, and of projecting archived commits; what hibernation saves, and what waking costs.

use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream;
use tests::events::{session, user};
use tests::eventually::eventually;
use tests::servers::nats_page;
use wire::proto::write::v1 as write;

use crate::fixture::Fixture;
use crate::old_conversations::OldConversation;

const CONVERSATIONS: usize = 400;
const MESSAGES: usize = 50;

/// Run it in a release build: `cargo test --release -p tests --test archive speed -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn speed() {
    for removal in ["overwrite", "delete"] {
        measure_archive(removal).await;
    }
}

async fn measure_archive(removal: &str) {
    let fixture = Fixture::start().await;
    fixture.fill(CONVERSATIONS, MESSAGES).await;
    let before = fixture.size_bytes().await;
    let summary = fixture.summary(&fixture.archiving(&format!("--removal {removal}"))).await;
    let commits = u32::try_from(CONVERSATIONS * MESSAGES).expect("a number of commits");
    let rate = |seconds: f64| f64::from(commits) / seconds;
    let seconds = summary["seconds"].as_f64().expect("seconds");
    let (after, stored) = (fixture.size_bytes().await, summary["sizeBytes"].as_u64());
    println!(
        "{removal}: archived {} commits in {seconds:.1} s, {:.0}/s; the record's streams: {before} bytes before, {after} after, {stored:?} in segments",
        summary["commits"],
        rate(seconds),
    );
    for line in ["archive verify", "verify", "rebuild conversations"] {
        let began = Instant::now();
        fixture.run(line, 0).await;
        let took = began.elapsed().as_secs_f64();
        println!("{line}: {took:.1} s, {:.0} commits/s", rate(took));
    }
}

/// Conversations that are created before their rows are awaited.
const CREATED_AT_ONCE: usize = 20_000;
/// Interval of checks for the end of a run.
const POLL: Duration = Duration::from_millis(100);
/// Conversations that are woken.
const WOKEN: usize = 2_000;

/// Creates conversations with one commit, as fast as their rows are written.
async fn create(fixture: &Fixture, range: std::ops::Range<usize>, days: i64) {
    let (record, url) = (&fixture.record, fixture.stack.servers.database_url());
    for first in range.clone().step_by(CREATED_AT_ONCE) {
        let last = range.end.min(first + CREATED_AT_ONCE);
        stream::iter(first..last)
            .for_each_concurrent(256, |n| async move {
                let mut one = OldConversation::new(&format!("c-{n}"));
                one.say(record, days, "").await;
            })
            .await;
        fixture.wait_for_rows(url).await;
    }
}

/// The memory of a server that has just started, in MB.
async fn memory(fixture: &mut Fixture) -> f64 {
    fixture.stack.servers.nats_mut().restart().await.expect("a server");
    let record = &fixture.record;
    eventually("a record", || async { record.check().await.ok() }).await;
    let page = nats_page(fixture.stack.servers.nats(), "/varz").await;
    page.expect("a page")["mem"].as_f64().expect("bytes") / 1e6
}

/// Run it in a release build: `cargo test --release -p tests --test archive hibernation_costs -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement of some minutes"]
async fn hibernation_costs() {
    measure_hibernation(2_000, 38_000, "overwrite").await;
}

/// As `hibernation_costs`: a quarter of an hour.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement of a quarter of an hour"]
async fn a_million_conversations() {
    measure_hibernation(50_000, 950_000, "delete").await;
}

async fn measure_hibernation(active: usize, idle: usize, removal: &str) {
    let mut fixture = Fixture::start().await;
    create(&fixture, 0..active, 1).await;
    let memory_active = memory(&mut fixture).await;
    create(&fixture, active..active + idle, 100).await;
    let memory_awake = memory(&mut fixture).await;
    let (took, log) = hibernate(&fixture, removal).await;
    let memory_hibernated = memory(&mut fixture).await;
    println!(
        "nats-server: {memory_active:.1} MB with {active} conversations, {memory_awake:.1} MB with {idle} more, {memory_hibernated:.1} MB after their hibernation in {took:.0} s"
    );
    println!("{log}");
    let (took, _) = hibernate(&fixture, removal).await;
    println!("a run that finds nothing to do: {took:.1} s");
    measure_appends(&fixture, active, idle).await;
}

/// Hibernates the idle conversations. Returns the seconds, and what the command printed.
async fn hibernate(fixture: &Fixture, removal: &str) -> (f64, String) {
    let began = Instant::now();
    let mut run = fixture.begin_hibernation(removal);
    let ended = loop {
        match run.has_ended() {
            Some(ended) => break ended,
            None => tokio::time::sleep(POLL).await,
        }
    };
    assert!(ended.success(), "{}", run.log());
    (began.elapsed().as_secs_f64(), run.log())
}

/// The times of appends, one after the other.
async fn measure_appends(fixture: &Fixture, active: usize, idle: usize) {
    let mut times = Vec::with_capacity(WOKEN);
    for n in 0..WOKEN {
        let id = format!("c-{}", active + n * (idle / WOKEN));
        let began = Instant::now();
        let result = fixture.agent.append(&id, vec![user("again")]).await;
        times.push(began.elapsed());
        assert_eq!(result.version, 2);
    }
    println!("waking: {}", percentiles(&mut times));
    let mut times = Vec::with_capacity(WOKEN);
    for n in 0..WOKEN {
        let began = Instant::now();
        fixture.agent.append(&format!("c-{n}"), vec![user("again")]).await;
        times.push(began.elapsed());
    }
    println!("an append to an awake one: {}", percentiles(&mut times));
    // The first tenant may have as many conversations as its quota.
    let other = fixture.stack.agent("other", "other-support").await;
    let mut times = Vec::with_capacity(WOKEN);
    for n in 0..WOKEN {
        let id = format!("new-{n}");
        let request = write::CreateConversationRequest { owner: Some(session("another")), ..other.create_request(&id) };
        let began = Instant::now();
        other.try_create(request).await.expect("a conversation");
        times.push(began.elapsed());
    }
    println!("a creation: {}", percentiles(&mut times));
}

fn percentiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 1_000].as_secs_f64() * 1_000.0;
    format!("p50 {:.2} ms, p99 {:.2} ms, longest {:.1} ms", at(500), at(990), at(1_000))
}
