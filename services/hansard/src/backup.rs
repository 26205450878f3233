//! Copies of the whole record in a folder: a server snapshot of each stream, and a manifest with their digests. The manifest is
//! written last: a folder without a manifest is not a complete backup.

mod read;
mod write;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use event_log::{ArchiveEntry, StreamDescription};
use serde::{Deserialize, Serialize};

pub(crate) use read::{pieces, verified};
pub(crate) use write::write;

/// The file name of the manifest.
const MANIFEST_FILE: &str = "manifest.json";
/// The format version that this program writes and reads.
const FORM: &str = "hansard-backup-1";

/// The contents of a backup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Manifest {
    /// The format version, `hansard-backup-1`.
    pub(crate) form: String,
    /// The record's id, hexadecimal.
    pub(crate) record: String,
    /// The number of partitions of the record.
    pub(crate) partitions: u16,
    /// The start of the backup, RFC 3339. What is erased after it must be erased again after a restore.
    pub(crate) begun_at: String,
    /// The Ed25519 public keys of the record's erasure receipts, hexadecimal, oldest first.
    #[serde(default)]
    pub(crate) receipt_keys: Vec<String>,
    /// The single key of a backup from before `receipt_keys` existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) receipt_key: Option<String>,
    /// The streams, in the order in which they are restored.
    pub(crate) streams: Vec<ArchivedStream>,
    /// The archive's catalogue, so that a restore can check the archived segments before it starts. `None`: the backup is
    /// from before this field existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) catalogue: Option<Vec<ArchiveEntry>>,
}

/// A stream of a backup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ArchivedStream {
    /// The name of the stream.
    pub(crate) name: String,
    /// The snapshot file in the backup's folder.
    pub(crate) file: String,
    /// The size of the file.
    pub(crate) size_bytes: u64,
    /// The SHA-256 of the file, hexadecimal.
    pub(crate) sha256: String,
    /// The number of messages in the stream.
    pub(crate) messages: u64,
    /// The last sequence that the stream had assigned.
    pub(crate) last_sequence: u64,
    /// The configuration and state that the server needs for the restore.
    pub(crate) description: StreamDescription,
}

impl Manifest {
    /// A manifest without streams.
    pub(crate) fn new(record: String, partitions: u16, begun_at: String, receipt_keys: Vec<String>) -> Self {
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

    /// Writes the manifest; it is on disk when this returns.
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let (file, unfinished) = (folder.join(MANIFEST_FILE), folder.join("manifest.part"));
        let mut written = File::create(&unfinished)?;
        written.write_all(&serde_json::to_vec_pretty(self)?)?;
        written.sync_all()?;
        std::fs::rename(&unfinished, &file)?;
        File::open(folder)?.sync_all()?;
        Ok(())
    }

    /// Reads the manifest of a backup.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join(MANIFEST_FILE);
        let name = file.display().to_string();
        let text = std::fs::read(&file).with_context(|| format!("not a backup: cannot read {name}"))?;
        let manifest: Self = serde_json::from_slice(&text).with_context(|| format!("{name} is not a manifest"))?;
        let form = &manifest.form;
        ensure!(form == FORM, "{name} has the format {form:?}; this program reads {FORM:?}");
        Ok(manifest)
    }

    /// All receipt keys of the record.
    pub(crate) fn all_receipt_keys(&self) -> Vec<String> {
        let keys = self.receipt_keys.iter().chain(&self.receipt_key);
        keys.cloned().collect()
    }

    /// A name for messages that distinguishes backups.
    pub(crate) fn name(&self) -> String {
        format!("record {} as of {}", self.record, self.begun_at)
    }

    /// The total size of the stream files.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.streams.iter().map(|stream| stream.size_bytes).sum()
    }
}
