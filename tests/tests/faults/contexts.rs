//! Readers get the same answers from the tail and from rows.

use tests::checker::{RecordContents, check_equal, check_readings};

use crate::fixture::{FaultTarget, Fixture};
use crate::injection::seed;
use crate::verdict::{check_all, conclude, read, report, wait_for_rows};
use crate::workload::Workload;

/// Acknowledgements before the projectors stop, and after.
const ACKNOWLEDGED: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn contexts_from_rows_and_from_the_tail_are_equal() {
    let mut fixture = Fixture::start().await;
    let load = Workload::start(&fixture, seed()).await;
    load.wait_for_acknowledgements(ACKNOWLEDGED).await;
    fixture.kill(FaultTarget::Projectors);
    load.wait_for_acknowledgements(ACKNOWLEDGED).await;
    let tried = load.finish().await;

    let from_tail = read(&fixture, &tried).await;
    fixture.restart(FaultTarget::Projectors).await;
    let record = fixture.record().await;
    wait_for_rows(&mut fixture, &record).await;
    let from_rows = read(&fixture, &tried).await;

    let recorded = RecordContents::read(&record).await.expect("the record");
    let mut findings = check_equal(&from_tail, &from_rows);
    findings.extend(check_readings(&recorded, &from_tail));
    let events = |readings: &[tests::checker::Reading], of: fn(&Counts) -> u32| -> u32 {
        readings.iter().filter_map(|reading| reading.context.report.as_ref()).map(of).sum()
    };
    let tail = events(&from_tail, |counts| counts.events_from_tail);
    let rows = events(&from_rows, |counts| counts.events_from_rows);
    let left = events(&from_rows, |counts| counts.events_from_tail);
    let report = report("contexts from the tail and from rows", &tried, &recorded, findings)
        .with("conversations read twice", from_tail.len())
        .with("events from the tail, projectors dead", tail)
        .with("events from rows, projectors back", rows);
    conclude(&report, &tried);
    assert!(tail > 0 && rows > 0, "both sources were read");
    assert_eq!(left, 0, "nothing is left to the tail once all is projected");
    check_all(&mut fixture, "after both projectors were dead", &tried, &[]).await;
}

type Counts = wire::proto::read::v1::ContextReport;
