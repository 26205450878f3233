//! Documents: JSON values under a namespace and a key.
//!
//! A namespace is a path of labels. Its encoding is one text: each label, followed by U+0001. A prefix of whole labels is a
//! prefix of this text, so an index on it finds all namespaces below another one.

use crate::bounds::{
    DOCUMENT_KEY_BYTES_MAX, DOCUMENT_LABEL_BYTES_MAX, DOCUMENT_LABELS_MAX, DOCUMENT_NAMESPACE_BYTES_MAX,
    DOCUMENT_TTL_SECONDS_MAX,
};
use crate::violation::{Violation, ViolationReason, check_text};

/// Follows each label in the encoding of a namespace.
const LABEL_END: char = '\u{1}';
/// Precedes the substitute of a character that the encoding reserves.
const ESCAPE: char = '\u{2}';
/// The substitutes of [`LABEL_END`] and [`ESCAPE`] in a label.
const ESCAPED: [(char, char); 2] = [(LABEL_END, '\u{3}'), (ESCAPE, '\u{4}')];

/// A path of up to [`DOCUMENT_LABELS_MAX`] labels of 1 to [`DOCUMENT_LABEL_BYTES_MAX`] bytes without U+0000. Its encoding has at
/// most [`DOCUMENT_NAMESPACE_BYTES_MAX`] bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DocumentNamespace(Vec<String>);

impl DocumentNamespace {
    /// Checks the labels of a document's namespace: at least one.
    ///
    /// # Errors
    /// The first rule that they break; the field is empty, or the index of a label.
    pub fn parse(labels: Vec<String>) -> Result<Self, Violation> {
        if labels.is_empty() {
            return Err(Violation::new(ViolationReason::Missing, "is required: give 1 or more labels"));
        }
        Self::parse_prefix(labels)
    }

    /// Checks the first or last labels of namespaces; there may be none.
    ///
    /// # Errors
    /// As [`DocumentNamespace::parse`].
    pub fn parse_prefix(labels: Vec<String>) -> Result<Self, Violation> {
        if labels.len() > DOCUMENT_LABELS_MAX {
            let count = labels.len();
            return Err(Violation::new(
                ViolationReason::TooLong,
                format!("has {count} labels, at most {DOCUMENT_LABELS_MAX} are allowed"),
            ));
        }
        for (index, label) in labels.iter().enumerate() {
            check_name(label, DOCUMENT_LABEL_BYTES_MAX).map_err(|violation| violation.at(index))?;
        }
        let namespace = Self(labels);
        let bytes = namespace.encoded().len();
        if bytes > DOCUMENT_NAMESPACE_BYTES_MAX {
            return Err(Violation::new(
                ViolationReason::TooLong,
                format!(
                    "has {bytes} bytes with one more for each label, at most {DOCUMENT_NAMESPACE_BYTES_MAX} are allowed"
                ),
            ));
        }
        Ok(namespace)
    }

    /// The labels.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.0
    }

    /// The encoding.
    #[must_use]
    pub fn encoded(&self) -> String {
        let mut encoded = String::new();
        for label in &self.0 {
            encoded.push_str(&encoded_label(label));
            encoded.push(LABEL_END);
        }
        encoded
    }

    /// The namespace with this encoding; `None`: it is none.
    #[must_use]
    pub fn decode(encoded: &str) -> Option<Self> {
        let mut labels = Vec::new();
        let mut rest = encoded;
        while !rest.is_empty() {
            let (label, after) = rest.split_once(LABEL_END)?;
            labels.push(decoded_label(label)?);
            rest = after;
        }
        Self::parse_prefix(labels).ok()
    }

    /// The encodings from the first bound on and before the second one are those of the namespaces that begin with these labels.
    #[must_use]
    pub fn encoded_range(&self) -> (String, String) {
        let first = self.encoded();
        let after = match first.strip_suffix(LABEL_END) {
            Some(labels) => format!("{labels}{ESCAPE}"),
            // Greater than every label.
            None => char::MAX.to_string().repeat(DOCUMENT_LABEL_BYTES_MAX / char::MAX.len_utf8() + 1),
        };
        (first, after)
    }
}

/// A label as the encoding of its namespace contains it.
#[must_use]
pub fn encoded_label(label: &str) -> String {
    let mut encoded = String::with_capacity(label.len());
    for character in label.chars() {
        match ESCAPED.iter().find(|(reserved, _)| *reserved == character) {
            Some((_, substitute)) => encoded.extend([ESCAPE, *substitute]),
            None => encoded.push(character),
        }
    }
    encoded
}

fn decoded_label(encoded: &str) -> Option<String> {
    let mut label = String::with_capacity(encoded.len());
    let mut characters = encoded.chars();
    while let Some(character) = characters.next() {
        if character != ESCAPE {
            label.push(character);
            continue;
        }
        let substitute = characters.next()?;
        let found = ESCAPED.iter().find(|(_, known)| *known == substitute);
        label.push(found?.0);
    }
    Some(label)
}

/// The name of a document, unique in its conversation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentName {
    /// The namespace; at least one label.
    pub namespace: DocumentNamespace,
    /// 1 to [`DOCUMENT_KEY_BYTES_MAX`] bytes without U+0000.
    pub key: String,
}

