//! Configuration of the connection to the record.

use std::fmt;
use std::time::Duration;

use domain::PARTITIONS_MAX;
use serde::{Deserialize, Serialize};

use crate::connection::address::Address;
use crate::error::RecordError;
use crate::seal::MasterKeys;

/// Default number of partitions: the fewest that reach the server's full rate.
pub const PARTITIONS_DEFAULT: u16 = 8;
/// Valid numbers of replicas of a stream.
pub const REPLICAS: [usize; 3] = [1, 3, 5];
/// Maximum number of placement tags.
pub const PLACEMENT_TAGS_MAX: usize = 16;
/// Default timeout of one call of the record, in milliseconds.
pub const REQUEST_TIMEOUT_MS_DEFAULT: u64 = 5_000;
/// Maximum timeout of one call of the record, in milliseconds.
pub const REQUEST_TIMEOUT_MS_MAX: u64 = 60_000;
/// Default retention of run parts, in seconds.
pub const PARTS_TTL_SECONDS_DEFAULT: u64 = 60 * 60;
/// Maximum retention of run parts, in seconds.
pub const PARTS_TTL_SECONDS_MAX: u64 = 7 * 24 * 60 * 60;
/// Default subject prefix of the `JetStream` API.
pub const API_PREFIX_DEFAULT: &str = "$JS.API";
/// Maximum length of `api_prefix`, in bytes.
pub const API_PREFIX_BYTES_MAX: usize = 128;
/// How long a stream recognises the id of a commit and answers a retry by itself.
pub const DUPLICATE_WINDOW: Duration = Duration::from_mins(10);

/// The name of the connections of roles.
fn client_name() -> String {
    "hansard".to_owned()
}

/// Configuration of the record and of the connection to it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordConfig {
    /// The server's URL, or several with commas between them. The first URL with credentials
    /// (`nats://user:password@host:port`) sets them for all. `tls://host:port` requires TLS. The first URL that names PEM files
    /// (`tls://host:port?ca=FILE`) sets them for all: `ca`, the trusted certificates in place of the system's, and `cert` with
    /// `key`, the client certificate.
    pub nats_url: String,
    /// The subject prefix of the `JetStream` API; at most [`API_PREFIX_BYTES_MAX`] bytes. It differs from
    /// [`API_PREFIX_DEFAULT`] for a user whose account imports the API from the account of the record.
    pub api_prefix: String,
    /// The number of partitions at the creation of the record, 1 to [`PARTITIONS_MAX`]; checked at each start. After a growth, the
    /// present number is valid too. Raise it before the creation for clusters of several servers; later, `hansard partitions add` adds some.
    pub partitions: u16,
    /// The replicas of each stream and of the registry when they are created; one of [`REPLICAS`]. Raise it to 3 on a cluster: the
    /// record then outlives one of three servers.
    pub replicas: usize,
    /// The tags (`server_tags`) that every server of the streams must have, for their creation; at most [`PLACEMENT_TAGS_MAX`].
    #[serde(default)]
    pub placement_tags: Vec<String>,
    /// The retention of run parts, in seconds; 1 to [`PARTS_TTL_SECONDS_MAX`]. Fixed when their streams are created. It
    /// must exceed any pause within a run; otherwise late readers miss earlier parts.
    pub parts_ttl_seconds: u64,
    /// The timeout of one call of the record with its retries, in milliseconds; 1 to [`REQUEST_TIMEOUT_MS_MAX`]. Raise it if disks or networks
    /// between the servers are slow.
    pub request_timeout_ms: u64,
    /// Whether to start on a server that can lose acknowledged commits when the power fails. Only for records
    /// that may be lost, such as those of tests.
    pub accept_data_loss: bool,
    /// The server's monitoring address, such as `http://127.0.0.1:8222`: only it shows when the server syncs.
    pub monitor_url: Option<String>,
    /// The name of the connection on the server. It is no setting: each program has its own.
    #[serde(skip, default = "client_name")]
    pub client_name: String,
    /// The master keys that encrypt stored secrets. They are read separately from the settings.
    #[serde(skip)]
    pub master_keys: MasterKeys,
}

