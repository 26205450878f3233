//! The registry: tenants, agents, their settings and policies, API keys, signing keys and service tokens, in memory, kept
//! current from a `JetStream` bucket.
//!
//! Reads answer from memory. Writes to the bucket are conditional on the current revision; this process sees them at once,
//! other processes shortly after. Unknown entries may be looked up in the bucket at a bounded rate, because another
//! process may have just created them.

mod access;
mod agent_ids;
mod agents;
mod api_keys;
mod audit;
mod bounds;
mod bucket;
mod dashboard;
mod ending_keys;
mod entries;
mod entry_keys;
mod entry_removal;
mod error;
mod frontend_keys;
mod frontend_settings;
mod key_kind;
mod key_uses;
mod lookup_limiter;
mod origins;
mod output_schema;
mod policies;
mod provider_logs;
mod quotas;
mod removal;
mod reseal;
mod scope;
mod seals;
mod search;
mod secret;
mod service_tokens;
mod settings;
mod signing_keys;
mod tenant_secrets;
mod tenants;
mod token_rules;
mod urls;
mod used_key;
mod watch;
mod webhook_secrets;

pub use access::{AgentAccess, Principal};
pub use agent_ids::agent_id_of_tenant;
pub use agents::settings_of;
pub use api_keys::OVERLAP_MAX;
pub use dashboard::{DASHBOARD_VIEWS_MAX, PersonAccess};
pub use ending_keys::{EndingKey, KEY_END_WARNING, ends_soon};
pub use error::{AccessError, RegistryError, SettingsError, access_problem, unauthenticated};
pub use frontend_keys::FrontendKey;
pub use frontend_settings::{ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX};
pub use key_kind::KeyKind;
pub use key_uses::{KEY_USES_MAX, KeyOwner};
pub use origins::{ALLOWED_ORIGINS_MAX, AllowedOrigins, ORIGIN_BYTES_MAX};
pub use output_schema::{
    ANSWER_STEPS_MAX, OUTPUT_SCHEMA_BYTES_MAX, OutputSchema, SCHEMA_NODES_MAX, SCHEMA_PATTERN_CHARS_MAX,
    SCHEMA_PATTERNS_BYTES_MAX, SCHEMA_PATTERNS_MAX,
};
pub use provider_logs::{LogDetail, ProviderLogs};
pub use quotas::{quota_problem, quota_set, quotas_to_proto};
pub use scope::{Scope, Scopes};
pub use search::AgentSearch;
pub use secret::{Digest, Secret};
pub use service_tokens::{NewServiceToken, TOKEN_AGENTS_MAX};
pub use settings::{
    CONVERSATIONS_PER_OWNER_MAX, CheckedSettings, IDLE_SECONDS_MAX, MODEL_BYTES_MAX, OTHER_MODELS_MAX,
    SETTINGS_BYTES_MAX, STEPS_MAX, SUMMARY_TOKENS_MIN, TEMPERATURE_MAX, TITLE_CHARS_MAX, TOOL_DESCRIPTION_BYTES_MAX,
    TOOL_SCHEMA_BYTES_MAX, TOOL_TIMEOUT_MS_MAX, TOOLS_MAX,
};
pub use signing_keys::{NewSigningKey, SIGNING_KEYS_MAX, SigningMaterial};
pub use tenant_secrets::{KeyPurpose, TENANT_KEY_BYTES, TenantKey};
pub use token_rules::{
    CheckedTokenRules, LIFETIME_SECONDS_MAX, REVOKED_TOKENS_MAX, RevokedCredential, TOKEN_RULE_BYTES_MAX,
};
pub use urls::{URL_BYTES_MAX, check_url};
pub use used_key::{KeyUses, UsedKey, key_uses_from_proto, key_uses_to_proto};
pub use webhook_secrets::{WEBHOOK_SECRETS_MAX, WebhookKey};

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use domain::Sequence;
use prost::Message;
use tokio::task::AbortHandle;

