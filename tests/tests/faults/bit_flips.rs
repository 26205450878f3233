//! A bit of a commit flips in a block file of nats-server, which is then restarted.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use devstack::NatsConfig;
use domain::Position;
use tests::checker::{self, Finding, Kind, RecordContents};
use tests::disk::Disk;
use tests::errors::Failure;

use crate::fixture::{FaultTarget, Fixture};
use crate::injection::seed;
use crate::table::{Row, add, print};
use crate::three_servers::{ThreeServers, wait_for_agreement};
use crate::verdict::{conclude, read_record, report};
use crate::workload::{HOT, Workload, WorkloadResult};

/// Acknowledgements before the bit flips.
const ACKNOWLEDGED: usize = 300;
/// The server of three with the damaged file.
const DAMAGED_SERVER: usize = 2;

/// The damaged commit, in the middle of a busy conversation.
struct DamagedCommit {
    position: Position,
    sealed: Bytes,
}

impl DamagedCommit {
    async fn choose(fixture: &Fixture) -> Self {
        let record = fixture.record().await;
        let recorded = RecordContents::read(&record).await.expect("the record");
        let mut conversations = recorded.conversations.into_iter();
        let hot = conversations.find(|(key, _)| key.conversation.as_str() == HOT);
        let commits = hot.expect("a busy conversation").1;
        let position = commits[commits.len() / 2].position;
        let stored = record.message_at(position).await.expect("the record");
        let sealed = stored.expect("a commit").message;
        Self { position, sealed }
    }

    /// Stream and sequence, as in the message for operators.
    fn name(&self) -> String {
        let Position { partition, sequence } = self.position;
        format!("HANSARD_{partition}, sequence {sequence}")
    }

    /// The block file of a server that contains the commit, and the offset in it; `None` if no file has the complete
    /// commit.
    fn find(&self, server: &Path) -> Option<(PathBuf, usize)> {
        let blocks = format!("store/jetstream/$G/streams/HANSARD_{}/msgs", self.position.partition);
        let mut files = fs::read_dir(server.join(blocks)).expect("a stream").map(|file| file.expect("a file").path());
        files.find_map(|file| {
            let bytes = fs::read(&file).expect("a block");
            let mut windows = bytes.windows(self.sealed.len());
            let at = windows.position(|window| window == self.sealed)?;
            Some((file, at))
        })
    }

    /// Flips a bit near the end of the commit.
    fn flip(&self, server: &Path) {
        let (file, at) = self.find(server).expect("a block that holds the commit");
        let at = u64::try_from(at + self.sealed.len() - 1).unwrap();
        let block = OpenOptions::new().read(true).write(true).open(file).unwrap();
        let mut byte = [0];
        block.read_exact_at(&mut byte, at).unwrap();
        block.write_all_at(&[byte[0] ^ 1], at).unwrap();
    }
}

async fn run_load(fixture: &Fixture) -> WorkloadResult {
    let load = Workload::start(fixture, seed()).await;
    load.wait_for_acknowledgements(ACKNOWLEDGED).await;
    load.finish().await
}

/// The server detects the flipped bit and omits the commit. The gateway reports the missing commit, and returns no
/// later events.
#[tokio::test(flavor = "multi_thread")]
async fn missing_commits_are_reported() {
    let title = "a flipped bit in a block file, nats-server stopped cleanly";
    let disk = Disk::plain();
    let setup = Fixture::setup().with_nats(vec![NatsConfig::new(disk.folder())]);
    let mut fixture = Fixture::on(setup).await;
    // So that all events are read from the record.
    fixture.kill(FaultTarget::Projectors);
    let tried = run_load(&fixture).await;
    let damaged = DamagedCommit::choose(&fixture).await;
    damaged.flip(disk.folder());
    let server = fixture.stack.servers.nats_mut();
    server.restart().await.expect("NATS again");

    let recorded = RecordContents::read(&fixture.record().await).await.expect("the record");
    let mut findings = checker::check_calls(&tried.calls, &recorded);
    findings.retain(|finding| finding.conversation.conversation.as_str() == HOT);
    expect(&findings, |kind| kind == Kind::Gap);
    expect(&findings, |kind| kind == Kind::BrokenChain);
    let agent = &fixture.agent;
    let failure: Failure = match agent.try_events(agent.list_request(HOT)).await {
        Ok(page) => panic!("{} events past a hole", page.events.len()),
        Err(status) => status.into(),
    };
    assert_eq!(failure.reason, "DATA_CORRUPT", "{failure:?}");
    assert!(failure.message.contains(HOT), "the conversation is named: {failure:?}");
    note(title, &tried, &findings, &format!("{}; the gateway: {}", damaged.name(), failure.message));
}