impl RecordConfig {
    /// 8 partitions, one replica, a timeout of 5 s, and no data loss accepted.
    #[must_use]
    pub fn new(nats_url: impl Into<String>) -> Self {
        Self {
            nats_url: nats_url.into(),
            api_prefix: API_PREFIX_DEFAULT.to_owned(),
            partitions: PARTITIONS_DEFAULT,
            replicas: 1,
            placement_tags: Vec::new(),
            parts_ttl_seconds: PARTS_TTL_SECONDS_DEFAULT,
            request_timeout_ms: REQUEST_TIMEOUT_MS_DEFAULT,
            accept_data_loss: false,
            monitor_url: None,
            client_name: client_name(),
            master_keys: MasterKeys::default(),
        }
    }

    /// The invalid settings: the key, and a problem with its remedy.
    #[must_use]
    pub fn errors(&self) -> Vec<(&'static str, String)> {
        let mut errors = Vec::new();
        let nats_url = match Address::parse(&self.nats_url) {
            _ if self.nats_url.trim().is_empty() => Some("is empty: give nats://host:port".to_owned()),
            Ok(address) => address.tls.error(),
            Err(_) => Some("is no address of NATS: give nats://host:port".to_owned()),
        };
        errors.extend(nats_url.map(|error| ("nats_url", error)));
        if !is_subject(&self.api_prefix) {
            let form = format!(
                "must be a subject without wildcards, such as {API_PREFIX_DEFAULT}, of at most {API_PREFIX_BYTES_MAX} bytes"
            );
            errors.push(("api_prefix", form));
        }
        if !(1..=PARTITIONS_MAX).contains(&self.partitions) {
            let given = self.partitions;
            let bound = format!("is {given}, but must be 1 to {PARTITIONS_MAX} partitions");
            errors.push(("partitions", bound));
        }
        if !REPLICAS.contains(&self.replicas) {
            let bound = format!("is {}, but must be 1, 3 or 5 replicas", self.replicas);
            errors.push(("replicas", bound));
        }
        if self.placement_tags.len() > PLACEMENT_TAGS_MAX {
            let given = self.placement_tags.len();
            let bound = format!("has {given} tags, but may have at most {PLACEMENT_TAGS_MAX}");
            errors.push(("placement_tags", bound));
        } else if self.placement_tags.iter().any(|tag| !is_tag(tag)) {
            let form = "has an invalid tag: each is a word like a server's server_tags".to_owned();
            errors.push(("placement_tags", form));
        }
        if !(1..=PARTS_TTL_SECONDS_MAX).contains(&self.parts_ttl_seconds) {
            let given = self.parts_ttl_seconds;
            let bound = format!("is {given}, but must be 1 to {PARTS_TTL_SECONDS_MAX} s");
            errors.push(("parts_ttl_seconds", bound));
        }
        if !(1..=REQUEST_TIMEOUT_MS_MAX).contains(&self.request_timeout_ms) {
            let given = self.request_timeout_ms;
            let bound = format!("is {given}, but must be 1 to {REQUEST_TIMEOUT_MS_MAX} ms");
            errors.push(("request_timeout_ms", bound));
        }
        if let Some(url) = &self.monitor_url
            && !url.starts_with("http://")
        {
            let form = "does not begin with http://: give http://host:port".to_owned();
            errors.push(("monitor_url", form));
        }
        errors
    }

    pub(crate) fn check(&self) -> Result<(), RecordError> {
        match self.errors().into_iter().next() {
            Some((field, problem)) => Err(RecordError::Configuration { field, problem }),
            None => Ok(()),
        }
    }

    pub(crate) fn request_timeout(&self) -> Duration {
        Duration::from_millis(self.request_timeout_ms)
    }
}

fn is_tag(tag: &str) -> bool {
    !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_subject(text: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'*' | b'>');
    text.len() <= API_PREFIX_BYTES_MAX && text.split('.').all(|token| !token.is_empty() && token.bytes().all(is_name))
}

