//! Postgres killed while a projector's transaction is open: all of it counts, or nothing.

use std::time::Duration;

use tests::eventually::PATIENCE;
use tokio::time::{Instant, sleep};

use crate::ground::{Ground, Victim};
use crate::strike::bout;

/// How often an open transaction is looked for.
const POLL: Duration = Duration::from_millis(20);
/// Acknowledgements while Postgres is away.
const AWAY: usize = 100;
/// Sessions that have moved checkpoints and not yet committed.
const OPEN: &str = "
SELECT jsonb_build_object('pid', pid) FROM pg_stat_activity JOIN pg_locks USING (pid)
WHERE state = 'idle in transaction'
  AND relation = 'conversations_v1.checkpoint'::regclass AND mode = 'RowExclusiveLock'";

#[tokio::test(flavor = "multi_thread")]
async fn postgres_dies_in_a_transaction() {
    let mut ground = Ground::start().await;
    let mut cut_off = 0;
    let bout = bout(&mut ground, &[()], async |ground, load, ()| {
        cut_off += freeze_in_transaction(ground).await;
        ground.kill(Victim::Postgres);
        ground.thaw(Victim::Projectors);
        load.acknowledged(AWAY).await;
        ground.revive(Victim::Postgres).await;
    });
    let bout = bout
        .await
        .with("open transactions cut off", cut_off.to_string());
    let title = "kill -9 of Postgres in a projector's transaction";
    bout.judge(title, &mut ground).await;
}

/// Freezes the projectors, again and again until one is caught in a transaction; how many are.
async fn freeze_in_transaction(ground: &mut Ground) -> usize {
    let deadline = Instant::now() + PATIENCE;
    loop {
        ground.freeze(Victim::Projectors);
        let open = ground.query(OPEN).await.len();
        if open > 0 {
            return open;
        }
        ground.thaw(Victim::Projectors);
        let what = "no open transaction";
        assert!(Instant::now() < deadline, "{what} within {PATIENCE:?}");
        sleep(POLL).await;
    }
}
