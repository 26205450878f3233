//! Paths of fields in requests and documents.

use std::fmt;

/// A step of a [`FieldPath`].
#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Name(String),
    /// An entry of a list, from 0.
    Index(usize),
}

/// The path of a field: `events[3].tool_called.input_json`. Its text and the path convert into each other without loss.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldPath(Vec<Segment>);

impl FieldPath {
    /// Whether the path has no segments: it is of the whole value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of the field within a parent.
    #[must_use]
    pub fn within(self, parent: impl Into<Self>) -> Self {
        let Self(mut segments) = parent.into();
        segments.extend(self.0);
        Self(segments)
    }

    /// The path of the field in entry `index` of a list.
    #[must_use]
    pub fn at(self, index: usize) -> Self {
        self.within(Self(vec![Segment::Index(index)]))
    }

    /// The path relative to a parent; `None`: the field is not the parent and not within it.
    #[must_use]
    pub fn relative_to(&self, parent: impl Into<Self>) -> Option<Self> {
        let rest = self.0.strip_prefix(parent.into().0.as_slice())?;
        Some(Self(rest.to_vec()))
    }

    /// The index of an entry of a list, and the path relative to the entry: of `events[3].call_id` in `events`, 3 and `call_id`.
    #[must_use]
    pub fn entry_of(&self, list: &str) -> Option<(usize, Self)> {
        let Self(rest) = self.relative_to(list)?;
        match rest.as_slice() {
            [Segment::Index(index), rest @ ..] => Some((*index, Self(rest.to_vec()))),
            _ => None,
        }
    }

    /// The path with other names; `None`: the name is left out.
    #[must_use]
    pub fn map_names(&self, rename: impl Fn(&str) -> Option<String>) -> Self {
        let segments = self.0.iter().filter_map(|segment| match segment {
            Segment::Name(name) => rename(name).map(Segment::Name),
            Segment::Index(index) => Some(Segment::Index(*index)),
        });
        Self(segments.collect())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Name(name) if position == 0 => formatter.write_str(name)?,
                Segment::Name(name) => write!(formatter, ".{name}")?,
                Segment::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl From<&str> for FieldPath {
    fn from(text: &str) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        let mut segments = Vec::new();
        for (position, piece) in text.split('.').enumerate() {
            let (name, indexes) = indexed(piece).unwrap_or((piece, Vec::new()));
            if position > 0 || !name.is_empty() || indexes.is_empty() {
                segments.push(Segment::Name(name.to_owned()));
            }
            segments.extend(indexes.into_iter().map(Segment::Index));
        }
        Self(segments)
    }
}

impl From<&String> for FieldPath {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for FieldPath {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl PartialEq<str> for FieldPath {
    fn eq(&self, text: &str) -> bool {
        let Self(segments) = Self::from(text);
        self.0 == segments
    }
}

impl PartialEq<&str> for FieldPath {
    fn eq(&self, text: &&str) -> bool {
        *self == **text
    }
}

/// The name and the indexes of `name[1][2]`; `None`: it is no list of indexes as [`FieldPath`] writes them.
fn indexed(piece: &str) -> Option<(&str, Vec<usize>)> {
    let (name, list) = piece.split_at(piece.find('[')?);
    let list = list.strip_prefix('[')?.strip_suffix(']')?;
    let index = |text: &str| text.parse().ok().filter(|index: &usize| index.to_string() == text);
    Some((name, list.split("][").map(index).collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn entries_of_lists() {
        for (path, expected) in [
            ("events[3].tool_called.call_id", Some((3, "tool_called.call_id"))),
            ("events[0]", Some((0, ""))),
            ("events[0][1]", Some((0, "[1]"))),
            ("events", None),
            ("events.a", None),
            ("events[x]", None),
            ("events[03]", None),
            ("other[3]", None),
            ("target.events[3]", None),
        ] {
            let expected = expected.map(|(index, rest)| (index, FieldPath::from(rest)));
            assert_eq!(FieldPath::from(path).entry_of("events"), expected, "{path}");
        }
    }

    #[test]
    fn names_and_indexes_join() {
        let path =
            FieldPath::from("url").within("image").at(2).within("parts").within("message").at(1).within("events");
        assert_eq!(path.to_string(), "events[1].message.parts[2].image.url");
        assert_eq!(path.relative_to("events[1].message"), Some(FieldPath::from("parts[2].image.url")));
        assert_eq!(path.relative_to("events[1].mess"), None);
        assert_eq!(
            path.map_names(|name| (name != "image").then(|| name.to_uppercase())),
            "EVENTS[1].MESSAGE.PARTS[2].URL"
        );
    }

    proptest! {
        #[test]
        fn texts_survive(text in "[a-c0.\\[\\]-]{0,12}") {
            prop_assert_eq!(FieldPath::from(text.as_str()).to_string(), text);
        }
    }
}
