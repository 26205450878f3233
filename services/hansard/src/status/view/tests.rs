use std::collections::BTreeMap;
use std::time::Duration;

use domain::{Partition, Sequence, Timestamp};
use event_log::{Durability, PartitionBounds, PartitionStatus, StreamKind, StreamReplicas, TimedSequence};
use read_model::projections::conversations::lease::Holder;
use read_model::projections::conversations::overview::{ErasedCommits, Overview, PartitionOverview};
use read_model::projections::search::SearchOverview;
use read_model::{LiveSchema, Migrations, ReplicaStatus, SchemaStatus};
use registry::{EndingKey, KeyKind};

use super::*;
use system_status::readings::{
    ErasedReading, ErasuresReading, PartitionReading, ReadModelReading, Readings, RecordReading, ReplicaReading,
    RoleAnswer, RolePresence, RoleReading, ShardReading,
};
use system_status::report::ENDING_KEYS_MAX;
use system_status::{Limits, Status};

const NOW: Timestamp = Timestamp(1_790_000_000_000_000_000);
const SECOND: i64 = 1_000_000_000;
const LIMITS: Limits = Limits { lag_max: Duration::from_secs(30), unexplained_max: 0 };
const ADA: &str = "0199e8a1-0000-7000-8000-0000000000ad";

/// A partition with complete rows.
fn of_record(number: u16, first: u64, last: u64, messages: u64) -> PartitionReading {
    PartitionReading {
        partition: Partition(number),
        status: PartitionStatus {
            accepts_batches: true,
            bounds: PartitionBounds { first: Sequence(first), last: Sequence(last) },
            messages,
            size_bytes: messages * 1_000,
            replicas: StreamReplicas {
                stream: format!("HANSARD_{number}"),
                kind: StreamKind::Commits,
                configured: 1,
                leader: Some("n1".to_owned()),
                servers: vec!["n1".to_owned()],
                behind: Vec::new(),
            },
        },
        archived: 0,
        waits: None,
    }
}

fn of_rows(number: u16, checkpoint: u64) -> PartitionOverview {
    PartitionOverview {
        partition: Partition(number),
        epoch: 3,
        checkpoint: Sequence(checkpoint),
        holder: Some(Holder(ADA.to_owned())),
        parked: 0,
    }
}

fn of_erased(number: u16) -> ErasedCommits {
    ErasedCommits { partition: Partition(number), commits: 4 }
}

fn role(name: &str, presence: RolePresence, answer: Option<RoleAnswer>) -> RoleReading {
    RoleReading { name: name.to_owned(), address: "127.0.0.1:7311".to_owned(), presence, answer }
}

fn ready() -> RoleAnswer {
    RoleAnswer { is_ready: true, is_draining: false, missing: Vec::new(), version: Some("0.1.0".to_owned()) }
}

/// A healthy system with two partitions, both with erasures.
fn healthy() -> Readings {
    let live = LiveSchema { projection: "conversations".to_owned(), schema: "conversations_v1".to_owned() };
    Readings {
        divergences: Vec::new(),
        shards: Vec::new(),
        unread_tenants: Some(0),
        replicas: Vec::new(),
        now: NOW,
        record: Ok(RecordReading {
            id: "00ff".to_owned(),
            durability: Durability::Durable,
            secrets_in_clear: 0,
            ending_keys: Vec::new(),
            growing_to: None,
            partitions: vec![of_record(0, 1, 1_234, 1_230), of_record(1, 5, 10, 6)],
            erasures: ErasuresReading::default(),
        }),
        read_model: Ok(ReadModelReading {
            schema: SchemaStatus {
                migrations: Migrations { found: 5, floor: 4, known: 5 },
                live: vec![live],
                is_read_only: false,
            },
            overview: Overview {
                projectors: vec![Holder(ADA.to_owned())],
                partitions: vec![of_rows(0, 1_234), of_rows(1, 10)],
            },
            search: Some(SearchOverview {
                checkpoints: vec![(Partition(0), Sequence(1_200)), (Partition(1), Sequence(10))],
                documents: 1_100,
                documents_bytes: 2_000_000,
                index_bytes: 3_000_000,
            }),
        }),
        erased: Some(ErasedReading {
            checkpoints: [(Partition(0), Sequence(1_234)), (Partition(1), Sequence(10))].into(),
            commits: [0, 1].map(of_erased).into(),
        }),
        roles: Some(vec![
            role("writer", RolePresence::Required, Some(ready())),
            role("gateway", RolePresence::Optional, None),
        ]),
    }
}

