//! Placeholders: texts that stand for a value, or for none.

/// What stands for a value, or says what kind it is.
const WORDS: [&str; 30] = [
    "any",
    "auto",
    "bool",
    "boolean",
    "bytes",
    "empty",
    "expired",
    "false",
    "hidden",
    "incorrect",
    "int",
    "integer",
    "invalid",
    "missing",
    "nil",
    "no",
    "none",
    "null",
    "number",
    "object",
    "optional",
    "required",
    "str",
    "string",
    "text",
    "true",
    "undefined",
    "unknown",
    "wrong",
    "yes",
];

/// Whether it stands for a value that is given elsewhere, or for none.
pub(crate) fn is_placeholder(said: &str) -> bool {
    let starts = [
        "<", "{", "[", "(", "%", "${", "$(", "...", "…", "your", "YOUR", "Your",
    ];
    let variable = said.strip_prefix('$').is_some_and(|name| {
        name.bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    });
    let masked = said
        .chars()
        .all(|character| matches!(character, '*' | 'x' | 'X' | '.' | '•' | '-' | '_'));
    let word = WORDS.iter().any(|word| said.eq_ignore_ascii_case(word));
    let colour = said.starts_with('#') && said.len() <= "#rrggbb".len();
    variable || masked || word || colour || starts.iter().any(|start| said.starts_with(start))
}
