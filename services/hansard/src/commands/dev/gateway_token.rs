//! The service token of the gateway, the same in every run. The gateway uses it for requests of frontends, which have none.
//!
//! The registry stores no secrets, so a file with mode 0600 keeps the token. With another record, it is created again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use domain::Label;
use event_log::{Record, RecordConfig};
use registry::{NewServiceToken, Registry, Scope};
use runtime::config::Secret;

use crate::secret_file;
use crate::view::when::now;

const FILE: &str = "gateway.token";

/// The scopes of the token. The gateway erases for `DELETE` and for retention.
const SCOPES: [Scope; 3] = [Scope::Append, Scope::Read, Scope::Erase];

/// Reads the token, or creates it. The record must exist.
pub(super) async fn prepare(record: RecordConfig, data_dir: &Path) -> anyhow::Result<Secret> {
    let path = data_dir.join(FILE);
    let record = Record::open(record).await?;
    let registry = Registry::open(&record).await?;
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let kept = stored.trim();
    let known = registry.authenticate(kept, now()).await;
    // A token of an earlier version has fewer scopes.
    if known.is_some_and(|known| SCOPES.iter().all(|scope| known.scopes.contains(*scope))) {
        return Ok(Secret::new(kept));
    }
    let new = NewServiceToken {
        display_name: Label::parse("gateway")?,
        scopes: SCOPES.into_iter().collect(),
        tenant: None,
        agents: BTreeSet::new(),
        expires_at: None,
    };
    let (_, token) = registry.create_service_token(new, now()).await?;
    secret_file::write(&path, token.reveal()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Secret::new(token.reveal()))
}
