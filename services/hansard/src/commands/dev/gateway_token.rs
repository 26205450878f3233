//! The gateway's own service token, the same in every run: frontends have none, so it acts for them under this one.
//!
//! The registry keeps no secrets: the token stands in a file that its owner alone can read. With another record, it is
//! made anew.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use domain::{Label, Timestamp};
use event_log::registry::{NewServiceToken, Scope};
use event_log::{Record, RecordConfig, Registry};
use runtime::clock::Clock;
use runtime::config::Secret;

use crate::commands::secret_file;

const FILE: &str = "gateway.token";

/// What a gateway does with its own token: it appends, reads, and erases for `DELETE` and for retention.
const SCOPES: [Scope; 3] = [Scope::Append, Scope::Read, Scope::Erase];

/// Finds the token, or makes it. The record must be there.
pub(super) async fn prepare(record: RecordConfig, data_dir: &Path) -> anyhow::Result<Secret> {
    let path = data_dir.join(FILE);
    let record = Record::open(record).await?;
    let registry = Registry::open(&record).await?;
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let kept = kept.trim();
    let known = registry.authenticate(kept).await;
    // One of an earlier version has fewer scopes.
    if known.is_some_and(|known| SCOPES.iter().all(|scope| known.scopes.contains(*scope))) {
        return Ok(Secret::new(kept));
    }
    let new = NewServiceToken {
        display_name: Label::parse("gateway")?,
        scopes: SCOPES.into_iter().collect(),
        tenant: None,
    };
    let now = Timestamp(Clock::System.now_nanos());
    let (_, token) = registry.create_service_token(new, now).await?;
    secret_file::write(&path, token.reveal())
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Secret::new(token.reveal()))
}
