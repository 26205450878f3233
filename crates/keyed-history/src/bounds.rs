//! The bounds of keys and of their templates.

/// Most characters of a key.
pub const KEY_CHARS_MAX: usize = 256;
/// Most candidates, besides the template.
pub const CANDIDATES_MAX: usize = 20;
/// Most bytes of a template or candidate, before its variables are replaced.
pub const TEMPLATE_BYTES_MAX: usize = 1_024;
