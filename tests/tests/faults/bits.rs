//! A bit of a commit flips in a block file of nats-server's, which is then restarted.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use devstack::NatsConfig;
use domain::Position;
use tests::checker::{self, Finding, Kind, Recorded};
use tests::disk::Disk;
use tests::errors::Failure;

use crate::ground::{Ground, Victim};
use crate::judgement::{conclude, recorded, report};
use crate::strike::seed;
use crate::table::{Row, enter, say};
use crate::three::{Three, agreed};
use crate::workload::{HOT, Tried, Workload};

/// Acknowledgements before the bit flips.
const ACKNOWLEDGED: usize = 300;
/// The server of three whose file it is.
const STRUCK: usize = 2;

/// A commit in the middle of a busy conversation, as it stands in the record.
struct Struck {
    position: Position,
    sealed: Bytes,
}

impl Struck {
    async fn choose(ground: &Ground) -> Self {
        let record = ground.record().await;
        let recorded = Recorded::read(&record).await.expect("the record");
        let mut conversations = recorded.conversations.into_iter();
        let hot = conversations.find(|(key, _)| key.conversation.as_str() == HOT);
        let commits = hot.expect("a busy conversation").1;
        let position = commits[commits.len() / 2].position;
        let stored = record.message_at(position).await.expect("the record");
        let sealed = stored.expect("a commit").message;
        Self { position, sealed }
    }

    /// Stream and sequence, as an operator is told.
    fn name(&self) -> String {
        let Position {
            partition,
            sequence,
        } = self.position;
        format!("HANSARD_{partition}, sequence {sequence}")
    }

    /// The block file of a server that holds it, and where in there; `None`: no file has it whole.
    fn find(&self, server: &Path) -> Option<(PathBuf, usize)> {
        let blocks = format!(
            "store/jetstream/$G/streams/HANSARD_{}/msgs",
            self.position.partition
        );
        let files = fs::read_dir(server.join(blocks)).expect("a stream");
        let mut files = files.map(|file| file.expect("a file").path());
        files.find_map(|file| {
            let bytes = fs::read(&file).expect("a block");
            let mut windows = bytes.windows(self.sealed.len());
            let at = windows.position(|window| window == self.sealed)?;
            Some((file, at))
        })
    }

    /// Flips a bit near its end.
    fn flip(&self, server: &Path) {
        let (file, at) = self.find(server).expect("a block that holds the commit");
        let at = u64::try_from(at + self.sealed.len() - 1).unwrap();
        let block = OpenOptions::new()
            .read(true)
            .write(true)
            .open(file)
            .unwrap();
        let mut byte = [0];
        block.read_exact_at(&mut byte, at).unwrap();
        block.write_all_at(&[byte[0] ^ 1], at).unwrap();
    }
}

async fn loaded(ground: &Ground) -> Tried {
    let load = Workload::start(ground, seed()).await;
    load.acknowledged(ACKNOWLEDGED).await;
    load.finish().await
}

/// The server finds the flipped bit by itself and holds the commit back: the gateway names the hole, and serves nothing
/// that goes past it.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_is_held_back_is_named() {
    let title = "a flipped bit in a block file, nats-server stopped cleanly";
    let disk = Disk::plain();
    let setup = Ground::setup().with_nats(vec![NatsConfig::new(disk.folder())]);
    let mut ground = Ground::on(setup).await;
    // So that all is read from the record.
    ground.kill(Victim::Projectors);
    let tried = loaded(&ground).await;
    let struck = Struck::choose(&ground).await;
    struck.flip(disk.folder());
    let server = ground.stack.servers.nats_mut();
    server.restart().await.expect("NATS again");

    let recorded = Recorded::read(&ground.record().await).await;
    let recorded = recorded.expect("the record");
    let mut findings = checker::judge(&tried.calls, &recorded);
    findings.retain(|finding| finding.conversation.conversation.as_str() == HOT);
    expect(&findings, |kind| kind == Kind::Gap);
    expect(&findings, |kind| kind == Kind::BrokenChain);
    let agent = &ground.agent;
    let told: Failure = match agent.try_events(agent.list_request(HOT)).await {
        Ok(page) => panic!("{} events past a hole", page.events.len()),
        Err(status) => status.into(),
    };
    assert_eq!(told.reason, "DATA_CORRUPT", "{told:?}");
    assert!(
        told.message.contains(HOT),
        "the conversation is named: {told:?}"
    );
    note(
        title,
        &tried,
        &findings,
        &format!("{}; the gateway: {}", struck.name(), told.message),
    );
}

/// After a crash nats-server ends the stream where the bit flipped, and says nothing of it: that is for the checker.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_cut_short_is_found() {
    let title = "a flipped bit in the last block file, nats-server killed";
    let disk = Disk::plain();
    let setup = Ground::setup().with_nats(vec![NatsConfig::new(disk.folder())]);
    let mut ground = Ground::on(setup).await;
    let tried = loaded(&ground).await;
    let struck = Struck::choose(&ground).await;
    struck.flip(disk.folder());
    ground.kill(Victim::Nats);
    ground.revive(Victim::Nats).await;

    let record = ground.record().await;
    let bounds = record.bounds_of(struck.position.partition).await;
    let last = bounds.expect("bounds").last;
    let recorded = Recorded::read(&record).await.expect("the record");
    let findings = checker::judge(&tried.calls, &recorded);
    expect(&findings, |kind| matches!(kind, Kind::Lost(_)));
    let besides = format!("{}; the stream now ends at {last}", struck.name());
    note(title, &tried, &findings, &besides);
}

/// A replica whose file it is takes the commit from the others.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_repaired() {
    let title = "a flipped bit in a block file of one of three nats-servers, killed";
    let (three, mut ground) = Three::start().await;
    let tried = loaded(&ground).await;
    agreed(&ground).await;
    let struck = Struck::choose(&ground).await;
    let folder = three.folders[STRUCK].folder();
    struck.flip(folder);
    let server = &mut ground.stack.servers.cluster_mut()[STRUCK];
    server.kill();
    server.restart().await.expect("NATS again");
    agreed(&ground).await;
    let is_repaired = struck.find(folder).is_some();

    let recorded = recorded(&ground.record().await).await;
    let findings = checker::judge(&tried.calls, &recorded);
    let report = report(title, &tried, &recorded, findings);
    let report = report.with("strikes", 1);
    let report = report.with("the commit is whole again in that file", is_repaired);
    conclude(&report.with("struck", struck.name()), &tried);
    assert!(is_repaired, "{}", struck.name());
}

fn expect(findings: &[Finding], is: impl Fn(Kind) -> bool) {
    let found = findings.iter().any(|finding| is(finding.kind));
    assert!(found, "the checker must find it: {findings:?}");
}

/// Tells and enters what was found, as it had to be.
fn note(title: &str, tried: &Tried, findings: &[Finding], besides: &str) {
    let first = findings.first().map(Finding::to_string).unwrap_or_default();
    let count = findings.len();
    say(&format!(
        "\n{title}\n  {besides}\n  {count} findings, as expected; the first: {first}\n"
    ));
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
    enter(title, row);
}