impl DocumentName {
    /// Checks namespace and key.
    ///
    /// # Errors
    /// The first rule that they break, with the field `namespace` or `key`.
    pub fn parse(namespace: Vec<String>, key: String) -> Result<Self, Violation> {
        let namespace = DocumentNamespace::parse(namespace).map_err(|violation| violation.within("namespace"))?;
        check_name(&key, DOCUMENT_KEY_BYTES_MAX).map_err(|violation| violation.within("key"))?;
        Ok(Self { namespace, key })
    }
}

/// The seconds that a document is read; 0: for ever, `None`.
///
/// # Errors
/// They are over [`DOCUMENT_TTL_SECONDS_MAX`]; the field is empty.
pub fn parse_ttl(seconds: u64) -> Result<Option<u64>, Violation> {
    if seconds > DOCUMENT_TTL_SECONDS_MAX {
        return Err(Violation::new(
            ViolationReason::OutOfRange,
            format!("is {seconds}, the maximum is {DOCUMENT_TTL_SECONDS_MAX}"),
        ));
    }
    Ok((seconds != 0).then_some(seconds))
}

fn check_name(text: &str, bytes_max: usize) -> Result<(), Violation> {
    if text.is_empty() {
        return Err(Violation::new(ViolationReason::Missing, "is required and was empty"));
    }
    check_text(text, bytes_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(labels: &[&str]) -> Vec<String> {
        labels.iter().map(|label| (*label).to_owned()).collect()
    }

    fn namespace(given: &[&str]) -> DocumentNamespace {
        DocumentNamespace::parse_prefix(labels(given)).unwrap()
    }

    #[test]
    fn encodings_are_decoded() {
        for given in [&[][..], &["a"], &["a", "b"], &["a.b", "用户", " "], &["a\u{1}b", "\u{2}", "\u{3}\u{1}\u{4}"]] {
            let namespace = namespace(given);
            let decoded = DocumentNamespace::decode(&namespace.encoded());
            assert_eq!(decoded, Some(namespace));
        }
        for encoded in ["a", "a\u{1}b", "\u{2}\u{1}", "\u{1}", "\u{2}x\u{1}"] {
            assert_eq!(DocumentNamespace::decode(encoded), None, "{encoded:?}");
        }
    }

    #[test]
    fn a_range_contains_what_begins_with_the_same_labels() {
        let check = |prefix: &[&str], other: &[&str], expected: bool| {
            let (first, after) = namespace(prefix).encoded_range();
            let encoded = namespace(other).encoded();
            let is_inside = first <= encoded && encoded < after;
            assert_eq!(is_inside, expected, "{prefix:?} {other:?}");
        };
        check(&["foo"], &["foo"], true);
        check(&["foo"], &["foo", "bar"], true);
        check(&["foo"], &["foo", "\u{1}"], true);
        check(&["foo"], &["foo", "\u{10ffff}"], true);
        check(&["foo"], &["foobar"], false);
        check(&["foo"], &["foo\u{1}"], false);
        check(&["foo"], &["fo"], false);
        check(&["foo"], &["fop"], false);
        check(&["foo\u{1}"], &["foo", "x"], false);
        check(&["foo\u{1}"], &["foo\u{1}", "x"], true);
        check(&["a", "b"], &["a"], false);
        check(&["a", "b"], &["a", "b", "c"], true);
        check(&[], &["a"], true);
        let last = "\u{10ffff}".repeat(DOCUMENT_LABEL_BYTES_MAX / 4);
        check(&[], &[&last, &last], true);
    }

    #[test]
    fn names_at_their_bounds() {
        let check = |given: Vec<String>, key: &str, expected: Option<(&str, ViolationReason)>| {
            let violation = DocumentName::parse(given, key.to_owned()).err();
            let seen = violation.map(|violation| (violation.field, violation.reason));
            assert_eq!(seen, expected.map(|(field, reason)| (crate::FieldPath::from(field), reason)));
        };
        let one = || labels(&["a"]);
        let long = |bytes: usize| "x".repeat(bytes);
        check(one(), &long(DOCUMENT_KEY_BYTES_MAX), None);
        let over = long(DOCUMENT_KEY_BYTES_MAX + 1);
        check(one(), &over, Some(("key", ViolationReason::TooLong)));
        check(one(), "", Some(("key", ViolationReason::Missing)));
        check(one(), "a\0", Some(("key", ViolationReason::NulCharacter)));
        check(vec![long(DOCUMENT_LABEL_BYTES_MAX)], "k", None);
        let over = vec!["a".to_owned(), long(DOCUMENT_LABEL_BYTES_MAX + 1)];
        let label = "namespace[1]";
        check(over, "k", Some((label, ViolationReason::TooLong)));
        check(labels(&["a", ""]), "k", Some((label, ViolationReason::Missing)));
        check(labels(&["a", "\0"]), "k", Some((label, ViolationReason::NulCharacter)));
        check(Vec::new(), "k", Some(("namespace", ViolationReason::Missing)));
        check(vec!["a".to_owned(); DOCUMENT_LABELS_MAX], "k", None);
        let too_long = Some(("namespace", ViolationReason::TooLong));
        check(vec!["a".to_owned(); DOCUMENT_LABELS_MAX + 1], "k", too_long);
        // Four labels with their ends.
        check(vec![long(255); 4], "k", None);
        check(vec![long(255), long(255), long(255), long(256)], "k", too_long);
    }
}
