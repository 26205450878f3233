//! A rotation of the master key that is killed between two entries, and resumed.

use std::fs;
use std::path::Path;

use event_log::seal::{MasterKey, MasterKeys};
use event_log::{ReceiptKeys, Registry};
use futures::future::join_all;
use serde_json::Value;
use tests::guarded;
use tests::process::Process;
use tests::program;
use tests::raw_nats::RawNats;

use crate::ground::{Ground, current};

/// Tenants, each with a secret: so many that a kill comes before the last.
const TENANTS: usize = 60;
/// Entries after which the rotation is killed.
const ENTRIES_BEFORE_KILL: usize = 3;
/// Rotations that may end before they are killed; each is to a key of its own.
const TRIES_MAX: usize = 10;

/// A rotation from the master key in force to a new one.
struct Rotation {
    old: MasterKey,
    new: MasterKey,
    variables: Vec<(String, String)>,
}

impl Rotation {
    fn new(ground: &Ground, folder: &Path) -> Self {
        let (old, new) = (ground.master_key.clone(), MasterKey::generate());
        let file = |name: &str, key: &MasterKey| {
            let file = folder.join(name);
            fs::write(&file, key.reveal()).expect("a file");
            file.display().to_string()
        };
        let files = [
            ("HANSARD_MASTER_KEY_FILE", file("new", &new)),
            ("HANSARD_PREVIOUS_MASTER_KEY_FILE", file("old", &old)),
        ];
        let servers = ground.operators().into_iter();
        let servers = servers.filter(|(name, _)| name != "HANSARD_MASTER_KEY");
        let files = files.map(|(name, file)| (name.to_owned(), file));
        let variables = servers.chain(files).collect();
        Self {
            old,
            new,
            variables,
        }
    }

    /// Starts the command, and kills it once it has sealed some entries.
    async fn killed(&self, ground: &Ground) {
        let url = ground.nats_url();
        let mut changes = RawNats::connect(&url, "operator", &guarded::password("operator")).await;
        let refusals = changes.subscribe("$KV.HANSARD_registry.>").await;
        assert_eq!(refusals, [""; 0]);
        let arguments = ["master-key", "rotate", "--json"];
        let mut process = Process::start(&program!(), &arguments, &self.variables);
        for _ in 0..ENTRIES_BEFORE_KILL {
            changes.message().await;
        }
        process.kill();
    }

    /// Runs the command to its end; how many secrets of the registry it sealed.
    async fn run(&self) -> u64 {
        let ended = program!()
            .run(["master-key", "rotate", "--json"], &self.variables)
            .await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let told: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        told["resealed"].as_u64().expect("a number")
    }

    fn both(&self) -> MasterKeys {
        MasterKeys {
            current: Some(self.new.clone()),
            previous: Some(self.old.clone()),
        }
    }
}

/// Whether every secret is opened by these keys.
async fn opens(ground: &Ground, keys: &MasterKeys) -> bool {
    let record = ground.record("operator", keys).await;
    let registry = Registry::open(&record).await.expect("a registry");
    registry.check_secrets().is_ok() && record.existing_receipt_keys().await.is_ok()
}

/// A rotation that was killed when some secrets were sealed by the new key and others by the old one.
async fn interrupted(ground: &mut Ground, folder: &Path) -> Rotation {
    for _ in 0..TRIES_MAX {
        let rotation = Rotation::new(ground, folder);
        rotation.killed(ground).await;
        assert!(opens(ground, &rotation.both()).await);
        if !opens(ground, &current(&rotation.new)).await {
            assert!(!opens(ground, &current(&rotation.old)).await);
            return rotation;
        }
        ground.set_master_key(rotation.new);
    }
    panic!("{TRIES_MAX} rotations ended before they were killed");
}

/// Kills a rotation, runs it again, and goes on with the new key alone.
pub(crate) async fn is_resumed(ground: &mut Ground, receipts: &ReceiptKeys) {
    let operator = ground.operator().await;
    let named = |n: usize| format!("tenant-{n}");
    join_all((0..TENANTS).map(async |n| operator.tenant(&named(n)).await)).await;
    operator.agent("acme", "support").await;
    let key = operator.api_key("support").await.secret;
    let session = ground.stranger().with("x-api-key", &key);
    let session = session.in_session().await;
    ground.stack.gateway.stop().await;
    ground.stack.writer.stop().await;
    let folder = tempfile::tempdir().expect("a folder");
    let rotation = interrupted(ground, folder.path()).await;
    let left = rotation.run().await;
    // Every tenant has one, acme too.
    let secrets = u64::try_from(TENANTS).expect("a number") + 1;
    assert!((1..secrets).contains(&left), "{left}");
    assert_eq!(rotation.run().await, 0);
    assert!(!opens(ground, &current(&rotation.old)).await);
    let record = ground.record("operator", &current(&rotation.new)).await;
    let kept = record.existing_receipt_keys().await;
    assert_eq!(kept, Ok(Some(receipts.clone())));
    ground.set_master_key(rotation.new);
    Box::pin(ground.stack.start()).await;
    // Issued under the tenant's secret, which another key sealed.
    assert_eq!(session.get("/api/chats").await.status, 200);
}
