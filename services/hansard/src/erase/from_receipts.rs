//! The erasures that a restore must repeat, read from receipts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, ensure};
use domain::{ConversationId, TenantId};

use super::plan::ForkRule;
use super::receipt::{Receipt, Signed, SubjectName};
use super::subject::Subject;
use crate::ids;

/// An erasure to repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepeatedErasure {
    /// What is erased.
    pub(crate) subject: Subject,
    /// What happens to forks: of a tenant, all are erased; else only those that receipts list.
    pub(crate) forks: ForkRule,
}

/// The conversations that receipts list, by tenant.
type Listed = BTreeMap<TenantId, BTreeSet<ConversationId>>;

/// Reads the receipts of a folder, every `.json` file in it, and returns their erasures, tenants first. `record` and
/// `receipt_keys` are hexadecimal.
pub(crate) fn read_receipts(
    folder: &Path,
    record: &str,
    receipt_keys: &[String],
) -> anyhow::Result<Vec<RepeatedErasure>> {
    let mut tenants = BTreeSet::new();
    let mut listed = Listed::new();
    for file in receipt_files(folder)? {
        let signed = Signed::read(&file)?;
        check_origin(&file, &signed, record, receipt_keys)?;
        if let SubjectName::Tenant { tenant } = &signed.receipt.subject {
            tenants.insert(ids::tenant(tenant).map_err(Error::msg)?);
        }
        list(&signed.receipt, &mut listed)?;
    }
    let tenants =
        tenants.into_iter().map(|tenant| RepeatedErasure { subject: Subject::Tenant(tenant), forks: ForkRule::Erase });
    Ok(tenants.chain(listed.into_iter().map(repeated)).collect())
}

/// Checks that a receipt is of the record and was not changed.
fn check_origin(file: &Path, signed: &Signed, record: &str, receipt_keys: &[String]) -> anyhow::Result<()> {
    let (file, key) = (file.display(), &signed.public_key);
    ensure!(signed.receipt.record == record, "{file} belongs to another record than the backup");
    ensure!(
        receipt_keys.contains(key),
        "{file} is signed by the key {key}, which the backup does not contain: if `hansard receipt-key list` of the record showed this key, give it with --receipt-key"
    );
    ensure!(signed.is_by(key), "{file} was changed: its signature is invalid");
    Ok(())
}

fn list(receipt: &Receipt, listed: &mut Listed) -> anyhow::Result<()> {
    for entry in &receipt.conversations {
        let tenant = ids::tenant(&entry.tenant).map_err(Error::msg)?;
        let id = ids::conversation(&entry.conversation).map_err(Error::msg)?;
        listed.entry(tenant).or_default().insert(id);
    }
    Ok(())
}

/// Receipts list all forks that were erased, also those that an earlier version copied before.
fn repeated((tenant, ids): (TenantId, BTreeSet<ConversationId>)) -> RepeatedErasure {
    RepeatedErasure { subject: Subject::Conversations { tenant, ids }, forks: ForkRule::Sever }
}

fn receipt_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = || format!("cannot read {}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(unreadable)? {
        files.push(entry.with_context(unreadable)?.path());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}