use bucket::PutOutcome;
use entries::{Entries, Entry};
use event_log::{Bucket, Record, Unavailable};
use lookup_limiter::LookupLimiter;
use seals::Seals;
use used_key::RecentUses;

/// Maximum attempts of a change while other processes change the same entry.
const CHANGES_MAX: usize = 4;
/// Every attempt of a change met a concurrent change.
const CONTENDED: Unavailable = Unavailable::new("an entry of the registry keeps changing");

/// The registry, in memory. Clones share it.
#[derive(Debug, Clone)]
pub struct Registry(Arc<Watched>);

/// The shared state, and the task that keeps it current while a handle exists.
#[derive(Debug)]
struct Watched {
    shared: Arc<Shared>,
    watcher: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    record: Record,
    bucket: Bucket,
    entries: RwLock<Entries>,
    is_fresh: AtomicBool,
    lookup_limiter: LookupLimiter,
    recent_uses: RecentUses,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

impl Registry {
    /// Loads the registry and keeps it current while it or a clone exists.
    ///
    /// # Errors
    /// [`Unavailable`] when it cannot be loaded within the request timeout.
    pub async fn open(record: &Record) -> Result<Self, Unavailable> {
        let shared = Arc::new(Shared {
            record: record.clone(),
            bucket: record.registry_bucket(),
            entries: RwLock::new(Entries { seals: Seals::new(record.registry_keys()), ..Entries::default() }),
            is_fresh: AtomicBool::new(false),
            lookup_limiter: LookupLimiter::default(),
            recent_uses: RecentUses::default(),
        });
        let changes = watch::load(&shared).await?;
        let watcher = tokio::spawn(watch::keep(Arc::clone(&shared), changes)).abort_handle();
        Ok(Self(Arc::new(Watched { shared, watcher })))
    }

    /// Whether changes arrive, for health checks. Otherwise the registry answers from the last known entries.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.0.shared.is_fresh.load(Ordering::Relaxed)
    }

    fn shared(&self) -> &Shared {
        &self.0.shared
    }
}

impl Shared {
    /// Reads memory under the lock, which is never held across an await.
    fn read<T>(&self, read: impl FnOnce(&Entries) -> T) -> T {
        read(&self.entries.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A value of an entry in memory; an unknown entry is looked up in the bucket, if the rate limit allows it.
    async fn find<T>(&self, key: impl FnOnce() -> String, known: impl Fn(&Entries) -> Option<T>) -> Option<T> {
        let value = self.read(&known);
        if value.is_some() || !self.lookup_limiter.try_acquire() {
            return value;
        }
        // After a failed read the entries in memory apply.
        let _ = self.read_leader(&key()).await;
        self.read(&known)
    }

    /// Changes an entry, which `find` reads from memory; retries after a concurrent change.
    async fn update<T, E>(
        &self,
        what: &'static str,
        find: impl Fn(&Entries) -> Option<Entry<T>>,
        key: impl Fn(&T) -> String,
        change: impl Fn(&mut T) -> Result<(), E>,
    ) -> Result<T, E>
    where
        T: Message + Clone + PartialEq,
        E: From<RegistryError>,
    {
        for _ in 0..CHANGES_MAX {
            let Some(Entry { revision, value }) = self.read(&find) else {
                return Err(RegistryError::NotFound { what }.into());
            };
            let mut changed = value.clone();
            change(&mut changed)?;
            if changed == value {
                return Ok(value);
            }
            let put = self.put(&key(&changed), &changed, Some(revision)).await;
            if put.map_err(RegistryError::from)? == PutOutcome::Stored {
                return Ok(changed);
            }
        }
        Err(RegistryError::from(CONTENDED).into())
    }

    /// Applies an entry of the bucket to memory, unless memory has a later revision.
    fn apply(&self, key: &str, revision: Sequence, value: &[u8]) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if entries.apply(key, revision, value).is_err() {
            let (stream, sequence) = (self.bucket.stream(), revision.0);
            tracing::error!(stream, sequence, "an entry of the registry is corrupt");
        }
    }
}