/// After a crash nats-server truncates the stream at the flipped bit without a report; the checker must find it.
#[tokio::test(flavor = "multi_thread")]
async fn truncated_streams_are_found() {
    let title = "a flipped bit in the last block file, nats-server killed";
    let disk = Disk::plain();
    let setup = Fixture::setup().with_nats(vec![NatsConfig::new(disk.folder())]);
    let mut fixture = Fixture::on(setup).await;
    let tried = run_load(&fixture).await;
    let damaged = DamagedCommit::choose(&fixture).await;
    damaged.flip(disk.folder());
    fixture.kill(FaultTarget::Nats);
    fixture.restart(FaultTarget::Nats).await;

    let record = fixture.record().await;
    let bounds = record.bounds_of(damaged.position.partition).await;
    let last = bounds.expect("bounds").last;
    let recorded = RecordContents::read(&record).await.expect("the record");
    let findings = checker::check_calls(&tried.calls, &recorded);
    expect(&findings, |kind| matches!(kind, Kind::Lost(_)));
    let besides = format!("{}; the stream now ends at {last}", damaged.name());
    note(title, &tried, &findings, &besides);
}

/// A replica with a damaged file repairs the commit from the others.
#[tokio::test(flavor = "multi_thread")]
async fn replicas_are_repaired() {
    let title = "a flipped bit in a block file of one of three nats-servers, killed";
    let (three, mut fixture) = ThreeServers::start().await;
    let tried = run_load(&fixture).await;
    wait_for_agreement(&fixture).await;
    let damaged = DamagedCommit::choose(&fixture).await;
    let folder = three.folders[DAMAGED_SERVER].folder();
    damaged.flip(folder);
    let server = &mut fixture.stack.servers.cluster_mut()[DAMAGED_SERVER];
    server.kill();
    server.restart().await.expect("NATS again");
    wait_for_agreement(&fixture).await;
    let is_repaired = damaged.find(folder).is_some();

    let recorded = read_record(&fixture.record().await).await;
    let findings = checker::check_calls(&tried.calls, &recorded);
    let report = report(title, &tried, &recorded, findings)
        .with("strikes", 1)
        .with("the commit is whole again in that file", is_repaired);
    conclude(&report.with("damaged", damaged.name()), &tried);
    assert!(is_repaired, "{}", damaged.name());
}

fn expect(findings: &[Finding], is: impl Fn(Kind) -> bool) {
    let found = findings.iter().any(|finding| is(finding.kind));
    assert!(found, "the checker must find it: {findings:?}");
}

/// Prints the expected findings, and enters them into the table.
fn note(title: &str, tried: &WorkloadResult, findings: &[Finding], besides: &str) {
    let first = findings.first().map(Finding::to_string).unwrap_or_default();
    let count = findings.len();
    print(&format!("\n{title}\n  {besides}\n  {count} findings, as expected; the first: {first}\n"));
    let calls = tried.calls.iter();
    let acknowledged = calls.clone().filter(|call| call.answer().is_some()).count();
    let again = calls.filter(|call| call.tries > 1).count();
    let row = Row {
        strikes: "1".to_owned(),
        commands: tried.calls.len().to_string(),
        acknowledged: acknowledged.to_string(),
        again: again.to_string(),
        findings: format!("{count}, as expected"),
        besides: besides.to_owned(),
    };
    add(title, row);
}
