//! What a process must know to reach the record.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::error::RecordError;
use crate::seal::MasterKeys;

/// Partitions of a record that nobody has asked for otherwise: the fewest that reach the server's full rate.
pub const PARTITIONS_DEFAULT: u16 = 8;
/// Most partitions of a record.
pub const PARTITIONS_MAX: u16 = 1_024;
/// On how many servers a stream can be kept.
pub const REPLICAS: [usize; 3] = [1, 3, 5];
/// How long one call of the record may take, unless configured otherwise, in milliseconds.
pub const REQUEST_TIMEOUT_MS_DEFAULT: u64 = 5_000;
/// Longest that one call of the record may be configured to take, in milliseconds.
pub const REQUEST_TIMEOUT_MS_MAX: u64 = 60_000;
/// How long the parts of runs are kept, unless configured otherwise, in seconds.
pub const PARTS_TTL_SECONDS_DEFAULT: u64 = 60 * 60;
/// Longest that the parts of runs may be configured to be kept, in seconds.
pub const PARTS_TTL_SECONDS_MAX: u64 = 7 * 24 * 60 * 60;
/// What the subjects of the `JetStream` API begin with, unless configured otherwise.
pub const API_PREFIX_DEFAULT: &str = "$JS.API";
/// Longest `api_prefix`, in bytes.
pub const API_PREFIX_BYTES_MAX: usize = 128;
/// How long a stream knows the id of a commit, and answers a retry of it by itself.
pub const DUPLICATE_WINDOW: Duration = Duration::from_mins(10);

/// How to reach the record, and what is expected of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordConfig {
    /// The server's URL, or several with commas between them. The first that names a user, as
    /// `nats://user:password@host:port`, names it for all. `tls://host:port` demands TLS; the first that names files in PEM
    /// form, as `tls://host:port?ca=FILE`, names them for all: `ca`, whose certificates are trusted in place of the
    /// system's, and `cert` with `key`, which are shown to a server that asks for them.
    pub nats_url: String,
    /// What the subjects of the `JetStream` API begin with; at most [`API_PREFIX_BYTES_MAX`] bytes. Another one than
    /// [`API_PREFIX_DEFAULT`] for a user of an account that imports the API from the account of the record.
    pub api_prefix: String,
    /// How many partitions the record has, 1 to [`PARTITIONS_MAX`]; fixed when it is created, and checked at each start.
    pub partitions: u16,
    /// On how many servers each stream and the registry are kept when they are created; one of [`REPLICAS`].
    pub replicas: usize,
    /// How long the parts of runs are kept, in seconds; 1 to [`PARTS_TTL_SECONDS_MAX`]. Fixed when their streams are
    /// created. Longer than any pause within a run, or what it said before is gone for those who come later.
    pub parts_ttl_seconds: u64,
    /// How long one call of the record may take, retries among it, in milliseconds; 1 to [`REQUEST_TIMEOUT_MS_MAX`].
    pub request_timeout_ms: u64,
    /// Whether to start on a server that is seen to lose acknowledged commits when the power fails.
    pub accept_data_loss: bool,
    /// The server's monitoring address, such as `http://127.0.0.1:8222`: the only place where it tells when it syncs.
    pub monitor_url: Option<String>,
    /// The connection's name in the server's lists.
    pub client_name: String,
    /// The deployment's keys, by which secrets are sealed at rest. They are read apart from the settings.
    #[serde(skip)]
    pub master_keys: MasterKeys,
}

impl RecordConfig {
    /// A record of 8 partitions on one replica at `nats_url`, with calls of up to 5 s, and no data loss accepted.
    #[must_use]
    pub fn new(nats_url: impl Into<String>) -> Self {
        Self {
            nats_url: nats_url.into(),
            api_prefix: API_PREFIX_DEFAULT.to_owned(),
            partitions: PARTITIONS_DEFAULT,
            replicas: 1,
            parts_ttl_seconds: PARTS_TTL_SECONDS_DEFAULT,
            request_timeout_ms: REQUEST_TIMEOUT_MS_DEFAULT,
            accept_data_loss: false,
            monitor_url: None,
            client_name: "hansard".to_owned(),
            master_keys: MasterKeys::default(),
        }
    }

