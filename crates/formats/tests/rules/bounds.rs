//! The bounds by their numbers: the tests at their edges use the constants.

use formats::names::{CALL_ID_CHARS_MAX, TOOL_NAME_CHARS_MAX};
use formats::options::CACHE_KEY_CHARS_MAX;
use formats::{anthropic, gemini, openai_responses};

#[test]
fn bounds_are_these_numbers() {
    for (name, bound, expected) in [
        ("CALL_ID_CHARS_MAX", CALL_ID_CHARS_MAX, 40),
        ("TOOL_NAME_CHARS_MAX", TOOL_NAME_CHARS_MAX, 64),
        ("CACHE_KEY_CHARS_MAX", CACHE_KEY_CHARS_MAX, 64),
        ("anthropic::REPLY_BYTES_MAX", anthropic::REPLY_BYTES_MAX, 16_777_216),
        ("gemini::REPLY_BYTES_MAX", gemini::REPLY_BYTES_MAX, 16_777_216),
        ("openai_responses::REPLY_BYTES_MAX", openai_responses::REPLY_BYTES_MAX, 16_777_216),
    ] {
        assert_eq!(bound, expected, "{name}");
    }
}
