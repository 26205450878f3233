//! Opens a bucket of S3, and checks its settings.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::{HttpConnector as _, ReqwestConnector};
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};

use super::leftovers::Leftovers;
use super::s3_settings::{Retries, S3Settings};
use super::uploads::Uploads;
use super::{StoreError, StoreUrl, failed};

/// Maximum duration of one request with its body; `AWS_TIMEOUT` replaces it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum duration of connecting; `AWS_CONNECT_TIMEOUT` replaces it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The growth of the wait between two retries.
const BACKOFF_BASE: f64 = 2.0;

const ENCRYPTION: &str = "AWS_SERVER_SIDE_ENCRYPTION";
const KMS_KEY: &str = "AWS_SSE_KMS_KEY_ID";
const BUCKET_KEY: &str = "AWS_SSE_BUCKET_KEY_ENABLED";
const CUSTOMER_KEY: &str = "AWS_SSE_CUSTOMER_KEY_BASE64";
const CHECKSUM: &str = "AWS_CHECKSUM_ALGORITHM";
const ALLOW_HTTP: &str = "AWS_ALLOW_HTTP";
const ENDPOINTS: [&str; 3] = ["AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"];

const TRUE: [&str; 5] = ["1", "true", "on", "yes", "y"];
const FALSE: [&str; 5] = ["0", "false", "off", "no", "n"];
const BOOLEAN: &str = "must be true or false";
/// The length of 32 bytes in base64.
const CUSTOMER_KEY_LENGTH: usize = 44;

/// Opens a bucket; it is not contacted yet.
pub(super) fn open(
    url: &StoreUrl,
    bucket: &str,
    settings: &S3Settings,
) -> Result<(Arc<dyn ObjectStore>, Leftovers), StoreError> {
    check(settings)?;
    // Another part of the program may have installed it before.
    let _chosen = rustls::crypto::ring::default_provider().install_default();
    let failure = |source| failed(url, "open", "its bucket", source);
    let client = ReqwestConnector::default().connect(&client_options(settings));
    let objects = Arc::new(builder(bucket, settings).build().map_err(failure)?);
    let uploads =
        Uploads { objects: Arc::clone(&objects), client: client.map_err(failure)?, retries: settings.retries };
    Ok((objects, Leftovers::Bucket(Arc::new(uploads))))
}

fn builder(bucket: &str, settings: &S3Settings) -> AmazonS3Builder {
    let mut builder =
        AmazonS3Builder::new().with_client_options(client_options(settings)).with_retry(retry_config(settings.retries));
    for (key, value) in known(settings) {
        builder = builder.with_config(key, value);
    }
    builder.with_bucket_name(bucket)
}

fn client_options(settings: &S3Settings) -> ClientOptions {
    let mut options = ClientOptions::new().with_timeout(REQUEST_TIMEOUT).with_connect_timeout(CONNECT_TIMEOUT);
    for (key, value) in known(settings) {
        if let AmazonS3ConfigKey::Client(key) = key {
            options = options.with_config(key, value);
        }
    }
    options
}

/// The settings without the variables of other tools.
fn known(settings: &S3Settings) -> impl Iterator<Item = (AmazonS3ConfigKey, &str)> {
    let variables = settings.variables.iter();
    variables.filter_map(|(name, value)| {
        let key = name.to_ascii_lowercase().parse().ok()?;
        Some((key, value.as_str()))
    })
}

fn retry_config(retries: Retries) -> RetryConfig {
    RetryConfig {
        max_retries: retries.count_max,
        retry_timeout: retries.elapsed_max,
        backoff: BackoffConfig {
            init_backoff: retries.backoff_first,
            max_backoff: retries.backoff_max,
            base: BACKOFF_BASE,
        },
    }
}

/// Rejects settings that would be ignored or fail later, such as a key without its kind of encryption.
fn check(settings: &S3Settings) -> Result<(), StoreError> {
    let mut rules = encryption_rules(settings).into_iter().chain(request_rules(settings));
    match rules.find(|rule| !rule.is_met) {
        None => Ok(()),
        Some(Rule { name, problem, .. }) => Err(StoreError::Setting { name, problem }),
    }
}

/// A condition of a setting.
struct Rule {
    name: &'static str,
    is_met: bool,
    problem: &'static str,
}

impl Rule {
    const fn new(name: &'static str, is_met: bool, problem: &'static str) -> Self {
        Self { name, is_met, problem }
    }
}

fn encryption_rules(settings: &S3Settings) -> [Rule; 6] {
    let kind = settings.get(ENCRYPTION);
    let is_kms = matches!(kind, Some("aws:kms" | "aws:kms:dsse"));
    let is_customer = kind == Some("sse-c");
    let is_known = matches!(kind, None | Some("AES256")) || is_kms || is_customer;
    let customer_key = settings.get(CUSTOMER_KEY);
    let has_length = customer_key.is_none_or(|key| key.len() == CUSTOMER_KEY_LENGTH);
    let kinds = "must be AES256, aws:kms, aws:kms:dsse or sse-c";
    let needs_kms = "needs AWS_SERVER_SIDE_ENCRYPTION=aws:kms or aws:kms:dsse";
    let needs_customer = "is needed with AWS_SERVER_SIDE_ENCRYPTION=sse-c, and only with it";
    let length = "must be 32 bytes in base64: 44 characters";
    [
        Rule::new(ENCRYPTION, is_known, kinds),
        Rule::new(KMS_KEY, is_kms || settings.get(KMS_KEY).is_none(), needs_kms),
        Rule::new(BUCKET_KEY, is_kms || settings.get(BUCKET_KEY).is_none(), needs_kms),
        Rule::new(BUCKET_KEY, is_boolean(settings, BUCKET_KEY), BOOLEAN),
        Rule::new(CUSTOMER_KEY, is_customer == customer_key.is_some(), needs_customer),
        Rule::new(CUSTOMER_KEY, has_length, length),
    ]
}

fn request_rules(settings: &S3Settings) -> Vec<Rule> {
    let algorithms = "must be sha256 or crc64nvme";
    let is_known = is_one_of(settings, CHECKSUM, &["sha256", "crc64nvme"]);
    let mut rules = vec![
        Rule::new(CHECKSUM, is_known, algorithms),
        Rule::new(ALLOW_HTTP, is_boolean(settings, ALLOW_HTTP), BOOLEAN),
    ];
    let allows_http = settings.get(ALLOW_HTTP).is_some() && is_one_of(settings, ALLOW_HTTP, &TRUE);
    rules.extend(ENDPOINTS.map(|name| {
        let endpoint = settings.get(name);
        let is_plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
        let problem = "is not encrypted: use https://, or set AWS_ALLOW_HTTP=true";
        Rule::new(name, allows_http || !is_plain, problem)
    }));
    rules
}

/// Whether a setting is absent or one of these, in any case of letters.
fn is_one_of(settings: &S3Settings, name: &str, allowed: &[&str]) -> bool {
    let value = settings.get(name).map(str::to_ascii_lowercase);
    value.is_none_or(|value| allowed.contains(&value.as_str()))
}

fn is_boolean(settings: &S3Settings, name: &str) -> bool {
    is_one_of(settings, name, &TRUE) || is_one_of(settings, name, &FALSE)
}

#[cfg(test)]
mod tests;
