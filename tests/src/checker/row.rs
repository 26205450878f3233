//! One row of the read model's tables.

use serde_json::{Map, Value};

/// A row: every column by its name; bytes as `\x…`, times as microseconds since the Unix epoch.
pub type Row = Map<String, Value>;