impl Default for RecordConfig {
    fn default() -> Self {
        Self::new("nats://127.0.0.1:4222")
    }
}

impl fmt::Debug for RecordConfig {
    /// Omits the URL, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordConfig")
            .field("api_prefix", &self.api_prefix)
            .field("partitions", &self.partitions)
            .field("replicas", &self.replicas)
            .field("placement_tags", &self.placement_tags)
            .field("parts_ttl_seconds", &self.parts_ttl_seconds)
            .field("request_timeout_ms", &self.request_timeout_ms)
            .field("accept_data_loss", &self.accept_data_loss)
            .field("client_name", &self.client_name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut RecordConfig), invalid: Option<&str>) {
        let mut config = RecordConfig::default();
        change(&mut config);
        let fields: Vec<_> = config.errors().iter().map(|(field, _)| *field).collect();
        assert_eq!(fields, invalid.into_iter().collect::<Vec<_>>());
        assert_eq!(config.check().is_err(), invalid.is_some());
    }

    #[test]
    fn bounds_are_checked_at_their_edges() {
        check(|_| (), None);
        for (url, invalid) in [
            (" ", Some("nats_url")),
            ("natss://a:4222", Some("nats_url")),
            ("nats://a:4222, http://b:4222", Some("nats_url")),
            ("nats://a:4222, tls://b:4222", None),
            ("ws://a:80", None),
            ("a:4222", None),
        ] {
            check(|config| config.nats_url = url.to_owned(), invalid);
        }
        for (query, invalid) in
            [("ca=/dev/null", Some("nats_url")), ("cert=/nowhere&key=/nowhere", Some("nats_url")), ("", None)]
        {
            let url = format!("tls://a:4222?{query}");
            check(|config| config.nats_url = url, invalid);
        }
        let prefix = |prefix: &str, invalid: Option<&str>| {
            check(|config| prefix.clone_into(&mut config.api_prefix), invalid);
        };
        prefix("RECORD.API", None);
        prefix(&"p".repeat(API_PREFIX_BYTES_MAX), None);
        prefix(&"p".repeat(API_PREFIX_BYTES_MAX + 1), Some("api_prefix"));
        for none in ["", "a.", ".a", "a..b", "a.*", "a.>", "a b"] {
            prefix(none, Some("api_prefix"));
        }
        check(|config| config.partitions = 0, Some("partitions"));
        check(|config| config.partitions = 1, None);
        check(|config| config.partitions = PARTITIONS_MAX, None);
        check(|config| config.partitions = 1_025, Some("partitions"));
        check(|config| config.replicas = 0, Some("replicas"));
        check(|config| config.replicas = 5, None);
        check(|config| config.replicas = 6, Some("replicas"));
        let tags = |count: usize, invalid| {
            let tags = vec!["zone:a".to_owned(); count];
            check(|config| config.placement_tags = tags, invalid);
        };
        tags(PLACEMENT_TAGS_MAX, None);
        tags(PLACEMENT_TAGS_MAX + 1, Some("placement_tags"));
        for tag in ["", "a b", "ä"] {
            let tags = vec![tag.to_owned()];
            check(|config| config.placement_tags = tags, Some("placement_tags"));
        }
        let ttl = "parts_ttl_seconds";
        check(|config| config.parts_ttl_seconds = 0, Some(ttl));
        check(|config| config.parts_ttl_seconds = 1, None);
        check(|config| config.parts_ttl_seconds = PARTS_TTL_SECONDS_MAX, None);
        check(|config| config.parts_ttl_seconds = 604_801, Some(ttl));
        let timeout = "request_timeout_ms";
        check(|config| config.request_timeout_ms = 0, Some(timeout));
        check(|config| config.request_timeout_ms = REQUEST_TIMEOUT_MS_MAX, None);
        check(|config| config.request_timeout_ms = 60_001, Some(timeout));
        let url = |url: &str| Some(url.to_owned());
        check(|config| config.monitor_url = url("http://a:8222"), None);
        check(|config| config.monitor_url = url("https://a"), Some("monitor_url"));
    }
}
