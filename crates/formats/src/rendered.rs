//! A context in a provider's form.

use crate::loss::Loss;
use crate::names::Names;

/// A context in a provider's form. The same transcript and options give the same bytes, for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// JSON text of an object: the part of a request's body that carries the context. What changes least stands first, the
    /// list of messages last.
    pub body: Vec<u8>,
    /// The call ids and tool names that had to be written otherwise.
    pub names: Names,
    /// What the form could not carry as it was, by version.
    pub losses: Vec<Loss>,
}
