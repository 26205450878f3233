//! Times of tools: ISO 8601 with an offset in digits.

use domain::Timestamp;

use api_json::instant::rfc3339;

/// A time as text, such as `2026-02-06T15:30:00+00:00`.
pub(super) fn iso8601(time: Timestamp) -> String {
    let text = rfc3339(time);
    match text.strip_suffix('Z') {
        Some(local) => format!("{local}+00:00"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_an_offset_in_digits() {
        let text = iso8601(Timestamp(1_500_000_000));
        assert_eq!(text, "1970-01-01T00:00:01.5+00:00");
    }
}