fn shown(readings: &Readings) -> String {
    let mut out = Vec::new();
    write(&mut out, &Status::from_readings(readings, LIMITS)).unwrap();
    String::from_utf8(out).unwrap()
}

/// Checks what needs an operator after a change of healthy readings.
#[track_caller]
fn check(change: impl FnOnce(&mut Readings), expected: &[&str]) {
    let mut readings = healthy();
    change(&mut readings);
    assert_eq!(Status::from_readings(&readings, LIMITS).needs, expected);
}

fn record(readings: &mut Readings) -> &mut RecordReading {
    readings.record.as_mut().unwrap()
}

fn read_model(readings: &mut Readings) -> &mut ReadModelReading {
    readings.read_model.as_mut().unwrap()
}

/// The rows of the second partition lag behind a message of this age.
fn lag(readings: &mut Readings, age: i64) {
    read_model(readings).overview.partitions[1].checkpoint = Sequence(7);
    record(readings).partitions[1].waits =
        Some(TimedSequence { sequence: Sequence(8), stored_at: Timestamp(NOW.0 - age) });
}

#[test]
fn a_healthy_system() {
    insta::assert_snapshot!(shown(&healthy()));
}

#[test]
fn an_unhealthy_system() {
    let mut readings = healthy();
    lag(&mut readings, 45 * SECOND + SECOND / 4);
    let partitions = &mut read_model(&mut readings).overview.partitions;
    partitions[0].holder = None;
    partitions[0].parked = 2;
    read_model(&mut readings).overview.projectors.clear();
    let status = &mut record(&mut readings).partitions[1].status;
    status.replicas.configured = 3;
    status.replicas.behind = vec!["n2".to_owned()];
    status.messages = 4;
    readings.roles = Some(vec![role(
        "writer",
        RolePresence::Required,
        Some(RoleAnswer { is_ready: false, missing: vec!["nats: no answer within 500 ms".to_owned()], ..ready() }),
    )]);
    insta::assert_snapshot!(shown(&readings));
}

#[test]
fn a_system_that_does_not_answer() {
    let mut readings = healthy();
    readings.read_model = Err("gone".to_owned());
    readings.erased = None;
    readings.roles = None;
    insta::assert_snapshot!("no_read_models", shown(&readings));
    readings.record = Err("away".to_owned());
    insta::assert_snapshot!("nothing_answers", shown(&readings));
}

/// A projector cannot take a partition: it is no remedy to start one.
#[test]
fn a_read_only_database_is_named() {
    let expected = "Postgres is read-only, so no projector can write: give projectors the URL of the primary, or reset default_transaction_read_only";
    check(
        |readings| {
            read_model(readings).schema.is_read_only = true;
            read_model(readings).overview.projectors.clear();
            for partition in &mut read_model(readings).overview.partitions {
                partition.holder = None;
            }
        },
        &[expected],
    );
}

#[test]
fn unencrypted_secrets_are_only_a_warning() {
    let mut readings = healthy();
    assert_eq!(Status::from_readings(&readings, LIMITS).warnings, [""; 0]);
    record(&mut readings).secrets_in_clear = 2;
    let status = Status::from_readings(&readings, LIMITS);
    assert_eq!(status.needs, [""; 0]);
    let mut shown = Vec::new();
    write(&mut shown, &status).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("warning: unencrypted secrets in the registry: 2"), "{shown}");
    assert!(shown.ends_with("\nhealthy\n"), "{shown}");
}

#[test]
fn keys_that_end_are_only_a_warning() {
    let check = |ending: usize, ended: usize, expected: &[&str]| {
        let mut readings = healthy();
        let key = |(number, after): (usize, i64)| EndingKey {
            ends_at: Timestamp(readings.now.0 + after),
            kind: KeyKind::ApiKey,
            id: format!("k{number}"),
            tenant: if number == 1 { String::new() } else { "acme".to_owned() },
        };
        let keys = (0..ended).map(|number| (number, 0)).chain((0..ending).map(|number| (number, 1)));
        let keys: Vec<EndingKey> = keys.map(key).collect();
        record(&mut readings).ending_keys = keys;
        let status = Status::from_readings(&readings, LIMITS);
        assert_eq!(status.needs, [""; 0]);
        assert_eq!(status.warnings.len(), expected.len(), "{:?}", status.warnings);
        for (warning, start) in status.warnings.iter().zip(expected) {
            assert!(warning.starts_with(start), "{warning}");
        }
        let listed = status.ending_keys.iter().filter(|key| key.has_ended).count();
        assert_eq!(listed, ended.min(ENDING_KEYS_MAX));
    };
    check(0, 0, &[]);
    check(2, 0, &["keys that end within 14 days: API key k0 of acme, API key k1 of all tenants; "]);
    check(0, 1, &["keys that have ended: API key k0 of acme; "]);
    check(1, 1, &["keys that end within 14 days: API key k0", "keys that have ended: API key k0"]);
    check(0, ENDING_KEYS_MAX + 1, &["keys that have ended: API key k0 of acme, "]);
}

