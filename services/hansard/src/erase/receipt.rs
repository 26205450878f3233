//! The erasure receipt: a signed list of what was erased, with positions and times but without content.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, ensure};
use event_log::Record;
use serde::{Deserialize, Serialize};

use super::job::ErasureResult;
use super::keys::{SigningKey, is_id_of, verify_signature};
use super::rows::Rows;
use super::scan::{Entry, ScannedConversation};
use super::subject::Subject;
use crate::view::when::{now, rfc3339};

/// The format version that this program writes and reads.
const FORM: &str = "hansard-erasure-1";

/// The contents of an erasure receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Receipt {
    /// The format version, `hansard-erasure-1`.
    pub(crate) form: String,
    /// The record's id, hexadecimal.
    pub(crate) record: String,
    /// What was requested.
    pub(crate) subject: SubjectName,
    /// The time of the receipt, RFC 3339.
    pub(crate) made_at: String,
    /// All erased conversations of the subject, and forks that were erased with them.
    pub(crate) conversations: Vec<Entry>,
    /// Empty, except in receipts of earlier versions: the forks among them that were copied to `<id>-detached` before.
    pub(crate) detached: Vec<String>,
    /// Entries of the registry that were removed, by kind.
    pub(crate) registry: BTreeMap<String, u64>,
    /// Whether the rows are deleted.
    pub(crate) rows: Rows,
}

/// The subject of a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "camelCase")]
pub(crate) enum SubjectName {
    /// Conversations by id; the receipt lists them.
    Conversations {
        tenant: String,
    },
    User {
        tenant: String,
        user: String,
    },
    Channel {
        tenant: String,
        channel: String,
    },
    Tenant {
        tenant: String,
    },
    /// Everything that is erased in the record, by operators and by callers.
    Ledger,
}

/// A receipt and its signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Signed {
    pub(crate) receipt: Receipt,
    /// The id of the signing key; `None`: an earlier version wrote the receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key_id: Option<String>,
    /// The Ed25519 public key, hexadecimal.
    pub(crate) public_key: String,
    /// The signature of the receipt as compact JSON, with fields in the order of [`Receipt`]; hexadecimal.
    pub(crate) signature: String,
}

impl Receipt {
    /// Creates the receipt of a job.
    pub(crate) fn of(record: &Record, subject: &Subject, erased: &ErasureResult, rows: Rows) -> Self {
        Self { registry: erased.registry.clone(), rows, ..Self::listing(record, name(subject), &erased.conversations) }
    }

    /// Creates the receipt of everything that is erased.
    pub(crate) fn ledger(record: &Record, erased: &[ScannedConversation]) -> Self {
        Self::listing(record, SubjectName::Ledger, erased)
    }

    fn listing(record: &Record, subject: SubjectName, erased: &[ScannedConversation]) -> Self {
        Self {
            form: FORM.to_owned(),
            record: hex::encode(record.id().0),
            subject,
            made_at: rfc3339(now()),
            conversations: erased.iter().map(|found| found.entry.clone()).collect(),
            detached: Vec::new(),
            registry: BTreeMap::new(),
            rows: Rows::NotLookedAt,
        }
    }

    /// Signs the receipt.
    pub(crate) fn signed(self, key: &SigningKey) -> anyhow::Result<Signed> {
        let signature = key.sign(&serde_json::to_vec(&self)?);
        Ok(Signed { receipt: self, key_id: Some(key.id().to_owned()), public_key: key.public_key(), signature })
    }
}

impl Signed {
    /// Reads a receipt without checking its signature.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let name = file.display();
        let text = std::fs::read(file).with_context(|| format!("cannot read {name}"))?;
        let signed: Self =
            serde_json::from_slice(&text).with_context(|| format!("{name} is not an erasure receipt"))?;
        let form = &signed.receipt.form;
        ensure!(form == FORM, "{name} has the format {form:?}; this program reads {FORM:?}");
        Ok(signed)
    }

    /// Writes it to a file as indented JSON.
    pub(crate) fn write(&self, file: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(file, format!("{text}\n")).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Whether the signature is valid for one of these public keys, hexadecimal.
    pub(crate) fn is_by_any(&self, public_keys: &[String]) -> bool {
        public_keys.iter().any(|key| self.is_by(key))
    }

    /// Whether the signature is valid for this public key, hexadecimal, and the key id matches.
    pub(crate) fn is_by(&self, public_key: &str) -> bool {
        let id = self.key_id.as_deref();
        self.public_key == public_key
            && id.is_none_or(|id| is_id_of(id, public_key))
            && serde_json::to_vec(&self.receipt)
                .is_ok_and(|bytes| verify_signature(public_key, &bytes, &self.signature))
    }
}

fn name(subject: &Subject) -> SubjectName {
    let tenant = subject.tenant().to_string();
    match subject {
        Subject::Conversations { .. } => SubjectName::Conversations { tenant },
        Subject::User { user, .. } => {
            let user = user.to_string();
            SubjectName::User { tenant, user }
        }
        Subject::Channel { channel, .. } => {
            let channel = channel.to_string();
            SubjectName::Channel { tenant, channel }
        }
        Subject::Tenant(_) => SubjectName::Tenant { tenant },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed() -> Signed {
        let receipt = Receipt {
            form: FORM.to_owned(),
            record: "00".to_owned(),
            subject: SubjectName::User { tenant: "acme".to_owned(), user: "ada".to_owned() },
            made_at: String::new(),
            conversations: Vec::new(),
            detached: Vec::new(),
            registry: BTreeMap::from([("agent".to_owned(), 1)]),
            rows: Rows::Gone,
        };
        receipt.signed(&SigningKey::of_seed(&[1; 32]).unwrap()).unwrap()
    }

    #[test]
    fn a_changed_receipt_is_not_genuine() {
        let key = signed().public_key;
        let check = |change: fn(&mut Signed), expected| {
            let mut signed = signed();
            change(&mut signed);
            assert_eq!(signed.is_by(&key), expected, "{signed:?}");
        };
        check(|_| (), true);
        check(|signed| signed.receipt.record.push('0'), false);
        check(|signed| signed.receipt.rows = Rows::Left, false);
        check(|signed| signed.receipt.registry.clear(), false);
        check(|signed| signed.receipt.subject = SubjectName::Ledger, false);
        check(|signed| signed.signature.clear(), false);
        check(|signed| signed.key_id = None, true);
        check(|signed| signed.key_id = Some("0".repeat(16)), false);
        check(|signed| signed.signature = "00".repeat(64), false);
        let other = SigningKey::of_seed(&[2; 32]).unwrap();
        let resigned = signed().receipt.signed(&other).unwrap();
        assert!(resigned.is_by(&other.public_key()) && !resigned.is_by(&key));
    }

    #[test]
    fn a_written_receipt_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("receipt.json");
        signed().write(&file).unwrap();
        assert_eq!(Signed::read(&file).unwrap(), signed());
        // The form of earlier versions.
        let text = std::fs::read_to_string(&file).unwrap();
        let id = signed().key_id.unwrap();
        let old = text.replace(&format!("  \"keyId\": \"{id}\",\n"), "");
        assert_ne!(old, text);
        std::fs::write(&file, old).unwrap();
        let old = Signed::read(&file).unwrap();
        assert_eq!(old.key_id, None);
        assert!(old.is_by_any(&["00".to_owned(), signed().public_key]));
        std::fs::write(&file, "{}").unwrap();
        assert!(Signed::read(&file).is_err());
    }
}
