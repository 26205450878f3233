//! The receipt of an erasure: what went, where and when, signed. Nothing of what was said is in it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, ensure};
use domain::Timestamp;
use event_log::Record;
use runtime::clock::Clock;
use serde::{Deserialize, Serialize};

pub use super::entry::Entry;
pub(crate) use super::entry::rfc3339;
use super::job::Erased;
use super::keys::{SigningKey, is_id_of, is_signed};
use super::rows::Rows;
use super::scan::Found;
use super::subject::Subject;

/// What a receipt of this program says that it is.
const FORM: &str = "hansard-erasure-1";

/// What a receipt says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Receipt {
    /// `hansard-erasure-1`.
    pub form: String,
    /// The record's id, in hexadecimal digits.
    pub record: String,
    /// What was asked for.
    pub subject: SubjectName,
    /// When the receipt was made, as RFC 3339 writes it.
    pub made_at: String,
    /// Every conversation that is erased under the subject, forks that went with them among them.
    pub conversations: Vec<Entry>,
    /// The forks among them that live on, each under its id and `-detached`.
    pub detached: Vec<String>,
    /// Entries of the registry that were removed, by kind.
    pub registry: BTreeMap<String, u64>,
    /// Whether the rows were seen to be gone.
    pub rows: Rows,
}

/// A subject as a receipt names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "camelCase")]
pub enum SubjectName {
    /// Conversations, which the receipt lists.
    Conversations {
        /// Their tenant.
        tenant: String,
    },
    /// A user.
    User {
        /// The tenant.
        tenant: String,
        /// The user.
        user: String,
    },
    /// A channel.
    Channel {
        /// The tenant.
        tenant: String,
        /// The channel.
        channel: String,
    },
    /// A tenant.
    Tenant {
        /// The tenant.
        tenant: String,
    },
    /// All that is erased in the record, whoever erased it.
    Ledger,
}

/// A receipt and its signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Signed {
    /// The receipt.
    pub receipt: Receipt,
    /// The id of the key that signed it; `None`: an earlier version made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// The Ed25519 key by which it is checked, in hexadecimal digits.
    pub public_key: String,
    /// The signature over the receipt as compact JSON, its members in the order of this program; in hexadecimal digits.
    pub signature: String,
}

impl Receipt {
    /// The receipt of a job.
    #[must_use]
    pub fn of(record: &Record, subject: &Subject, erased: &Erased, rows: Rows) -> Self {
        Self {
            detached: erased
                .detached
                .iter()
                .map(|fork| fork.key.conversation.as_str().to_owned())
                .collect(),
            registry: erased.registry.clone(),
            rows,
            ..Self::listing(record, name(subject), &erased.conversations)
        }
    }

    /// The receipt of all that is erased.
    #[must_use]
    pub fn ledger(record: &Record, erased: &[Found]) -> Self {
        Self::listing(record, SubjectName::Ledger, erased)
    }

    fn listing(record: &Record, subject: SubjectName, erased: &[Found]) -> Self {
        Self {
            form: FORM.to_owned(),
            record: hex::encode(record.id().0),
            subject,
            made_at: rfc3339(Timestamp(Clock::System.now_nanos())),
            conversations: erased.iter().map(|found| found.entry.clone()).collect(),
            detached: Vec::new(),
            registry: BTreeMap::new(),
            rows: Rows::NotLookedAt,
        }
    }

    /// Signs it.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn signed(self, key: &SigningKey) -> anyhow::Result<Signed> {
        let signature = key.sign(&serde_json::to_vec(&self)?);
        Ok(Signed {
            receipt: self,
            key_id: Some(key.id().to_owned()),
            public_key: key.public_key(),
            signature,
        })
    }
}

impl Signed {
    /// Reads a receipt from its file; its signature is not looked at yet.
    ///
    /// # Errors
    /// The file cannot be read, or is no receipt.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let name = file.display();
        let text = std::fs::read(file).with_context(|| format!("cannot read {name}"))?;
        let signed: Self =
            serde_json::from_slice(&text).with_context(|| format!("{name} is no receipt"))?;
        ensure!(signed.receipt.form == FORM, "{name} is of another version");
        Ok(signed)
    }

    /// Writes it to a file, for people to read too.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, file: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(file, format!("{text}\n"))
            .with_context(|| format!("cannot write {}", file.display()))
    }

    /// Whether it is as it was signed, by one of these keys, in hexadecimal digits.
    #[must_use]
    pub fn is_by_any(&self, public_keys: &[String]) -> bool {
        public_keys.iter().any(|key| self.is_by(key))
    }

    /// Whether it is as it was signed, by this key, in hexadecimal digits. A receipt that names the id of another key is not.
    #[must_use]
    pub fn is_by(&self, public_key: &str) -> bool {
        let id = self.key_id.as_deref();
        self.public_key == public_key
            && id.is_none_or(|id| is_id_of(id, public_key))
            && serde_json::to_vec(&self.receipt)
                .is_ok_and(|bytes| is_signed(public_key, &bytes, &self.signature))
    }
}

fn name(subject: &Subject) -> SubjectName {
    let tenant = subject.tenant().as_str().to_owned();
    match subject {
        Subject::Conversations { .. } => SubjectName::Conversations { tenant },
        Subject::User { user, .. } => SubjectName::User {
            tenant,
            user: user.as_str().to_owned(),
        },
        Subject::Channel { channel, .. } => SubjectName::Channel {
            tenant,
            channel: channel.as_str().to_owned(),
        },
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
            subject: SubjectName::User {
                tenant: "acme".to_owned(),
                user: "ada".to_owned(),
            },
            made_at: String::new(),
            conversations: Vec::new(),
            detached: Vec::new(),
            registry: BTreeMap::from([("agent".to_owned(), 1)]),
            rows: Rows::Gone,
        };
        receipt
            .signed(&SigningKey::of_seed(&[1; 32]).unwrap())
            .unwrap()
    }

    #[test]
    fn what_is_changed_is_not_as_it_was_signed() {
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
    fn a_receipt_reads_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("receipt.json");
        signed().write(&file).unwrap();
        assert_eq!(Signed::read(&file).unwrap(), signed());
        // As earlier versions wrote it.
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
