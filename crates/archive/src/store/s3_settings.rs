//! The settings of S3: the variables of the S3 tools, and the bounds of retries.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The prefix of the variables.
const PREFIX: &str = "AWS_";

/// Settings for all buckets.
#[derive(Clone, PartialEq, Eq)]
pub struct S3Settings {
    /// The variables of the S3 tools, such as `AWS_REGION`, by name. They contain secrets.
    pub variables: BTreeMap<String, String>,
    /// The bounds of retries.
    pub retries: Retries,
}

/// The bounds of the retries of one request: after an answer 5xx or 429, a lost connection or a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// Maximum number of retries.
    pub count_max: usize,
    /// Time since the first attempt after which no retry starts.
    pub elapsed_max: Duration,
    /// The wait before the first retry. The next ones wait longer, with jitter.
    pub backoff_first: Duration,
    /// Maximum wait before a retry; not below `backoff_first`.
    pub backoff_max: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            count_max: 10,
            elapsed_max: Duration::from_mins(3),
            backoff_first: Duration::from_millis(100),
            backoff_max: Duration::from_secs(15),
        }
    }
}

impl S3Settings {
    /// The settings in the environment of this process.
    #[must_use]
    pub fn of_environment() -> Self {
        Self::of_variables(
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    /// The settings in these variables. Other variables and empty values are ignored.
    pub fn of_variables(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let is_setting = |(name, value): &(String, String)| name.starts_with(PREFIX) && !value.is_empty();
        Self { variables: variables.into_iter().filter(is_setting).collect(), retries: Retries::default() }
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

// The values are secrets.
impl fmt::Debug for S3Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Settings").field("variables", &self.variables.keys()).field("retries", &self.retries).finish()
    }
}
