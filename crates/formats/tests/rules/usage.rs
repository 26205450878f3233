//! Token counts that are no counts: the reply is parsed without a usage.

use domain::Fact;
use domain::event::Usage;
use formats::{Format, parse_reply};

/// A whole reply of each format with the count `#` of written tokens.
const REPLIES: [(Format, &str); 5] = [
    (
        Format::OpenAiChat,
        r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"completion_tokens":#}}"#,
    ),
    (Format::OpenAiResponses, r#"{"status":"completed","output":[],"usage":{"output_tokens":#}}"#),
    (Format::Anthropic, r#"{"role":"assistant","content":[],"stop_reason":"end_turn","usage":{"output_tokens":#}}"#),
    (
        Format::Gemini,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"finishReason":"STOP"}],"usageMetadata":{"candidatesTokenCount":#}}"#,
    ),
    (Format::Ollama, r#"{"message":{"role":"assistant","content":"a"},"done":true,"eval_count":#}"#),
];

fn check(count: &str, expected: Option<u64>) {
    for (format, reply) in REPLIES {
        let Some(Ok(reply)) = parse_reply(format, reply.replace('#', count).as_bytes()) else {
            panic!("{format:?} {count}");
        };
        let facts = reply.facts;
        let Some(Fact::MessageAppended(message)) = facts.first() else {
            panic!("{facts:?}");
        };
        let expected = expected.map(|output_tokens| Usage { output_tokens, ..Usage::default() });
        assert_eq!(message.usage, expected, "{format:?} {count}");
    }
}

#[test]
fn a_reply_is_complete_without_its_usage() {
    check("7", Some(7));
    check("2.0", Some(2));
    check("18446744073709551615", Some(u64::MAX));
    for count in ["18446744073709551616", "-1", "1.5", "1e999", r#""7""#, "[]"] {
        check(count, None);
    }
}
