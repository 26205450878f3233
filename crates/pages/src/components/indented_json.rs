//! JSON with line breaks and indentation. Values stay as they were written: numbers are not rounded, nothing is sorted.

/// Deepest indentation, in levels: deeper values stay readable.
const LEVELS_MAX: usize = 24;

/// The text of a JSON document, or of its head, with indentation. Another text stays as it is.
#[must_use]
pub fn indented_json(json: &str) -> String {
    if !json.trim_start().starts_with(['{', '[']) {
        return json.to_owned();
    }
    let mut writer = Writer::default();
    let mut characters = json.chars().peekable();
    while let Some(character) = characters.next() {
        if writer.in_string {
            writer.within_string(character);
            continue;
        }
        match character {
            ' ' | '\t' | '\n' | '\r' => {}
            '{' | '[' => {
                writer.text.push(character);
                while characters.next_if(char::is_ascii_whitespace).is_some() {}
                let closing = if character == '{' { '}' } else { ']' };
                if characters.next_if_eq(&closing).is_some() {
                    writer.text.push(closing);
                } else {
                    writer.level += 1;
                    writer.line_break();
                }
            }
            '}' | ']' => {
                writer.level = writer.level.saturating_sub(1);
                writer.line_break();
                writer.text.push(character);
            }
            ',' => {
                writer.text.push(character);
                writer.line_break();
            }
            ':' => writer.text.push_str(": "),
            _ => {
                writer.in_string = character == '"';
                writer.text.push(character);
            }
        }
    }
    writer.text
}

#[derive(Default)]
struct Writer {
    text: String,
    level: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Writer {
    fn within_string(&mut self, character: char) {
        self.text.push(character);
        self.in_string = self.is_escaped || character != '"';
        self.is_escaped = !self.is_escaped && character == '\\';
    }

    fn line_break(&mut self) {
        self.text.push('\n');
        let level = self.level.min(LEVELS_MAX);
        self.text.extend(std::iter::repeat_n("  ", level));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_indented_and_values_stay() {
        let check = |json: &str, expected: &str| assert_eq!(indented_json(json), expected);
        check("7", "7");
        check("\"a, b\"", "\"a, b\"");
        check("no { json }", "no { json }");
        check("{ }", "{}");
        check("[]", "[]");
        check(r#"{"a":1.50,"b":[]}"#, "{\n  \"a\": 1.50,\n  \"b\": []\n}");
        check(r#"["{\"x\":1,2}\\"]"#, "[\n  \"{\\\"x\\\":1,2}\\\\\"\n]");
        // The head of a document.
        check(r#"{"a":{"b":"c"#, "{\n  \"a\": {\n    \"b\": \"c");
    }

    #[test]
    fn indentation_is_bounded() {
        let deep = indented_json(&"[".repeat(1_000));
        assert!(deep.len() < 1_000 * (2 * LEVELS_MAX + 2));
    }
}
