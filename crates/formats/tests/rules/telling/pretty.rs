//! Pretty-printed JSON in the original order. Values that fit are on one line.

/// Maximum characters of a line.
const LINE_CHARS: usize = 100;
/// Spaces per level.
const INDENT: usize = 2;

/// Breaks compact JSON into lines.
pub(super) fn pretty(json: &str) -> String {
    broken(json, 0)
}

fn broken(json: &str, indent: usize) -> String {
    let is_list = json.starts_with(['{', '[']);
    if !is_list || indent + json.chars().count() <= LINE_CHARS {
        return json.to_owned();
    }
    let (opening, rest) = json.split_at(1);
    let (inner, closing) = rest.split_at(rest.len() - 1);
    let inner_indent = indent + INDENT;
    let lines: Vec<String> = members(inner)
        .into_iter()
        .map(|member| format!("{}{}", " ".repeat(inner_indent), broken_member(member, inner_indent)))
        .collect();
    format!("{opening}\n{}\n{}{closing}", lines.join(",\n"), " ".repeat(indent))
}

fn broken_member(member: &str, indent: usize) -> String {
    let value = if member.starts_with('"') { top_level(member, ':') } else { None };
    match value {
        Some(at) => {
            let (name, value) = member.split_at(at + 1);
            format!("{name} {}", broken(value, indent))
        }
        None => broken(member, indent),
    }
}

/// The members of a list or an object, split at top-level commas.
fn members(mut inner: &str) -> Vec<&str> {
    let mut members = Vec::new();
    while let Some(at) = top_level(inner, ',') {
        let (member, rest) = inner.split_at(at);
        members.push(member);
        inner = rest.trim_start_matches(',');
    }
    members.push(inner);
    members
}

/// The position of the first mark outside of strings, lists and objects.
fn top_level(json: &str, mark: char) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, c) in json.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            _ if c == mark && depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_values_are_broken() {
        let long = "x".repeat(LINE_CHARS);
        check("{\"a\":[1,2]}", "{\"a\":[1,2]}");
        check(
            &format!("{{\"a\":[1,2],\"b\\\",:\":\"{long},[\"}}"),
            &format!("{{\n  \"a\": [1,2],\n  \"b\\\",:\": \"{long},[\"\n}}"),
        );
        check(&format!("[{{\"a\":\"{long}\"}},1]"), &format!("[\n  {{\n    \"a\": \"{long}\"\n  }},\n  1\n]"));
    }

    fn check(json: &str, expected: &str) {
        assert_eq!(pretty(json), expected);
    }
}
