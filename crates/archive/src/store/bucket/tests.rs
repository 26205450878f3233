//! Valid and invalid settings.

use object_store::ClientConfigKey;

use super::*;

const KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

/// Checks settings such as `A=1 B=2`; `Err`: the variable that the error names.
fn check_settings(settings: &str, expected: Result<(), &str>) {
    let variables = settings
        .split_whitespace()
        .filter_map(|one| one.split_once('='))
        .map(|(name, value)| (format!("AWS_{name}"), value.to_owned()))
        .chain([("AWS_REGION".to_owned(), "x".to_owned())]);
    let url = StoreUrl::parse("s3://bucket").unwrap();
    let opened = open(&url, "bucket", &S3Settings::of_variables(variables));
    let found = match &opened {
        Ok(_) => Ok(()),
        Err(StoreError::Setting { name, problem }) => {
            assert!(!problem.is_empty());
            Err(name.trim_start_matches("AWS_"))
        }
        Err(error) => panic!("{settings}: {error:?}"),
    };
    assert_eq!(found, expected, "{settings}");
}

#[test]
fn wrong_settings_are_rejected_by_name() {
    for valid in [
        "",
        "SERVER_SIDE_ENCRYPTION=AES256",
        "SERVER_SIDE_ENCRYPTION=aws:kms",
        "SERVER_SIDE_ENCRYPTION=aws:kms SSE_KMS_KEY_ID=k SSE_BUCKET_KEY_ENABLED=true",
        "SERVER_SIDE_ENCRYPTION=aws:kms:dsse SSE_KMS_KEY_ID=k",
        &format!("SERVER_SIDE_ENCRYPTION=sse-c SSE_CUSTOMER_KEY_BASE64={KEY}"),
        "CHECKSUM_ALGORITHM=SHA256",
        "CHECKSUM_ALGORITHM=crc64nvme",
        "ENDPOINT=http://s3.local ALLOW_HTTP=true",
        "ENDPOINT=https://s3.local",
        // Empty values and variables of other tools are ignored.
        "SERVER_SIDE_ENCRYPTION= SSE_KMS_KEY_ID= ENDPOINT= PROFILE=p BUCKET=other",
    ] {
        check_settings(valid, Ok(()));
    }
    for (invalid, named) in [
        ("SERVER_SIDE_ENCRYPTION=aes256", "SERVER_SIDE_ENCRYPTION"),
        ("SERVER_SIDE_ENCRYPTION=kms", "SERVER_SIDE_ENCRYPTION"),
        ("SSE_KMS_KEY_ID=k", "SSE_KMS_KEY_ID"),
        ("SERVER_SIDE_ENCRYPTION=AES256 SSE_KMS_KEY_ID=k", "SSE_KMS_KEY_ID"),
        ("SSE_BUCKET_KEY_ENABLED=true", "SSE_BUCKET_KEY_ENABLED"),
        ("SERVER_SIDE_ENCRYPTION=aws:kms SSE_BUCKET_KEY_ENABLED=maybe", "SSE_BUCKET_KEY_ENABLED"),
        ("SERVER_SIDE_ENCRYPTION=sse-c", "SSE_CUSTOMER_KEY_BASE64"),
        ("SERVER_SIDE_ENCRYPTION=sse-c SSE_CUSTOMER_KEY_BASE64=c2hvcnQ=", "SSE_CUSTOMER_KEY_BASE64"),
        (&format!("SERVER_SIDE_ENCRYPTION=AES256 SSE_CUSTOMER_KEY_BASE64={KEY}"), "SSE_CUSTOMER_KEY_BASE64"),
        ("CHECKSUM_ALGORITHM=md5", "CHECKSUM_ALGORITHM"),
        ("ENDPOINT=http://s3.local", "ENDPOINT"),
        ("ENDPOINT_URL=http://s3.local ALLOW_HTTP=no", "ENDPOINT_URL"),
        ("ENDPOINT_URL_S3=http://s3.local", "ENDPOINT_URL_S3"),
        ("ALLOW_HTTP=perhaps", "ALLOW_HTTP"),
    ] {
        check_settings(invalid, Err(named));
    }
}

#[test]
fn a_setting_that_cannot_be_read_is_an_error() {
    let variables = [("AWS_SKIP_SIGNATURE".to_owned(), "perhaps".to_owned())];
    let url = StoreUrl::parse("s3://bucket").unwrap();
    let opened = open(&url, "bucket", &S3Settings::of_variables(variables));
    assert!(matches!(opened, Err(StoreError::Failed { .. })), "{opened:?}");
}

#[test]
fn settings_do_not_print_their_values() {
    let variables = [("AWS_SECRET_ACCESS_KEY".to_owned(), "hidden".to_owned())];
    let printed = format!("{:?}", S3Settings::of_variables(variables));
    assert!(printed.contains("AWS_SECRET_ACCESS_KEY") && !printed.contains("hidden"));
}

/// Checks a setting of the client.
fn check_value(variable: (&str, &str), key: AmazonS3ConfigKey, expected: &str) {
    let variables = [(variable.0.to_owned(), variable.1.to_owned())];
    let built = builder("bucket", &S3Settings::of_variables(variables));
    let value = built.get_config_value(&key);
    assert_eq!(value.as_deref(), Some(expected), "{variable:?}, {key:?}");
}

#[test]
fn variables_replace_the_timeouts_but_not_the_bucket() {
    let timeout = AmazonS3ConfigKey::Client(ClientConfigKey::Timeout);
    let connecting = AmazonS3ConfigKey::Client(ClientConfigKey::ConnectTimeout);
    let other = ("AWS_REGION", "x");
    check_value(other, timeout, "30s");
    check_value(other, connecting, "5s");
    check_value(("AWS_TIMEOUT", "2m"), timeout, "2m");
    check_value(("AWS_CONNECT_TIMEOUT", "9s"), connecting, "9s");
    let bucket = AmazonS3ConfigKey::Bucket;
    check_value(("AWS_BUCKET", "other"), bucket, "bucket");
    // Only variables of the S3 tools are settings.
    check_value(("TIMEOUT", "2m"), timeout, "30s");
}
