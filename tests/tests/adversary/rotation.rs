//! A rotation of the master key that is killed between two entries, and resumed.

use std::fs;
use std::path::Path;

use event_log::ReceiptKeys;
use event_log::seal::{MasterKey, MasterKeys};
use futures::future::join_all;
use registry::Registry;
use serde_json::Value;
use tests::nats_accounts;
use tests::process::Process;
use tests::program;
use tests::raw_nats::RawNats;

use crate::fixture::{Fixture, current};

/// Tenants, each with a secret: enough that the kill happens before the last.
const TENANTS: usize = 60;
/// Entries after which the rotation is killed.
const ENTRIES_BEFORE_KILL: usize = 3;
/// Rotations that may end before they are killed; each is to another key.
const TRIES_MAX: usize = 10;

/// A rotation from the current master key to a new one.
struct Rotation {
    old: MasterKey,
    new: MasterKey,
    variables: Vec<(String, String)>,
}

impl Rotation {
    fn new(fixture: &Fixture, folder: &Path) -> Self {
        let (old, new) = (fixture.master_key.clone(), MasterKey::generate());
        let file = |name: &str, key: &MasterKey| {
            let file = folder.join(name);
            fs::write(&file, key.reveal()).expect("a file");
            file.display().to_string()
        };
        let files =
            [("HANSARD_MASTER_KEY_FILE", file("new", &new)), ("HANSARD_PREVIOUS_MASTER_KEY_FILE", file("old", &old))];
        let servers = fixture.operator_variables().into_iter().filter(|(name, _)| name != "HANSARD_MASTER_KEY");
        let files = files.map(|(name, file)| (name.to_owned(), file));
        let variables = servers.chain(files).collect();
        Self { old, new, variables }
    }

    /// Starts the command, and kills it after some sealed entries.
    async fn run_and_kill(&self, fixture: &Fixture) {
        let url = fixture.nats_url();
        let mut changes = RawNats::connect(&url, "operator", &nats_accounts::password("operator")).await;
        let refusals = changes.subscribe("$KV.HANSARD_registry.>").await;
        assert_eq!(refusals, [""; 0]);
        let arguments = ["master-key", "rotate", "--json"];
        let mut process = Process::start(&program!(), &arguments, &self.variables);
        for _ in 0..ENTRIES_BEFORE_KILL {
            changes.message().await;
        }
        process.kill();
    }

    /// Runs the command to its end; returns how many secrets of the registry it sealed.
    async fn run(&self) -> u64 {
        let ended = program!().run(["master-key", "rotate", "--json"], &self.variables).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let summary: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        summary["resealed"].as_u64().expect("a number")
    }

    fn both_keys(&self) -> MasterKeys {
        MasterKeys { current: Some(self.new.clone()), previous: Some(self.old.clone()), registry: None }
    }
}

/// Whether these keys open every secret.
async fn can_open(fixture: &Fixture, keys: &MasterKeys) -> bool {
    let record = fixture.record("operator", keys).await;
    let registry = Registry::open(&record).await.expect("a registry");
    registry.check_secrets().is_ok() && record.existing_receipt_keys().await.is_ok()
}

/// Interrupts a rotation when some secrets have the new key and others the old one.
async fn interrupt(fixture: &mut Fixture, folder: &Path) -> Rotation {
    for _ in 0..TRIES_MAX {
        let rotation = Rotation::new(fixture, folder);
        rotation.run_and_kill(fixture).await;
        assert!(can_open(fixture, &rotation.both_keys()).await);
        if !can_open(fixture, &current(&rotation.new)).await {
            assert!(!can_open(fixture, &current(&rotation.old)).await);
            return rotation;
        }
        fixture.set_master_key(rotation.new);
    }
    panic!("{TRIES_MAX} rotations ended before they were killed");
}

/// Kills a rotation, runs it again, and continues with only the new key.
pub(crate) async fn check_resumption(fixture: &mut Fixture, receipts: &ReceiptKeys) {
    let operator = fixture.operator().await;
    let named = |n: usize| format!("tenant-{n}");
    join_all((0..TENANTS).map(async |n| operator.tenant(&named(n)).await)).await;
    operator.agent("acme", "support").await;
    let key = operator.api_key("support").await.secret;
    let session = fixture.stranger().with("x-api-key", &key).in_session().await;
    fixture.stack.gateway.stop().await;
    fixture.stack.writer.stop().await;
    let folder = tempfile::tempdir().expect("a folder");
    let rotation = interrupt(fixture, folder.path()).await;
    let left = rotation.run().await;
    // Every tenant has one secret, including acme.
    let secrets = u64::try_from(TENANTS).expect("a number") + 1;
    assert!((1..secrets).contains(&left), "{left}");
    assert_eq!(rotation.run().await, 0);
    assert!(!can_open(fixture, &current(&rotation.old)).await);
    let record = fixture.record("operator", &current(&rotation.new)).await;
    let kept = record.existing_receipt_keys().await;
    assert_eq!(kept, Ok(Some(receipts.clone())));
    fixture.set_master_key(rotation.new);
    Box::pin(fixture.stack.start()).await;
    // The session was issued with the tenant's secret, which is sealed with the new key now.
    assert_eq!(session.get("/api/chats").await.status, 200);
}
