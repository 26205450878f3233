//! The position of an error in a JSON text.

use std::collections::HashMap;

use serde_json::value::RawValue;

/// Line and column, from 1.
pub(super) type Position = (usize, usize);

/// Splits the message of a JSON error into its text and its position: `… at line 3 column 5`.
pub(super) fn split_position(message: &str) -> (&str, Option<Position>) {
    let parts = message.rsplit_once(" at line ");
    let found = parts.and_then(|(text, position)| {
        let (line, column) = position.split_once(" column ")?;
        Some((text, (line.parse().ok()?, column.parse().ok()?)))
    });
    found.map_or((message, None), |(text, position)| (text, Some(position)))
}

/// The position of the value at a path such as `inject.fields[2]`. If a part is missing, the position of what contains it.
/// `None`: the text is not JSON, or the path is empty.
pub(super) fn position_of(json: &str, path: &str) -> Option<Position> {
    let mut current = json.trim_start();
    let mut found = None;
    let path = path.replace('[', ".[");
    for part in path.split('.') {
        let Some(inner) = member(current, part) else {
            break;
        };
        current = inner;
        found = Some(inner);
    }
    let offset = found?.as_ptr().addr().checked_sub(json.as_ptr().addr())?;
    Some(position_at(json.get(..offset)?))
}

/// The text of a member of an object, or of an element of a list.
fn member<'a>(json: &'a str, part: &str) -> Option<&'a str> {
    let value: &RawValue = if let Some(index) = part.strip_prefix('[') {
        let index: usize = index.strip_suffix(']')?.parse().ok()?;
        let list: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        list.get(index).copied()?
    } else {
        let object: HashMap<String, &RawValue> = serde_json::from_str(json).ok()?;
        object.get(part).copied()?
    };
    Some(value.get())
}

/// The position after a text.
fn position_at(before: &str) -> Position {
    let line = before.matches('\n').count() + 1;
    let last = before.rsplit('\n').next().unwrap_or_default();
    (line, last.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_positions() {
        let json = "{\n  \"inject\": {\"fields\": [\"é\",\n  7]},\n  \"model\": 1}";
        for (path, expected) in [
            ("inject", Some((2, 13))),
            ("inject.fields", Some((2, 24))),
            ("inject.fields[0]", Some((2, 25))),
            ("inject.fields[1]", Some((3, 3))),
            ("inject.fields[9]", Some((2, 24))),
            ("inject.none", Some((2, 13))),
            ("model", Some((4, 12))),
            ("none", None),
            ("", None),
        ] {
            assert_eq!(position_of(json, path), expected, "{path}");
        }
        assert_eq!(position_of("{", "model"), None);
        assert_eq!(position_of("\n {\"a\": 1}", "a"), Some((2, 8)));
    }

    #[test]
    fn messages_are_split() {
        let error = serde_json::from_str::<u8>("\n x").unwrap_err().to_string();
        assert_eq!(split_position(&error), ("expected value", Some((2, 2))));
        for text in ["", "plain", "at line x column y", " at line 1 column"] {
            assert_eq!(split_position(text), (text, None));
        }
    }
}
