//! The patterns of a schema, weighed before they are compiled.

use domain::{Violation, ViolationReason};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use serde_json::Value;

/// Maximum characters of one pattern of a schema.
pub const SCHEMA_PATTERN_CHARS_MAX: usize = 1_024;
/// Maximum number of patterns of a schema in which every reference is replaced by what it refers to.
pub const SCHEMA_PATTERNS_MAX: u64 = 32;
/// Maximum bytes of these patterns, compiled.
pub const SCHEMA_PATTERNS_BYTES_MAX: u64 = 256 * 1024;
/// The same bound for one pattern.
const PATTERN_BYTES_MAX: usize = 256 * 1024;

/// What the patterns of a schema cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Weight {
    pub(super) count: u64,
    /// Bytes when compiled.
    pub(super) bytes: u64,
}

impl Weight {
    pub(super) fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Checks the patterns of a whole schema.
pub(super) fn check(patterns: Weight) -> Result<(), Violation> {
    if patterns.count > SCHEMA_PATTERNS_MAX || patterns.bytes > SCHEMA_PATTERNS_BYTES_MAX {
        let rule = format!(
            "has {} patterns of {} bytes when compiled, after its references are followed: at most {SCHEMA_PATTERNS_MAX} of together \
             {SCHEMA_PATTERNS_BYTES_MAX} bytes are accepted",
            patterns.count, patterns.bytes
        );
        return Err(Violation::new(ViolationReason::OutOfRange, rule));
    }
    Ok(())
}

/// The patterns of a schema's member: of `pattern` and `patternProperties`.
///
/// # Errors
/// One is too long, or too large when compiled.
pub(super) fn of_member(name: &str, member: &Value) -> Result<Weight, Violation> {
    let mut weight = Weight::default();
    match (name, member) {
        ("pattern", Value::String(pattern)) => weight.add(of_pattern(pattern)?),
        ("patternProperties", Value::Object(members)) => {
            for pattern in members.keys() {
                weight.add(of_pattern(pattern)?);
            }
        }
        _ => {}
    }
    Ok(weight)
}

fn of_pattern(pattern: &str) -> Result<Weight, Violation> {
    let chars = pattern.chars().count();
    if chars > SCHEMA_PATTERN_CHARS_MAX {
        let rule = format!("has a pattern of {chars} characters: at most {SCHEMA_PATTERN_CHARS_MAX} are accepted");
        return Err(Violation::new(ViolationReason::OutOfRange, rule));
    }
    let config = thompson::Config::new().which_captures(WhichCaptures::None).nfa_size_limit(Some(PATTERN_BYTES_MAX));
    let bytes = match thompson::Compiler::new().configure(config).build(&with_ascii_classes(pattern)) {
        Ok(compiled) => compiled.memory_usage(),
        Err(error) if error.size_limit().is_some() => {
            let rule = format!("has a pattern of over {PATTERN_BYTES_MAX} bytes when compiled: repeat less");
            return Err(Violation::new(ViolationReason::OutOfRange, rule));
        }
        // It is no pattern, or the schema is none.
        Err(_) => 0,
    };
    Ok(Weight { count: 1, bytes: u64::try_from(bytes).unwrap_or(u64::MAX) })
}

/// The pattern with the classes that ECMA-262 means, which the compiler of schemas sets too.
fn with_ascii_classes(pattern: &str) -> String {
    let mut converted = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        let escaped = if character == '\\' { rest.next() } else { None };
        match escaped {
            None => converted.push(character),
            Some('d') => converted.push_str("[0-9]"),
            Some('D') => converted.push_str("[^0-9]"),
            Some('w') => converted.push_str("[A-Za-z0-9_]"),
            Some('W') => converted.push_str("[^A-Za-z0-9_]"),
            Some('s') => converted.push_str(r"[\t\n\r\x0b\x0c \xa0\u{2003}\u{2029}\u{feff}]"),
            Some('S') => converted.push_str(r"[^\t\n\r\x0b\x0c \xa0\u{2003}\u{2029}\u{feff}]"),
            // `\cA` and its like are one character.
            Some('c') => converted.push('c'),
            Some(escaped) => converted.extend(['\\', escaped]),
        }
    }
    converted
}
