//! The power of nats-server's machine fails: unsynced data is lost.
//!
//! The store is on a separate ext4, which is shut down under the server without its journal, as in a power loss.
//! nats-server is stopped at that moment, so it acknowledges nothing that the disk does not have.

use devstack::{Durability, NatsConfig};
use tests::checker::{Kind, RecordContents, Report, check_answers};
use tests::disk::Disk;

use crate::fixture::{Crowd, Fixture, PreparedFixture};
use crate::injection::{run_with_faults, seed};
use crate::table::{Obstacle, Row, add, permitted, print};
use crate::verdict::report;
use crate::workload::Workload;

const DISK_BYTES: u64 = 512 * 1024 * 1024;
/// Acknowledgements before the power fails, for a server that does not sync.
const ACKNOWLEDGED: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_commits_survive_a_power_loss() {
    let title = "power failure of nats-server, `sync_interval: always`";
    lose_power(title, Crowd::None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_batches_survive_a_power_loss() {
    let title = "power failure of nats-server, commits in batches";
    lose_power(title, Crowd::OfOnePartition).await;
}

async fn lose_power(title: &str, crowd: Crowd) {
    let Some(disk) = permitted(title, Disk::journalled(DISK_BYTES).map_err(Obstacle::Machine)) else {
        return;
    };
    let setup = Fixture::setup().with_nats(vec![NatsConfig::new(disk.folder())]);
    let mut fixture = Fixture::on(setup).await;
    fixture.crowd = crowd;
    let run = run_with_faults(&mut fixture, &[()], async |fixture, _, ()| {
        cut_and_restore_power(fixture, &disk).await;
    });
    run.await.check(title, &mut fixture).await;
}

/// A test of the checker: with the server's default it must find the commits that the power loss removed.
#[tokio::test(flavor = "multi_thread")]
async fn the_checker_finds_commits_lost_without_sync() {
    let title = "power failure of nats-server, its default `sync_interval`";
    let Some(disk) = permitted(title, Disk::journalled(DISK_BYTES).map_err(Obstacle::Machine)) else {
        return;
    };
    let mut config = NatsConfig::new(disk.folder());
    config.durability = Durability::ServerDefault;
    let mut prepared = PreparedFixture::of(Fixture::setup().with_nats(vec![config])).await;
    prepared.stack.change(|settings| settings.writer.record.accept_data_loss = true);
    let mut fixture = prepared.start().await;
    // The streams are synced; later appends need not be.
    disk.sync();
    let load = Workload::start(&fixture, seed()).await;
    load.wait_for_acknowledgements(ACKNOWLEDGED).await;
    cut_and_restore_power(&mut fixture, &disk).await;
    let tried = load.abandon().await;

    let recorded = RecordContents::read(&fixture.record().await).await.expect("the record");
    let mut findings = check_answers(&tried.calls, &recorded);
    findings.retain(|finding| matches!(finding.kind, Kind::Lost(_)));
    let report = report(title, &tried, &recorded, findings);
    expect_loss(&report.with("strikes", 1));
}

fn expect_loss(report: &Report) {
    let lost = report.findings().len();
    print(&format!("\n{report}"));
    let row = Row {
        findings: format!("{lost} lost, as expected"),
        besides: "proves the checker: it must find what was lost".to_owned(),
        ..Row::of(report)
    };
    add(report.title(), row);
    assert!(lost > 0, "the checker must find what was lost:\n{report}");
}

/// The power fails, and returns.
async fn cut_and_restore_power(fixture: &mut Fixture, disk: &Disk) {
    let server = fixture.stack.servers.nats_mut();
    server.pause();
    disk.cut_power();
    server.kill();
    disk.restore_power().await;
    server.restart().await.expect("NATS again");
}
