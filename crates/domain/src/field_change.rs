//! A change of one field: set or cleared.

/// A field that is set or cleared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FieldChange<T> {
    /// It has this value now.
    Set(T),
    /// It has none now.
    Clear,
}

impl<T> FieldChange<T> {
    /// The field's value after the change.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Clear => None,
        }
    }

    /// The field's value after the change.
    pub fn into_value(self) -> Option<T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Clear => None,
        }
    }

    /// A change to what `value` is: set or cleared.
    pub fn to(value: Option<T>) -> Self {
        value.map_or(Self::Clear, Self::Set)
    }
}
