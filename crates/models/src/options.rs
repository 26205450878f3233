//! Options of requests that only some kinds of servers have. Their names are those of chat completions.

use domain::{JsonText, ToolName};

use crate::config::ServerKind;

/// Options of a request; absent: the server's default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestOptions {
    /// Which tools the model may or must call.
    pub tool_choice: Option<ToolChoice>,
    /// Whether one reply may have several calls.
    pub parallel_tool_calls: Option<bool>,
    /// The form of the answer, as chat completions write it: an object.
    pub response_format: Option<JsonText>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// The seed of the sampling.
    pub seed: Option<i64>,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// The penalty of tokens that occur.
    pub presence_penalty: Option<f64>,
    /// The penalty of tokens by their number.
    pub frequency_penalty: Option<f64>,
    /// The effort of thoughts, as the server names it.
    pub reasoning_effort: Option<String>,
}

/// Which tools the model may or must call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No tool.
    None,
    /// At least one tool.
    Required,
    /// This tool, one of the request's.
    Tool(ToolName),
}

impl RequestOptions {
    /// The name of the first given option that a kind of server does not have.
    pub(crate) fn unsupported_by(&self, kind: ServerKind) -> Option<&'static str> {
        let has_choice = !matches!(self.tool_choice, None | Some(ToolChoice::Auto));
        let given = [
            ("tool_choice", has_choice),
            ("parallel_tool_calls", self.parallel_tool_calls.is_some()),
            ("response_format", self.response_format.is_some()),
            ("top_p", self.top_p.is_some()),
            ("seed", self.seed.is_some()),
            ("stop", !self.stop.is_empty()),
            ("presence_penalty", self.presence_penalty.is_some()),
            ("frequency_penalty", self.frequency_penalty.is_some()),
            ("reasoning_effort", self.reasoning_effort.is_some()),
        ];
        let supported = supported(kind)?;
        let unsupported =
            |(name, is_given): &(&'static str, bool)| *is_given && !supported.contains(name);
        given.into_iter().find(unsupported).map(|(name, _)| name)
    }
}

/// The options of a kind of server; `None`: all. The built-in model samples nothing, so sampling has no effect on it.
fn supported(kind: ServerKind) -> Option<&'static [&'static str]> {
    match kind {
        ServerKind::OpenAiChat => None,
        ServerKind::OpenAiResponses => Some(&["tool_choice", "parallel_tool_calls", "top_p"]),
        ServerKind::Anthropic => Some(&["tool_choice", "top_p", "stop"]),
        ServerKind::Ollama => Some(&["top_p", "seed", "stop"]),
        ServerKind::Echo => Some(&["top_p", "seed", "presence_penalty", "frequency_penalty"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_unsupported_option_is_named() {
        let choice = |choice| RequestOptions {
            tool_choice: Some(choice),
            ..RequestOptions::default()
        };
        let format = RequestOptions {
            response_format: JsonText::parse(r#"{"type":"json_object"}"#).ok(),
            ..RequestOptions::default()
        };
        let stop = RequestOptions {
            stop: vec!["x".to_owned()],
            ..RequestOptions::default()
        };
        for (options, kind, expected) in [
            (RequestOptions::default(), ServerKind::Echo, None),
            (choice(ToolChoice::Auto), ServerKind::Echo, None),
            (
                choice(ToolChoice::Required),
                ServerKind::Echo,
                Some("tool_choice"),
            ),
            (choice(ToolChoice::None), ServerKind::Anthropic, None),
            (choice(ToolChoice::None), ServerKind::OpenAiResponses, None),
            (
                choice(ToolChoice::None),
                ServerKind::Ollama,
                Some("tool_choice"),
            ),
            (format.clone(), ServerKind::OpenAiChat, None),
            (format, ServerKind::Anthropic, Some("response_format")),
            (stop.clone(), ServerKind::Ollama, None),
            (stop, ServerKind::OpenAiResponses, Some("stop")),
        ] {
            assert_eq!(
                options.unsupported_by(kind),
                expected,
                "{options:?} {kind:?}"
            );
        }
    }
}
