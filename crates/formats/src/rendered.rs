//! A rendered context.

use crate::loss::Loss;
use crate::names::Names;

/// A context in the format of a provider. Equal transcripts and options always give equal bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// A JSON object: the fields of a request body that contain the context. Stable fields come first, the list of messages
    /// last.
    pub body: Vec<u8>,
    /// The replaced call ids and tool names.
    pub names: Names,
    /// The content that the format could not represent, by version.
    pub losses: Vec<Loss>,
}
