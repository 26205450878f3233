//! Times in command arguments.

use domain::Timestamp;

use crate::view::when::parse_rfc3339;

/// Parses RFC 3339 text.
pub(super) fn parse(text: &str) -> Result<Timestamp, &'static str> {
    let invalid = "must be an RFC 3339 time from 1677 to 2262, such as 2026-09-21T14:00:00Z";
    parse_rfc3339(text).ok_or(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339() {
        let check = |text: &str, expected: Option<i64>| {
            assert_eq!(parse(text).ok(), expected.map(Timestamp), "{text}");
        };
        check("1970-01-01T00:00:01Z", Some(1_000_000_000));
        check("1970-01-01T01:00:00.000000002+01:00", Some(2));
        check("1970-01-01", None);
        check("yesterday", None);
        check("2300-01-01T00:00:00Z", None);
    }
}
