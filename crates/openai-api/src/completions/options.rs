//! Sampling and the form of the answer.

use domain::{JsonText, Violation, ViolationReason};
use formats::RequestOptions;
use serde_json::Value;

use super::request::{CompletionRequest, StopBody};
use crate::sampling::{PENALTIES, SHARES, TEMPERATURES, within};
use crate::verbatim::verbatim;
use crate::wrong_field::{out_of_range, wrong};

/// Maximum number of texts that end an answer, as OpenAI limits them.
pub const STOP_MAX: usize = 4;

impl CompletionRequest {
    /// The options, without the choice of tools.
    ///
    /// # Errors
    /// 400 with the field.
    pub fn options(&self) -> Result<RequestOptions, Violation> {
        Ok(RequestOptions {
            tool_choice: None,
            parallel_tool_calls: self.parallel_tool_calls,
            response_format: self.answer_format()?,
            top_p: within("top_p", self.top_p, SHARES)?,
            seed: self.seed,
            stop: self.stop_texts()?,
            presence_penalty: within("presence_penalty", self.presence_penalty, PENALTIES)?,
            frequency_penalty: within("frequency_penalty", self.frequency_penalty, PENALTIES)?,
            reasoning_effort: self.reasoning_effort.clone(),
        })
    }

    /// The sampling temperature.
    ///
    /// # Errors
    /// 400: it is out of its range.
    pub fn sampling_temperature(&self) -> Result<Option<f64>, Violation> {
        within("temperature", self.temperature, TEMPERATURES)
    }

    /// Maximum number of tokens of the answer.
    ///
    /// # Errors
    /// 400: it is 0.
    pub fn output_tokens_max(&self) -> Result<Option<u32>, Violation> {
        let given = [("max_completion_tokens", self.max_completion_tokens), ("max_tokens", self.max_tokens)];
        if let Some((field, _)) = given.iter().find(|(_, max)| *max == Some(0)) {
            return Err(out_of_range(field, "is 0, the minimum is 1"));
        }
        Ok(given.into_iter().filter_map(|(_, max)| max).min())
    }

    fn stop_texts(&self) -> Result<Vec<String>, Violation> {
        let texts = match self.stop.clone() {
            None => Vec::new(),
            Some(StopBody::One(text)) => vec![text],
            Some(StopBody::Several(texts)) => texts,
        };
        if texts.len() > STOP_MAX {
            let rule = format!("has {} texts, the maximum is {STOP_MAX}", texts.len());
            return Err(out_of_range("stop", &rule));
        }
        Ok(texts)
    }

    /// `text` is the default of every server, so it is not sent.
    fn answer_format(&self) -> Result<Option<JsonText>, Violation> {
        const FIELD: &str = "response_format";
        let Some(format) = &self.response_format else {
            return Ok(None);
        };
        let json = verbatim(format).map_err(|violation| violation.within(FIELD))?;
        let format = serde_json::from_str::<Value>(format.get()).unwrap_or_default();
        match format.get("type").and_then(Value::as_str) {
            Some("text") => Ok(None),
            Some("json_object" | "json_schema") => Ok(Some(json)),
            _ => {
                let rule = "must be `text`, `json_object` or `json_schema`";
                Err(wrong(ViolationReason::Malformed, "response_format.type", rule))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_at_their_bounds() {
        let check = |body: Value, expected: Option<&str>| {
            let mut whole = json!({"model": "m", "messages": []});
            let members = body.as_object().unwrap().clone();
            whole.as_object_mut().unwrap().extend(members);
            let request = serde_json::from_str::<CompletionRequest>(&whole.to_string()).unwrap();
            let checked = request
                .options()
                .map(drop)
                .and(request.sampling_temperature().map(drop))
                .and(request.output_tokens_max().map(drop));
            let field = checked.err().map(|violation| violation.field);
            assert_eq!(field.map(|field| field.to_string()).as_deref(), expected, "{body}");
        };
        for (field, edges, past) in [
            ("temperature", [0.0, 2.0], [-0.01, 2.01]),
            ("top_p", [0.0, 1.0], [-0.01, 1.01]),
            ("presence_penalty", [-2.0, 2.0], [-2.01, 2.01]),
            ("frequency_penalty", [-2.0, 2.0], [-2.01, 2.01]),
        ] {
            for edge in edges {
                check(json!({field: edge}), None);
            }
            for past in past {
                check(json!({field: past}), Some(field));
            }
        }
        check(json!({"stop": "x"}), None);
        check(json!({"stop": vec!["x"; STOP_MAX]}), None);
        check(json!({"stop": vec!["x"; STOP_MAX + 1]}), Some("stop"));
        for field in ["max_tokens", "max_completion_tokens"] {
            check(json!({field: 1}), None);
            check(json!({field: 0}), Some(field));
        }
        check(json!({"response_format": {"type": "text"}}), None);
        check(json!({"response_format": {"type": "json_object"}}), None);
        check(json!({"response_format": {"type": "xml"}}), Some("response_format.type"));
        check(json!({"response_format": ["json_object"]}), Some("response_format.type"));
        check(json!({"response_format": null, "stop": null, "seed": null}), None);
    }
}
