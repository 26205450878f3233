//! Postgres is killed while a projector's transaction is open: the transaction is applied completely or not at all.

use std::time::Duration;

use tests::eventually::TIMEOUT;
use tokio::time::{Instant, sleep};

use crate::fixture::{FaultTarget, Fixture};
use crate::injection::run_with_faults;

/// The polling interval for an open transaction.
const POLL: Duration = Duration::from_millis(20);
/// Acknowledgements during the outage of Postgres.
const AWAY: usize = 100;
/// Sessions with moved checkpoints and without a commit yet.
const OPEN: &str = "
SELECT jsonb_build_object('pid', pid) FROM pg_stat_activity JOIN pg_locks USING (pid)
WHERE state = 'idle in transaction'
  AND relation = 'conversations_v1.checkpoint'::regclass AND mode = 'RowExclusiveLock'";

#[tokio::test(flavor = "multi_thread")]
async fn postgres_dies_in_a_transaction() {
    let mut fixture = Fixture::start().await;
    let mut cut_off = 0;
    let run = run_with_faults(&mut fixture, &[()], async |fixture, load, ()| {
        cut_off += freeze_in_transaction(fixture).await;
        fixture.kill(FaultTarget::Postgres);
        fixture.resume(FaultTarget::Projectors);
        load.wait_for_acknowledgements(AWAY).await;
        fixture.restart(FaultTarget::Postgres).await;
    })
    .await
    .with("open transactions cut off", cut_off.to_string());
    let title = "kill -9 of Postgres in a projector's transaction";
    run.check(title, &mut fixture).await;
}

/// Freezes the projectors repeatedly until one has an open transaction; returns how many have one.
async fn freeze_in_transaction(fixture: &mut Fixture) -> usize {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        fixture.freeze(FaultTarget::Projectors);
        let open = fixture.query(OPEN).await.len();
        if open > 0 {
            return open;
        }
        fixture.resume(FaultTarget::Projectors);
        let what = "no open transaction";
        assert!(Instant::now() < deadline, "{what} within {TIMEOUT:?}");
        sleep(POLL).await;
    }
}
