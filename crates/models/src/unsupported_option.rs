//! The options that a kind of server does not have.

use crate::config::ServerKind;
use formats::{RequestOptions, ToolChoice};

/// The name of the first given option that a kind of server does not have.
pub(crate) fn unsupported_option(options: &RequestOptions, kind: ServerKind) -> Option<&'static str> {
    let has_choice = !matches!(options.tool_choice, None | Some(ToolChoice::Auto));
    let given = [
        ("tool_choice", has_choice),
        ("parallel_tool_calls", options.parallel_tool_calls.is_some()),
        ("response_format", options.response_format.is_some()),
        ("top_p", options.top_p.is_some()),
        ("seed", options.seed.is_some()),
        ("stop", !options.stop.is_empty()),
        ("presence_penalty", options.presence_penalty.is_some()),
        ("frequency_penalty", options.frequency_penalty.is_some()),
        ("reasoning_effort", options.reasoning_effort.is_some()),
    ];
    let supported = supported(kind)?;
    let unsupported = |(name, is_given): &(&'static str, bool)| *is_given && !supported.contains(name);
    given.into_iter().find(unsupported).map(|(name, _)| name)
}

/// The options of a kind of server; `None`: all. The built-in model samples nothing, so sampling has no effect on it.
fn supported(kind: ServerKind) -> Option<&'static [&'static str]> {
    match kind {
        ServerKind::OpenAiChat => None,
        ServerKind::OpenAiResponses => {
            Some(&["tool_choice", "parallel_tool_calls", "response_format", "top_p", "reasoning_effort"])
        }
        ServerKind::Anthropic => Some(&["tool_choice", "top_p", "stop"]),
        ServerKind::Ollama => Some(&["top_p", "seed", "stop"]),
        ServerKind::Echo => Some(&["top_p", "seed", "presence_penalty", "frequency_penalty"]),
    }
}

#[cfg(test)]
mod tests {
    use domain::JsonText;

    use super::*;

    #[test]
    fn the_first_unsupported_option_is_named() {
        let choice = |choice| RequestOptions { tool_choice: Some(choice), ..RequestOptions::default() };
        let format = RequestOptions {
            response_format: JsonText::parse(r#"{"type":"json_object"}"#).ok(),
            ..RequestOptions::default()
        };
        let stop = RequestOptions { stop: vec!["x".to_owned()], ..RequestOptions::default() };
        for (options, kind, expected) in [
            (RequestOptions::default(), ServerKind::Echo, None),
            (choice(ToolChoice::Auto), ServerKind::Echo, None),
            (choice(ToolChoice::Required), ServerKind::Echo, Some("tool_choice")),
            (choice(ToolChoice::None), ServerKind::Anthropic, None),
            (choice(ToolChoice::None), ServerKind::OpenAiResponses, None),
            (choice(ToolChoice::None), ServerKind::Ollama, Some("tool_choice")),
            (format.clone(), ServerKind::OpenAiChat, None),
            (format.clone(), ServerKind::OpenAiResponses, None),
            (format, ServerKind::Anthropic, Some("response_format")),
            (stop.clone(), ServerKind::Ollama, None),
            (stop, ServerKind::OpenAiResponses, Some("stop")),
        ] {
            assert_eq!(unsupported_option(&options, kind), expected, "{options:?} {kind:?}");
        }
    }
}
