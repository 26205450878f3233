//! Numbers as people read them.

use maud::{Markup, html};

/// A number with separators of thousands.
#[must_use]
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let first = digits.len() % 3;
    let (first, rest) = digits.split_at(first);
    let thousands = rest.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let groups: Vec<String> =
        Some(first.to_owned()).filter(|first| !first.is_empty()).into_iter().chain(thousands).collect();
    groups.join(",")
}

/// A number of tokens.
#[must_use]
pub fn tokens(count: u64) -> Markup {
    html! { span.number { (number(count)) } }
}

/// A size: `312 B`, `4.1 kB`, `2.0 MB`.
#[must_use]
pub fn bytes(size: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    let unit = UNITS.into_iter().find(|(one, _)| size >= *one);
    unit.map_or_else(
        || format!("{size} B"),
        |(one, name)| {
            let tenths = size.saturating_mul(10) / one;
            format!("{}.{} {name}", number(tenths / 10), tenths % 10)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators() {
        for (value, expected) in [
            (0, "0"),
            (7, "7"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345, "12,345"),
            (123_456, "123,456"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn sizes_have_units() {
        for (size, expected) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.0 kB"),
            (4_200, "4.1 kB"),
            (2 << 20, "2.0 MB"),
            (3 << 30, "3.0 GB"),
        ] {
            assert_eq!(bytes(size), expected);
        }
    }
}