    /// What is wrong with the settings: the key, and the rule with its mend.
    #[must_use]
    pub fn mistakes(&self) -> Vec<(&'static str, String)> {
        let mut mistakes = Vec::new();
        if self.nats_url.trim().is_empty() {
            mistakes.push(("nats_url", "is empty: give nats://host:port".to_owned()));
        }
        let files = Address::parse(&self.nats_url).ok();
        if let Some(mistake) = files.and_then(|address| address.tls.mistake()) {
            mistakes.push(("nats_url", mistake));
        }
        if !is_subject(&self.api_prefix) {
            let form = format!(
                "must be a subject without wildcards, such as {API_PREFIX_DEFAULT}, of at most {API_PREFIX_BYTES_MAX} bytes"
            );
            mistakes.push(("api_prefix", form));
        }
        if !(1..=PARTITIONS_MAX).contains(&self.partitions) {
            let given = self.partitions;
            let bound = format!("is {given}, but must be 1 to {PARTITIONS_MAX} partitions");
            mistakes.push(("partitions", bound));
        }
        if !REPLICAS.contains(&self.replicas) {
            let bound = format!("is {}, but must be 1, 3 or 5 replicas", self.replicas);
            mistakes.push(("replicas", bound));
        }
        if !(1..=PARTS_TTL_SECONDS_MAX).contains(&self.parts_ttl_seconds) {
            let given = self.parts_ttl_seconds;
            let bound = format!("is {given}, but must be 1 to {PARTS_TTL_SECONDS_MAX} s");
            mistakes.push(("parts_ttl_seconds", bound));
        }
        if !(1..=REQUEST_TIMEOUT_MS_MAX).contains(&self.request_timeout_ms) {
            let given = self.request_timeout_ms;
            let bound = format!("is {given}, but must be 1 to {REQUEST_TIMEOUT_MS_MAX} ms");
            mistakes.push(("request_timeout_ms", bound));
        }
        if let Some(url) = &self.monitor_url
            && !url.starts_with("http://")
        {
            let form = "does not begin with http://: give http://host:port".to_owned();
            mistakes.push(("monitor_url", form));
        }
        mistakes
    }

    pub(crate) fn check(&self) -> Result<(), RecordError> {
        match self.mistakes().into_iter().next() {
            Some((field, problem)) => Err(RecordError::Configuration { field, problem }),
            None => Ok(()),
        }
    }

    pub(crate) fn parts_ttl(&self) -> Duration {
        Duration::from_secs(self.parts_ttl_seconds)
    }

    pub(crate) fn request_timeout(&self) -> Duration {
        Duration::from_millis(self.request_timeout_ms)
    }
}

fn is_subject(text: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'*' | b'>');
    text.len() <= API_PREFIX_BYTES_MAX
        && text
            .split('.')
            .all(|token| !token.is_empty() && token.bytes().all(is_name))
}

impl Default for RecordConfig {
    fn default() -> Self {
        Self::new("nats://127.0.0.1:4222")
    }
}

impl fmt::Debug for RecordConfig {
    /// Without the URL, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordConfig")
            .field("api_prefix", &self.api_prefix)
            .field("partitions", &self.partitions)
            .field("replicas", &self.replicas)
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

    fn check(change: impl FnOnce(&mut RecordConfig), mistaken: Option<&str>) {
        let mut config = RecordConfig::default();
        change(&mut config);
        let fields: Vec<_> = config.mistakes().iter().map(|(field, _)| *field).collect();
        assert_eq!(fields, mistaken.into_iter().collect::<Vec<_>>());
        assert_eq!(config.check().is_err(), mistaken.is_some());
    }

    #[test]
    fn bounds_are_checked_at_their_edges() {
        check(|_| (), None);
        check(|config| config.nats_url = " ".to_owned(), Some("nats_url"));
        for (query, mistaken) in [
            ("ca=/dev/null", Some("nats_url")),
            ("cert=/nowhere&key=/nowhere", Some("nats_url")),
            ("", None),
        ] {
            let url = format!("tls://a:4222?{query}");
            check(|config| config.nats_url = url, mistaken);
        }
        let prefix = |prefix: &str, mistaken: Option<&str>| {
            check(|config| prefix.clone_into(&mut config.api_prefix), mistaken);
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
        let ttl = "parts_ttl_seconds";
        check(|config| config.parts_ttl_seconds = 0, Some(ttl));
        check(|config| config.parts_ttl_seconds = 1, None);
        check(
            |config| config.parts_ttl_seconds = PARTS_TTL_SECONDS_MAX,
            None,
        );
        check(|config| config.parts_ttl_seconds = 604_801, Some(ttl));
        let timeout = "request_timeout_ms";
        check(|config| config.request_timeout_ms = 0, Some(timeout));
        check(
            |config| config.request_timeout_ms = REQUEST_TIMEOUT_MS_MAX,
            None,
        );
        check(|config| config.request_timeout_ms = 60_001, Some(timeout));
        let url = |url: &str| Some(url.to_owned());
        check(|config| config.monitor_url = url("http://a:8222"), None);
        check(
            |config| config.monitor_url = url("https://a"),
            Some("monitor_url"),
        );
    }
}
