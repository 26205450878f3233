//! Everything that was computed from a record refuses every other one: an older copy of it, another one and an empty one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use devstack::{NatsConfig, NatsServer, quiet};
use divergence::{Divergence, Holder, find, find_in_catalogue};
use domain::{Partition, TenantId};
use event_log::{Record, RecordConfig};
use read_model::projections::conversations::prefixes;
use read_model::{ReadModel, ReadModelConfig};
use tempfile::TempDir;
use tests::eventually::eventually;
use tests::folder;
use tests::node::Node;
use tests::settings::Role;
use tests::shards::{self, SHARD, shard};
use tests::stack::Setup;

use crate::fixture::Fixture;
use crate::old_conversations::OldConversation;

/// The tenant whose rows are in the shard.
const OF_SHARD: &str = "sharded";
/// Conversations of each tenant in each step: some in each partition.
const CONVERSATIONS: usize = 16;
/// The database of the shard.
const DATABASE: &str = "shard";
/// The catalogue of the archive in the folder of a nats-server.
const CATALOGUE: &str = "store/jetstream/$G/streams/HANSARD_ARCHIVE";

/// The answers for one record, by what holds a part of the record.
type Answers = BTreeMap<&'static str, &'static str>;

#[tokio::test(flavor = "multi_thread")]
async fn every_holder_refuses_every_other_record() {
    let mut drill = Box::pin(Drill::start()).await;
    Box::pin(drill.fill("early")).await;
    let older = drill.copy().await;
    Box::pin(drill.fill("late")).await;
    drill.hibernate().await;
    drill.stop_projectors().await;
    // Rows older than the record.
    drill.append("unprojected").await;
    let (other, empty) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    make_record(other.path(), CONVERSATIONS * 8).await;
    make_record(empty.path(), 0).await;
    let standby = devstack::test::standby(drill.fixture.stack.servers.postgres_mut()).await;
    let replica = ReadModel::connect_lazy(&ReadModelConfig::new(standby.database_url("hansard"))).unwrap();

    let hibernated = drill.hibernated_partition().await;
    let mut table = vec![("newer", drill.answers(&drill.fixture.record, &replica, hibernated).await)];
    for (name, folder) in [("older", &older), ("other", &other), ("empty", &empty)] {
        let mut server = NatsServer::start(NatsConfig::new(folder.path()), &quiet).await.unwrap();
        let record = Record::open(RecordConfig::new(server.url())).await.unwrap();
        let mut answers = drill.answers(&record, &replica, hibernated).await;
        server.kill();
        let _ = fs::remove_dir_all(folder.path().join(CATALOGUE));
        folder::copy(&drill.nats.path().join(CATALOGUE), &folder.path().join(CATALOGUE)).unwrap();
        server.restart().await.unwrap();
        answers.insert("archive", catalogue_answer(&server.url()).await);
        table.push((name, answers));
    }
    for (name, answers) in table {
        let expected = if name == "newer" { "accepted" } else { "refused" };
        let holders = ["archive", "hibernated", "replica", "rows", "search", "shard"];
        assert_eq!(answers, holders.map(|holder| (holder, expected)).into(), "{name}");
    }
}

/// A system with a shard, and a nats-server whose folder is copied.
struct Drill {
    fixture: Fixture,
    projector_of_shard: Node,
    shard_url: String,
    nats: TempDir,
}

impl Drill {
    async fn start() -> Self {
        let nats = tempfile::tempdir().unwrap();
        let setup = Setup::tasks().with_own_postgres().with_nats(vec![NatsConfig::new(nats.path())]);
        let mut stack = setup.prepare().await;
        let postgres = stack.servers.postgres_mut();
        postgres.create_database(DATABASE).await.unwrap();
        let shard_url = postgres.database_url(DATABASE);
        shards::set(&mut stack, &[shard(&shard_url, &[OF_SHARD])]);
        Box::pin(stack.start()).await;
        let mut projector_of_shard = stack.another(Role::Projector);
        SHARD.clone_into(&mut projector_of_shard.settings.projector.shard);
        projector_of_shard.start().await;
        Self { fixture: Fixture::of(stack).await, projector_of_shard, shard_url, nats }
    }

    /// The first database with the shard.
    fn model(&self) -> ReadModel {
        let first = ReadModelConfig::new(self.fixture.stack.servers.database_url());
        let shards = vec![shard(&self.shard_url, &[OF_SHARD])];
        ReadModel::connect_lazy(&ReadModelConfig { shards, ..first }).unwrap()
    }

