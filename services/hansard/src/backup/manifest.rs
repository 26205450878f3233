//! What a backup says of itself. It is written last: a folder without it is no backup.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use event_log::{ArchiveEntry, StreamDescription};
use serde::{Deserialize, Serialize};

/// The manifest's file.
pub const MANIFEST_FILE: &str = "manifest.json";
/// What a backup of this program says that it is.
const FORM: &str = "hansard-backup-1";

/// A backup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Manifest {
    /// `hansard-backup-1`.
    pub form: String,
    /// The record's id, in hexadecimal digits.
    pub record: String,
    /// How many partitions it has.
    pub partitions: u16,
    /// When it was begun, as RFC 3339 writes it: what is erased later must be erased again after a restore.
    pub begun_at: String,
    /// The Ed25519 keys of the record's receipts, in hexadecimal digits, the oldest first.
    #[serde(default)]
    pub receipt_keys: Vec<String>,
    /// The one key of a backup that is older than `receipt_keys`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_key: Option<String>,
    /// The streams, in the order in which they are restored.
    pub streams: Vec<ArchivedStream>,
    /// What of the record was archived elsewhere, by its catalogue, so that a restore can look for it before it begins; `None`:
    /// the backup is older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue: Option<Vec<ArchiveEntry>>,
}

/// A stream of a backup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArchivedStream {
    /// Its name.
    pub name: String,
    /// Its archive, a file of the folder.
    pub file: String,
    /// The archive's bytes.
    pub size_bytes: u64,
    /// Their SHA-256, in hexadecimal digits.
    pub sha256: String,
    /// How many messages it held.
    pub messages: u64,
    /// The last sequence that it had given out.
    pub last_sequence: u64,
    /// What the server wants to hear when it is restored.
    pub description: StreamDescription,
}

impl Manifest {
    /// The manifest of a backup of these streams.
    #[must_use]
    pub fn new(
        record: String,
        partitions: u16,
        begun_at: String,
        receipt_keys: Vec<String>,
    ) -> Self {
        Self {
            form: FORM.to_owned(),
            record,
            partitions,
            begun_at,
            receipt_keys,
            receipt_key: None,
            streams: Vec::new(),
            catalogue: None,
        }
    }

    /// Writes it, for good once this returns.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let (file, unfinished) = (folder.join(MANIFEST_FILE), folder.join("manifest.part"));
        let mut made = File::create(&unfinished)?;
        made.write_all(&serde_json::to_vec_pretty(self)?)?;
        made.sync_all()?;
        std::fs::rename(&unfinished, &file)?;
        File::open(folder)?.sync_all()?;
        Ok(())
    }

    /// Reads the manifest of a backup.
    ///
    /// # Errors
    /// There is none, or it is of another version.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join(MANIFEST_FILE);
        let name = file.display().to_string();
        let text =
            std::fs::read(&file).with_context(|| format!("no backup: cannot read {name}"))?;
        let manifest: Self =
            serde_json::from_slice(&text).with_context(|| format!("{name} is no manifest"))?;
        ensure!(manifest.form == FORM, "{name} is of another version");
        Ok(manifest)
    }

    /// Every key of the record's receipts.
    #[must_use]
    pub fn all_receipt_keys(&self) -> Vec<String> {
        let keys = self.receipt_keys.iter().chain(&self.receipt_key);
        keys.cloned().collect()
    }

    /// What it is told from other backups by.
    #[must_use]
    pub fn name(&self) -> String {
        format!("record {} as of {}", self.record, self.begun_at)
    }

    /// How many bytes the archives have.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.streams.iter().map(|stream| stream.size_bytes).sum()
    }
}
