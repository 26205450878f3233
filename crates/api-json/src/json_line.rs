//! JSON in one line, for formats whose lines have a meaning.

use serde::Serialize;

/// The document in one line. Line breaks of a recorded document are only white space, never in its strings.
///
/// # Errors
/// A recorded document is not JSON.
pub fn json_line(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string(value)?;
    if json.contains(['\n', '\r']) {
        return Ok(json.replace(['\n', '\r'], " "));
    }
    Ok(json)
}

#[cfg(test)]
mod tests {
    use domain::JsonText;

    use super::*;
    use crate::content::Verbatim;

    #[test]
    fn recorded_line_breaks_become_blanks() {
        let document = JsonText::parse("{\r\n \"a\": \"x\\ny\"\n}").unwrap();
        let line = json_line(&[Verbatim(document)]).unwrap();
        assert_eq!(line, "[{   \"a\": \"x\\ny\" }]");
    }
}
