//! The power of nats-server's machine fails: what its disk did not have is lost.
//!
//! The store is on an ext4 of its own that is shut down under the server, as the loss of power would, without its journal.
//! nats-server is stopped at that moment: it acknowledges nothing that its dead disk cannot hold.

use devstack::{Durability, NatsConfig};
use tests::checker::{Kind, Recorded, Report, check_answers};
use tests::disk::Disk;

use crate::ground::{Ground, Prepared};
use crate::judgement::report;
use crate::strike::{bout, seed};
use crate::table::{Row, enter, permitted, say};
use crate::workload::Workload;

const DISK_BYTES: u64 = 512 * 1024 * 1024;
/// Acknowledgements before the power fails where the server does not sync.
const ACKNOWLEDGED: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_acknowledged_is_on_the_disk() {
    let title = "power failure of nats-server, `sync_interval: always`";
    let Some(disk) = permitted(title, Disk::journalled(DISK_BYTES)) else {
        return;
    };
    let mut ground =
        Ground::on(Ground::setup().with_nats(vec![NatsConfig::new(disk.folder())])).await;
    let bout = bout(&mut ground, &[()], async |ground, _, ()| {
        fail(ground, &disk).await;
    });
    bout.await.judge(title, &mut ground).await;
}

/// Proves the checker: with the server's own default it must find what the power failure took.
#[tokio::test(flavor = "multi_thread")]
async fn the_checker_finds_what_a_server_loses_that_does_not_sync() {
    let title = "power failure of nats-server, its default `sync_interval`";
    let Some(disk) = permitted(title, Disk::journalled(DISK_BYTES)) else {
        return;
    };
    let mut config = NatsConfig::new(disk.folder());
    config.durability = Durability::ServerDefault;
    let mut prepared = Prepared::of(Ground::setup().with_nats(vec![config])).await;
    prepared.change(|settings| settings.writer.record.accept_data_loss = true);
    let mut ground = prepared.start().await;
    // The streams are on the disk; what is appended from now on need not be.
    disk.sync();
    let load = Workload::start(&ground, seed()).await;
    load.acknowledged(ACKNOWLEDGED).await;
    fail(&mut ground, &disk).await;
    let tried = load.abandon().await;

    let recorded = Recorded::read(&ground.record().await).await;
    let recorded = recorded.expect("the record");
    let mut findings = check_answers(&tried.calls, &recorded);
    findings.retain(|finding| matches!(finding.kind, Kind::Lost(_)));
    let report = report(title, &tried, &recorded, findings);
    expect_loss(&report.with("strikes", 1));
}

fn expect_loss(report: &Report) {
    let lost = report.findings().len();
    say(&format!("\n{report}"));
    let row = Row {
        findings: format!("{lost} lost, as expected"),
        besides: "proves the checker: it must find what was lost".to_owned(),
        ..Row::of(report)
    };
    enter(report.title(), row);
    assert!(lost > 0, "the checker must find what was lost:\n{report}");
}

/// The power fails, and comes back.
async fn fail(ground: &mut Ground, disk: &Disk) {
    let server = ground.stack.servers.nats_mut();
    server.pause();
    disk.cut_power();
    server.kill();
    disk.restore_power().await;
    server.restart().await.expect("NATS again");
}