    /// Appends conversations of both tenants.
    async fn append(&self, name: &str) {
        for number in 0..CONVERSATIONS {
            OldConversation::new(&format!("{name}-{number}")).chat(&self.fixture.record, 1).await;
            let mut sharded = OldConversation::new(&format!("{name}-{number}"));
            sharded.key.tenant = TenantId::parse(OF_SHARD).unwrap();
            sharded.chat(&self.fixture.record, 1).await;
        }
    }

    /// As [`Drill::append`], and waits for rows and search.
    async fn fill(&self, name: &str) {
        self.append(name).await;
        for url in [self.fixture.stack.servers.database_url(), &self.shard_url] {
            self.fixture.wait_for_rows(url).await;
        }
        let model = self.model();
        eventually("an index of everything", || async {
            for database in model.databases() {
                let (rows, search) = (prefixes(&database).await.ok()?, prefixes(&database.for_search()).await.ok()?);
                if rows.len() != search.len() || rows.iter().zip(&search).any(|(row, one)| row.end != one.end) {
                    return None;
                }
            }
            Some(())
        })
        .await;
    }

    /// Copies the folder of the nats-server, which is killed and started again.
    async fn copy(&mut self) -> TempDir {
        let copy = tempfile::tempdir().unwrap();
        let server = self.fixture.stack.servers.nats_mut();
        server.kill();
        folder::copy(&self.nats.path().join("store"), &copy.path().join("store")).unwrap();
        server.restart().await.unwrap();
        let record = &self.fixture.record;
        eventually("the record again", || async { record.check().await.ok() }).await;
        copy
    }

    async fn hibernate(&self) {
        let line = self.fixture.hibernation(&format!("--shard-url {}", self.shard_url));
        let summary = self.fixture.summary(&line).await;
        assert_eq!(summary["hibernated"], CONVERSATIONS * 4, "{summary}");
    }

    async fn stop_projectors(&mut self) {
        self.projector_of_shard.stop().await;
        self.fixture.stack.projector.stop().await;
    }

    /// A partition whose rows end at a commit that only the archive has.
    async fn hibernated_partition(&self) -> Partition {
        for prefix in prefixes(&self.model()).await.unwrap() {
            let Some(commit) = prefix.last_commit else { continue };
            let position = domain::Position { partition: prefix.partition, sequence: commit.sequence };
            if self.fixture.record.message_at(position).await.unwrap().is_none() {
                return prefix.partition;
            }
        }
        panic!("no checkpoint has a hibernated commit");
    }

    async fn answers(&self, record: &Record, replica: &ReadModel, hibernated: Partition) -> Answers {
        let found = find(record, &self.model()).await.unwrap();
        let of = |holder: &Holder| answer(found.iter().any(|one| one.holder == *holder));
        let in_hibernated = |one: &Divergence| one.holder == Holder::Rows(None) && one.partition == hibernated;
        Answers::from([
            ("rows", of(&Holder::Rows(None))),
            ("search", of(&Holder::Search(None))),
            ("shard", of(&Holder::Rows(Some(SHARD.to_owned())))),
            ("replica", answer(!find(record, replica).await.unwrap().is_empty())),
            ("hibernated", answer(found.iter().any(in_hibernated))),
            ("archive", answer(!find_in_catalogue(record).await.unwrap().is_empty())),
        ])
    }
}

fn answer(is_refused: bool) -> &'static str {
    if is_refused { "refused" } else { "accepted" }
}

/// Whether the record with the catalogue of another one is refused, when it is opened or compared.
async fn catalogue_answer(url: &str) -> &'static str {
    match Record::open(RecordConfig::new(url)).await {
        Ok(record) => answer(!find_in_catalogue(&record).await.unwrap().is_empty()),
        Err(error) => {
            assert!(error.to_string().contains("belongs to another record"), "{error}");
            answer(true)
        }
    }
}

/// Makes another record in a folder.
async fn make_record(folder: &Path, conversations: usize) {
    let server = NatsServer::start(NatsConfig::new(folder), &quiet).await.unwrap();
    let record = Record::create(RecordConfig::new(server.url())).await.unwrap();
    for number in 0..conversations {
        OldConversation::new(&format!("other-{number}")).chat(&record, 1).await;
    }
}
