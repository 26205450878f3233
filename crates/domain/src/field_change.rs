//! A change of one field.

/// A field that is set or cleared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FieldChange<T> {
    /// The field gets this value.
    Set(T),
    /// The field gets no value.
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

    /// The change to this value, or to none.
    pub fn to(value: Option<T>) -> Self {
        value.map_or(Self::Clear, Self::Set)
    }
}
