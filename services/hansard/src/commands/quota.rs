//! Quotas on the command line: parses `--quota SCOPE.QUOTA=VALUE` and prints set quotas.

use quotas::{Quota, QuotaSet, Scope};
use registry::{quota_set, quotas_to_proto};
use wire::proto::operate::v1::Quotas;

use crate::exit::UsageError;

/// The value that removes a quota.
const DEFAULT: &str = "default";

/// Parsed `--quota` options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QuotaChanges {
    /// The quotas with a value.
    pub(crate) quotas: Quotas,
    /// The paths of all named quotas, such as `owner.runs`.
    pub(crate) paths: Vec<String>,
}

/// Parses `--quota` options.
pub(crate) fn parse_all(options: &[String]) -> Result<QuotaChanges, UsageError> {
    let mut set = QuotaSet::default();
    let mut paths = Vec::with_capacity(options.len());
    for option in options {
        let QuotaChange { scope, quota, value } = parse(option)?;
        set.of_mut(scope).set(quota, value);
        paths.push(format!("{}.{}", scope.as_str(), quota.as_str()));
    }
    Ok(QuotaChanges { quotas: quotas_to_proto(&set), paths })
}

/// One `--quota` option.
struct QuotaChange {
    scope: Scope,
    quota: Quota,
    /// `None`: the default.
    value: Option<u64>,
}

fn parse(option: &str) -> Result<QuotaChange, UsageError> {
    let read = || {
        let (path, value) = option.split_once('=')?;
        let (scope, quota) = path.split_once('.')?;
        let mut scopes = Scope::ALL.into_iter();
        let mut quotas = Quota::ALL.into_iter();
        let value = match value {
            DEFAULT => None,
            number => Some(number.parse().ok()?),
        };
        let scope = scopes.find(|known| known.as_str() == scope)?;
        let quota = quotas.find(|known| known.as_str() == quota)?;
        Some(QuotaChange { scope, quota, value })
    };
    read().ok_or_else(|| {
        UsageError(format!(
            "--quota {option} is invalid: give SCOPE.QUOTA=NUMBER or SCOPE.QUOTA=default, such as owner.runs=8"
        ))
    })
}

/// The set quotas, such as `owner.runs=8`, in a fixed order; `default` if none is set.
pub(crate) fn text(quotas: Option<&Quotas>) -> String {
    let set = quotas.map(quota_set).unwrap_or_default();
    let named = set.iter().map(|set| format!("{}.{}={}", set.scope.as_str(), set.quota.as_str(), set.value));
    match named.collect::<Vec<_>>().join(" ") {
        text if text.is_empty() => DEFAULT.to_owned(),
        text => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_parsed_and_printed() {
        let check = |options: &[&str], expected: Option<&str>| {
            let options: Vec<String> = options.iter().map(|text| (*text).to_owned()).collect();
            let seen = parse_all(&options).ok().map(|named| text(Some(&named.quotas)));
            assert_eq!(seen.as_deref(), expected, "{options:?}");
        };
        check(&[], Some("default"));
        check(&["owner.runs=8"], Some("owner.runs=8"));
        check(&["owner.runs=0", "tenant.conversations=5"], Some("tenant.conversations=5 owner.runs=0"));
        check(&["owner.runs=8", "owner.runs=default"], Some("default"));
        for wrong in ["", "owner", "owner.runs", "owner.runs=", "owner.runs=-1", "x.runs=1", "owner.x=1"] {
            check(&[wrong], None);
        }
    }
}
