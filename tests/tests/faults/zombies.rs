//! A projector is frozen beyond its lease and resumes when another one holds its partitions: it writes nothing.
//!
//! Each projector has its own Postgres login, and a trigger records which login moves which checkpoint in which epoch.
//! The trigger is independent of the projectors' own checks.

use std::time::Duration;

use serde_json::Value;
use tests::checker::Row;
use tests::eventually::TIMEOUT;
use tests::node::Node;
use tokio::time::{Instant, sleep};

use crate::fixture::{FaultTarget, Fixture};
use crate::injection::{rounds, seed};
use crate::verdict::check_all;
use crate::workload::Workload;

const ACKNOWLEDGED: usize = 100;

/// The polling interval.
const POLL: Duration = Duration::from_millis(20);

/// The state in which the projector is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Any state.
    Any,
    /// An open transaction, which holds the locks of its checkpoints.
    InTransaction,
}

const WITNESS: &str = "
CREATE ROLE sleeper SUPERUSER LOGIN;
CREATE ROLE survivor SUPERUSER LOGIN;
CREATE TABLE public.moved (
    place bigserial, who text, partition integer, epoch bigint, was_taken boolean, was_moved boolean
);
CREATE FUNCTION public.note_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.moved (who, partition, epoch, was_taken, was_moved)
    VALUES (session_user, NEW.partition, NEW.epoch, NEW.epoch <> OLD.epoch, NEW.sequence <> OLD.sequence);
    RETURN NEW;
END
$$;
CREATE TRIGGER note_move AFTER UPDATE ON conversations_v1.checkpoint
FOR EACH ROW EXECUTE FUNCTION public.note_move();
";

/// Moves of a checkpoint by a login that did not take the lease in that epoch, or after another one took it.
const FOREIGN_MOVES: &str = "
SELECT to_jsonb(write) FROM public.moved AS write
WHERE was_moved AND who IS DISTINCT FROM (
    SELECT who FROM public.moved AS taken
    WHERE taken.was_taken AND taken.partition = write.partition AND taken.place < write.place
    ORDER BY taken.place DESC
    LIMIT 1
)
";

#[tokio::test(flavor = "multi_thread")]
async fn late_projectors_write_nothing() {
    let mut fixture = Fixture::start().await;
    fixture.kill(FaultTarget::Projectors);
    fixture.query(WITNESS).await;
    rename(&mut fixture.stack.projector, "sleeper");
    rename(&mut fixture.second_projector, "survivor");
    fixture.restart(FaultTarget::Projectors).await;
    let load = Workload::start(&fixture, seed()).await;
    for state in [State::InTransaction, State::Any].into_iter().cycle().take(rounds()) {
        wait_for_both(&mut fixture).await;
        load.wait_for_acknowledgements(ACKNOWLEDGED).await;
        freeze_until_overtaken(&mut fixture, &load, state).await;
    }
    let tried = load.finish().await;
    let foreign = fixture.query(FOREIGN_MOVES).await;
    let moves = fixture.query("SELECT jsonb_build_object('who', who, 'moves', count(*), 'taken', count(*) FILTER (WHERE was_taken)) FROM public.moved WHERE was_moved OR was_taken GROUP BY who").await;
    let lines = [("times asleep", rounds().to_string()), ("moves of checkpoints", format!("{moves:?}"))];
    check_all(&mut fixture, "a projector asleep beyond its lease", &tried, &lines).await;
    assert_eq!(foreign, Vec::<Row>::new(), "moves by one who did not hold the partition");
}

fn rename(projector: &mut Node, name: &str) {
    let url = &mut projector.settings.projector.read_model.database_url;
    *url = url.replacen("//hansard@", &format!("//{name}@"), 1);
    assert!(url.contains(name), "the URL names its user");
}

/// Freezes the projector until the other one holds everything and has written; then resumes it under load.
async fn freeze_until_overtaken(fixture: &mut Fixture, load: &Workload, state: State) {
    freeze(fixture, state).await;
    let overtaken = |shares: &[String]| shares == ["survivor"];
    holders(fixture, "the survivor holds every partition", overtaken).await;
    load.wait_for_acknowledgements(ACKNOWLEDGED).await;
    fixture.resume(FaultTarget::Projector);
    load.wait_for_acknowledgements(ACKNOWLEDGED).await;
}

/// Freezes the projector, repeatedly until it is in the state.
async fn freeze(fixture: &mut Fixture, state: State) {
    let sql = "
        SELECT jsonb_build_object('pid', pid) FROM pg_stat_activity JOIN pg_locks USING (pid)
        WHERE usename = 'sleeper' AND state = 'idle in transaction'
          AND relation = 'conversations_v1.checkpoint'::regclass AND mode = 'RowExclusiveLock'";
    let deadline = Instant::now() + TIMEOUT;
    loop {
        fixture.freeze(FaultTarget::Projector);
        if state == State::Any || !fixture.query(sql).await.is_empty() {
            return;
        }
        fixture.resume(FaultTarget::Projector);
        assert!(Instant::now() < deadline, "never {state:?} within {TIMEOUT:?}");
        sleep(POLL).await;
    }
}

/// Waits until both projectors hold partitions.
async fn wait_for_both(fixture: &mut Fixture) {
    holders(fixture, "both projectors hold partitions", |shares| shares == ["sleeper", "survivor"]).await;
}

/// Waits for the holders of the partitions' current epochs.
async fn holders(fixture: &mut Fixture, what: &str, is_so: impl Fn(&[String]) -> bool) {
    let sql = "
        SELECT jsonb_build_object('who', who) FROM public.moved
        JOIN conversations_v1.checkpoint USING (partition, epoch)
        WHERE was_taken AND lease_until > now()
        GROUP BY who
        HAVING (SELECT count(*) FROM conversations_v1.checkpoint WHERE lease_until > now()) =
               (SELECT count(*) FROM conversations_v1.checkpoint)
        ORDER BY who";
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let rows = fixture.query(sql).await;
        let names: Vec<String> =
            rows.iter().filter_map(|row| row.get("who").and_then(Value::as_str)).map(str::to_owned).collect();
        if is_so(&names) {
            return;
        }
        assert!(Instant::now() < deadline, "{what}: not within {TIMEOUT:?}, but {names:?}");
        sleep(POLL).await;
    }
}