#[test]
fn a_growth_is_only_a_warning() {
    let mut readings = healthy();
    record(&mut readings).growing_to = Some(24);
    let status = Status::from_readings(&readings, LIMITS);
    assert_eq!(status.needs, [""; 0]);
    let expected = "the growth to 24 partitions has not ended: unless it runs, hansard partitions add 24 continues it";
    assert_eq!(status.warnings, [expected]);
}

#[test]
fn single_publishes_are_only_a_warning() {
    let mut readings = healthy();
    record(&mut readings).partitions[1].status.accepts_batches = false;
    let status = Status::from_readings(&readings, LIMITS);
    assert_eq!(status.needs, [""; 0]);
    let expected = "commits of 1 of 2 partitions are published one by one: with nats-server 2.15 or later, run hansard bootstrap --partitions 2 as a NATS user that may change streams, then restart the writers";
    assert_eq!(status.warnings, [expected]);
    let mut shown = Vec::new();
    write(&mut shown, &status).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("group commit in 1 of 2 partitions"), "{shown}");
}

#[test]
fn replicas_of_postgres_are_shown_with_their_lag() {
    let mut readings = healthy();
    let replica = |name: &str, status| ReplicaReading { name: name.to_owned(), status };
    let lag = Duration::from_millis(120);
    readings.replicas = vec![
        replica("a:5432", Some(ReplicaStatus::Complete { lag })),
        replica("b:5432", Some(ReplicaStatus::Lagging)),
        replica("c:5432", Some(ReplicaStatus::Unrelated)),
        replica("d:5432", None),
    ];
    let reason = "refused".to_owned();
    let unreachable = ReplicaStatus::Unreachable { reason };
    readings.replicas.push(replica("e:5432", Some(unreachable)));
    let status = Status::from_readings(&readings, Limits::default());
    assert_eq!(
        status.needs,
        [
            "Postgres replica b:5432: lagging; reads use the primary meanwhile",
            "Postgres replica c:5432: not a replica of this database; reads use the primary meanwhile",
            "Postgres replica e:5432: no answer, refused; reads use the primary meanwhile",
        ]
    );
    let mut shown = Vec::new();
    write(&mut shown, &status).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    for line in ["replica     a:5432: ready, lag 0.12 s", "replica     b:5432: lagging", "replica     d:5432: unknown"]
    {
        assert!(shown.lines().any(|found| found == line), "{line}: {shown}");
    }
}

/// A healthy shard of a healthy system.
fn shard(readings: &Readings) -> ShardReading {
    ShardReading { name: "eu".to_owned(), read_model: readings.read_model.clone(), waits: BTreeMap::new() }
}

#[test]
fn shards_are_shown_with_what_they_need() {
    let mut readings = healthy();
    let mut lagging = shard(&readings);
    let rows = lagging.read_model.as_mut().unwrap();
    rows.overview.partitions[0].holder = None;
    rows.overview.partitions[0].parked = 3;
    rows.overview.partitions[1].checkpoint = Sequence(7);
    let waits = TimedSequence { sequence: Sequence(8), stored_at: Timestamp(NOW.0 - 31 * SECOND) };
    lagging.waits.insert(Partition(1), waits);
    let gone = ShardReading { name: "us".to_owned(), read_model: Err("gone".to_owned()), ..shard(&readings) };
    readings.shards = vec![shard(&readings)];
    let status = Status::from_readings(&readings, LIMITS);
    assert_eq!(status.needs, [""; 0]);
    readings.shards = vec![lagging, gone];
    let status = Status::from_readings(&readings, LIMITS);
    assert_eq!(
        status.needs,
        [
            "shard eu: parked conversations: 3; see hansard parked list",
            "shard eu: no projector holds partition 0",
            "shard eu: rows lag in partition 1",
            "shard us does not answer: gone",
        ]
    );
    let shown = shown(&readings);
    for line in [
        "shard       eu: migration 5 of 5; conversations in conversations_v1; 3 parked; lag 3",
        "shard       us: no answer: gone",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line}: {shown}");
    }
}

#[test]
fn tenants_in_other_databases_are_only_a_warning() {
    let mut readings = healthy();
    for (tenants, warnings) in [
        (None, &[][..]),
        (Some(2), &["the rows of 2 tenants are in shards that were not read: give each with --shard-url"]),
    ] {
        readings.unread_tenants = tenants;
        let status = Status::from_readings(&readings, LIMITS);
        assert_eq!(status.needs, [""; 0]);
        assert_eq!(status.warnings, warnings);
    }
}

