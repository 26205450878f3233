//! Templates of keys: texts that contain `{{path.to.value}}`.

use crate::bounds::KEY_CHARS_MAX;
use crate::refused::RefusedReason;
use crate::variables::Variables;

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// Replaces each `{{path.to.value}}` by the value at that path of the variables. White space around the names is ignored. A
/// value is inserted verbatim, and paths do not lead through lists.
///
/// # Errors
/// A value is missing or empty, contains a template, or is too long for a key.
pub fn render(template: &str, variables: &Variables) -> Result<String, RefusedReason> {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((literal, opened)) = rest.split_once(OPEN) {
        let (path, after) = opened.split_once(CLOSE).ok_or(RefusedReason::Unresolved)?;
        let value = variables.text(path.split('.').map(str::trim)).ok_or(RefusedReason::Unresolved)?;
        if value.trim().is_empty() {
            return Err(RefusedReason::Empty);
        }
        if value.contains(OPEN) {
            return Err(RefusedReason::Unresolved);
        }
        // Checked here too: many long values would take far more memory than any key.
        if value.chars().nth(KEY_CHARS_MAX).is_some() {
            return Err(RefusedReason::TooLong);
        }
        text.push_str(literal);
        text.push_str(value);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, expected: Result<&str, RefusedReason>) {
        let long = "x".repeat(KEY_CHARS_MAX);
        let json = format!(
            r#"{{"a":{{"b":"v","c.d":"w"}}, "n":-100, "yes":true, "none":null, "list":[1], "empty":"", "blank":" ",
                "template":"{{{{a.b}}}}", "open":"{{{{", "long":"{long}", "longer":"{long}x", "__x__":"u"}}"#
        );
        let variables = Variables::parse(&json).expect(&json);
        let expected = expected.map(str::to_owned);
        assert_eq!(render(template, &variables), expected, "{template}");
    }

    #[test]
    fn values_stand_where_their_paths_stood() {
        for (template, expected) in [
            ("", ""),
            ("literal", "literal"),
            ("{{a.b}}", "v"),
            ("{{ a . b }}", "v"),
            ("{{\ta.b\n}}", "v"),
            ("k:{{a.b}}:{{n}}:{{yes}}:end", "k:v:-100:true:end"),
            ("{{a.b}}{{a.b}}", "vv"),
            ("{{__x__}}", "u"),
            ("{a.b}", "{a.b}"),
            ("}}", "}}"),
        ] {
            check(template, Ok(expected));
        }
        check("{{long}}", Ok(&"x".repeat(KEY_CHARS_MAX)));
    }

    #[test]
    fn a_missing_value_is_refused() {
        for template in [
            "{{missing}}",
            "k:{{a.missing}}",
            "{{a}}",
            "{{a.b.c}}",
            "{{a.c.d}}",
            "{{none}}",
            "{{list}}",
            "{{list.0}}",
            "{{}}",
            "{{ }}",
            "{{a.b",
            "{{{a.b}}}",
            "{{a.{{b}}}}",
            "{{template}}",
            "{{open}}",
        ] {
            check(template, Err(RefusedReason::Unresolved));
        }
        for template in ["{{empty}}", "k:{{empty}}", "{{blank}}:x"] {
            check(template, Err(RefusedReason::Empty));
        }
        check("{{longer}}", Err(RefusedReason::TooLong));
    }
}
