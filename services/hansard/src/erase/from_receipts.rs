//! The erasures that a restore must repeat, read from receipts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, ensure};
use domain::{ConversationId, TenantId};

use super::plan::ForkRule;
use super::receipt::{Receipt, Signed, SubjectName};
use super::subject::Subject;

/// An erasure to repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepeatedErasure {
    /// What is erased.
    pub(crate) subject: Subject,
    /// What happens to forks: the same as in the original erasure.
    pub(crate) forks: ForkRule,
}

#[derive(Default)]
struct Listed {
    erased: BTreeSet<ConversationId>,
    detached: BTreeSet<ConversationId>,
}

/// Reads the receipts of a folder, every `.json` file in it, and returns their erasures, tenants first. `record` and
/// `receipt_keys` are hexadecimal.
pub(crate) fn read_receipts(
    folder: &Path,
    record: &str,
    receipt_keys: &[String],
) -> anyhow::Result<Vec<RepeatedErasure>> {
    let mut tenants = BTreeSet::new();
    let mut listed: BTreeMap<TenantId, Listed> = BTreeMap::new();
    for file in receipt_files(folder)? {
        let signed = Signed::read(&file)?;
        let is_ours = signed.receipt.record == record && signed.is_by_any(receipt_keys);
        let name = file.display();
        ensure!(
            is_ours,
            "{name} was changed, or belongs to another record than the backup"
        );
        if let SubjectName::Tenant { tenant } = &signed.receipt.subject {
            tenants.insert(tenant_id(tenant)?);
        }
        list(&signed.receipt, &mut listed)?;
    }
    let tenants = tenants.into_iter().map(|tenant| RepeatedErasure {
        subject: Subject::Tenant(tenant),
        forks: ForkRule::Erase,
    });
    Ok(tenants.chain(listed.into_iter().map(repeated)).collect())
}

fn list(receipt: &Receipt, listed: &mut BTreeMap<TenantId, Listed>) -> anyhow::Result<()> {
    for entry in &receipt.conversations {
        let of_tenant = listed.entry(tenant_id(&entry.tenant)?).or_default();
        let id = ConversationId::parse(entry.conversation.as_str())
            .map_err(|violation| anyhow!(violation.description))?;
        if receipt.detached.contains(&entry.conversation) {
            of_tenant.detached.insert(id.clone());
        }
        of_tenant.erased.insert(id);
    }
    Ok(())
}

/// Detached forks are forks again in the backup, and are detached again. All other forks were erased.
fn repeated((tenant, listed): (TenantId, Listed)) -> RepeatedErasure {
    let Listed {
        mut erased,
        detached,
    } = listed;
    erased.retain(|id| !detached.contains(id));
    RepeatedErasure {
        subject: Subject::Conversations {
            tenant,
            ids: erased,
        },
        forks: if detached.is_empty() {
            ForkRule::Erase
        } else {
            ForkRule::Detach
        },
    }
}

fn receipt_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = || format!("cannot read {}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(unreadable)? {
        let file = entry.with_context(unreadable)?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn tenant_id(text: &str) -> anyhow::Result<TenantId> {
    TenantId::parse(text).map_err(|violation| anyhow!(violation.description))
}
