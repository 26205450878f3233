//! Placeholders: texts that replace a value, or describe it.

/// Words that replace a value, or name its type or state.
#[rustfmt::skip]
const WORDS: [&str; 30] = [
    "any", "auto", "bool", "boolean", "bytes", "empty", "expired", "false", "hidden", "incorrect", "int", "integer",
    "invalid", "missing", "nil", "no", "none", "null", "number", "object", "optional", "required", "str", "string",
    "text", "true", "undefined", "unknown", "wrong", "yes",
];

/// Whether the text is a placeholder: a variable, a mask, a colour, a word or a template.
pub(crate) fn is_placeholder(value: &str) -> bool {
    let starts = ["<", "{", "[", "(", "%", "${", "$(", "...", "…"];
    let variable = value.strip_prefix('$').is_some_and(|name| {
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    });
    let masked = value.chars().all(|character| "*xX.•-_".contains(character));
    let word = WORDS.iter().any(|word| value.eq_ignore_ascii_case(word));
    let colour = value.starts_with('#') && value.len() <= "#rrggbb".len();
    let template = starts.iter().any(|start| value.starts_with(start)) || is_your(value);
    variable || masked || word || colour || template
}

/// Whether the text is like `your-api-key` or `YOUR_TOKEN`. A secret can begin with these letters, too.
fn is_your(value: &str) -> bool {
    let Some((your, rest)) = value.split_at_checked("your".len()) else {
        return false;
    };
    let is_name = |character: char| character.is_ascii_alphabetic() || "-_".contains(character);
    your.eq_ignore_ascii_case("your") && (rest.is_empty() || rest.starts_with(['-', '_'])) && rest.chars().all(is_name)
}
