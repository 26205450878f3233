//! A projector that is frozen beyond its lease, and wakes up when another holds its partitions: it writes nothing.
//!
//! Each projector has a name of its own in Postgres, and a trigger notes who moves which checkpoint in which epoch: the
//! witness knows nothing of the projectors' own checks.

use std::time::Duration;

use serde_json::Value;
use tests::checker::Row;
use tests::eventually::PATIENCE;
use tests::node::Node;
use tokio::time::{Instant, sleep};

use crate::ground::{Ground, Victim};
use crate::judgement::judge;
use crate::strike::{rounds, seed};
use crate::workload::Workload;

const ACKNOWLEDGED: usize = 100;

/// How often a state is looked for.
const POLL: Duration = Duration::from_millis(20);

/// What the sleeper is caught at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Whatever it does.
    Any,
    /// A transaction, which holds the locks of its checkpoints for as long as it is open.
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

/// Moves of a checkpoint by one who did not take the lease in that epoch, or after another one took it.
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
async fn a_projector_that_wakes_up_too_late_writes_nothing() {
    let mut ground = Ground::start().await;
    ground.kill(Victim::Projectors);
    ground.query(WITNESS).await;
    rename(&mut ground.stack.projector, "sleeper");
    rename(&mut ground.second_projector, "survivor");
    ground.revive(Victim::Projectors).await;
    let load = Workload::start(&ground, seed()).await;
    for state in [State::InTransaction, State::Any]
        .into_iter()
        .cycle()
        .take(rounds())
    {
        both_hold(&mut ground).await;
        load.acknowledged(ACKNOWLEDGED).await;
        freeze_until_overtaken(&mut ground, &load, state).await;
    }
    let tried = load.finish().await;
    let foreign = ground.query(FOREIGN_MOVES).await;
    let moves = ground.query("SELECT jsonb_build_object('who', who, 'moves', count(*), 'taken', count(*) FILTER (WHERE was_taken)) FROM public.moved WHERE was_moved OR was_taken GROUP BY who").await;
    let lines = [
        ("times asleep", rounds().to_string()),
        ("moves of checkpoints", format!("{moves:?}")),
    ];
    judge(
        &mut ground,
        "a projector asleep beyond its lease",
        &tried,
        &lines,
    )
    .await;
    assert_eq!(
        foreign,
        Vec::<Row>::new(),
        "moves by one who did not hold the partition"
    );
}

fn rename(projector: &mut Node, name: &str) {
    let url = &mut projector.settings.projector.read_model.database_url;
    *url = url.replacen("//hansard@", &format!("//{name}@"), 1);
    assert!(url.contains(name), "the URL names its user");
}

/// Freezes the sleeper until the survivor holds everything and has written, wakes it, and lets the load go on.
async fn freeze_until_overtaken(ground: &mut Ground, load: &Workload, state: State) {
    freeze(ground, state).await;
    let overtaken = |shares: &[String]| shares == ["survivor"];
    holders(ground, "the survivor holds every partition", overtaken).await;
    load.acknowledged(ACKNOWLEDGED).await;
    ground.thaw(Victim::Projector);
    load.acknowledged(ACKNOWLEDGED).await;
}

/// Freezes the sleeper, if need be again and again until it is caught in the state.
async fn freeze(ground: &mut Ground, state: State) {
    let sql = "
        SELECT jsonb_build_object('pid', pid) FROM pg_stat_activity JOIN pg_locks USING (pid)
        WHERE usename = 'sleeper' AND state = 'idle in transaction'
          AND relation = 'conversations_v1.checkpoint'::regclass AND mode = 'RowExclusiveLock'";
    let deadline = Instant::now() + PATIENCE;
    loop {
        ground.freeze(Victim::Projector);
        if state == State::Any || !ground.query(sql).await.is_empty() {
            return;
        }
        ground.thaw(Victim::Projector);
        assert!(
            Instant::now() < deadline,
            "never {state:?} within {PATIENCE:?}"
        );
        sleep(POLL).await;
    }
}

/// Waits until either projector holds partitions.
async fn both_hold(ground: &mut Ground) {
    holders(ground, "both projectors hold partitions", |shares| {
        shares == ["sleeper", "survivor"]
    })
    .await;
}

/// Waits for who took the partitions' present epochs.
async fn holders(ground: &mut Ground, what: &str, is_so: impl Fn(&[String]) -> bool) {
    let sql = "
        SELECT jsonb_build_object('who', who) FROM public.moved
        JOIN conversations_v1.checkpoint USING (partition, epoch)
        WHERE was_taken AND lease_until > now()
        GROUP BY who
        HAVING (SELECT count(*) FROM conversations_v1.checkpoint WHERE lease_until > now()) =
               (SELECT count(*) FROM conversations_v1.checkpoint)
        ORDER BY who";
    let deadline = Instant::now() + PATIENCE;
    loop {
        let rows = ground.query(sql).await;
        let names = rows
            .iter()
            .filter_map(|row| row.get("who").and_then(Value::as_str));
        let names: Vec<String> = names.map(str::to_owned).collect();
        if is_so(&names) {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{what}: not within {PATIENCE:?}, but {names:?}"
        );
        sleep(POLL).await;
    }
}