#[test]
fn each_problem_needs_an_operator() {
    check(|_| (), &[]);
    let lagging = ["rows lag in partition 1"];
    check(|readings| lag(readings, 30 * SECOND), &[]);
    check(|readings| lag(readings, 30 * SECOND + 1), &lagging);
    // A server's clock may be ahead of this one.
    check(|readings| lag(readings, -SECOND), &[]);
    check(|readings| record(readings).durability = Durability::Unknown, &[]);
    check(
        |readings| {
            let why = "it is in memory".to_owned();
            record(readings).durability = Durability::NotDurable { why };
        },
        &["acknowledged commits can be lost: it is in memory"],
    );
    check(
        |readings| read_model(readings).schema.migrations.found = 4,
        &["the schema is at migration 4, this program needs 5: start a projector of this version"],
    );
    // An additive migration of a newer program.
    check(|readings| read_model(readings).schema.migrations.found = 6, &[]);
    check(
        |readings| {
            let migrations = &mut read_model(readings).schema.migrations;
            (migrations.found, migrations.floor) = (6, 6);
        },
        &["the schema is at migration 6, this program supports up to 5: update the program"],
    );
    check(
        |readings| read_model(readings).overview.partitions[1].parked = 1,
        &["parked conversations: 1; see hansard parked list"],
    );
    check(|readings| record(readings).partitions[0].status.replicas.leader = None, &[]);
    check(
        |readings| {
            let replicas = &mut record(readings).partitions[0].status.replicas;
            (replicas.leader, replicas.configured) = (None, 3);
        },
        &["no NATS server leads partition 0"],
    );
    check(
        |readings| {
            readings.roles = Some(vec![role("writer", RolePresence::Required, None)]);
        },
        &["writer at 127.0.0.1:7311: no answer"],
    );
}

#[test]
fn unexplained_holes_need_an_operator() {
    let lost = ["messages are missing without an archive run or erasure, run hansard verify, in partition 1"];
    // A hole between messages, and one before the first message.
    check(|readings| record(readings).partitions[1].status.messages -= 1, &lost);
    check(
        |readings| {
            let status = &mut record(readings).partitions[1].status;
            status.bounds.first = Sequence(6);
            status.messages -= 1;
        },
        &lost,
    );
    let is_explained = |archived: u64| {
        move |readings: &mut Readings| {
            let partition = &mut record(readings).partitions[1];
            partition.status.messages -= 2;
            partition.archived = archived;
        }
    };
    check(is_explained(1), &lost);
    check(is_explained(2), &[]);
    let mut readings = healthy();
    record(&mut readings).partitions[1].status.messages -= 2;
    for (unexplained_max, needs) in [(1, &lost[..]), (2, &[])] {
        let limits = Limits { unexplained_max, ..LIMITS };
        assert_eq!(Status::from_readings(&readings, limits).needs, needs);
    }
    // The projector may not have read all tombstones yet.
    check(
        |readings| {
            record(readings).partitions[1].status.messages -= 1;
            let erased = readings.erased.as_mut().unwrap();
            erased.checkpoints.insert(Partition(1), Sequence(9));
        },
        &[],
    );
}

#[test]
fn a_partition_without_a_projector_needs_an_operator() {
    check(
        |readings| {
            read_model(readings).overview.partitions.pop();
        },
        &["no projector holds partition 1"],
    );
    check(
        |readings| {
            record(readings).partitions = (0..10).map(|n| of_record(n, 1, 0, 0)).collect();
            read_model(readings).overview.partitions.clear();
        },
        &["no projector holds partitions 0, 1, 2, 3, 4, 5, 6, 7 and 2 more"],
    );
}

#[test]
fn erasures_in_progress_need_an_operator_after_an_hour() {
    let pending = |minutes: i64| {
        move |readings: &mut Readings| {
            record(readings).erasures =
                ErasuresReading { count: 2, oldest: Some(Timestamp(NOW.0 - minutes * 60 * SECOND)) };
        }
    };
    let needed = "2 erasures are in progress, the oldest for 60 minutes: check that a writer runs, and its log";
    check(pending(59), &[]);
    check(pending(60), &[needed]);
    let mut readings = healthy();
    assert!(!shown(&readings).contains("erasures "));
    pending(1)(&mut readings);
    let line = "erasures    2 in progress, the oldest since 2026-09-21T";
    assert!(shown(&readings).contains(line), "{}", shown(&readings));
}
