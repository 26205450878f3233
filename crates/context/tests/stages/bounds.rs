//! The bounds by their numbers: the tests at their edges use the constants.

use context::plan::BUDGETED_MESSAGES_MAX;
use context::policy::{Budget, POLICY_BYTES_MAX, TEMPLATE_BYTES_MAX};
use context::stages::clear::STUB_TOKENS;
use context::stages::inject::LISTED_CHARS_MAX;
use context::stages::own_instructions::{OWN_INSTRUCTIONS_EVENTS_MAX, OWN_INSTRUCTIONS_PART};
use context::template::{TEMPLATE_OUTPUT_BYTES_MAX, TEMPLATE_READ_BYTES_MAX, TEMPLATE_STEPS_MAX};

#[test]
fn bounds_are_these_numbers() {
    for (name, bound, expected) in [
        ("BUDGETED_MESSAGES_MAX", BUDGETED_MESSAGES_MAX, 2_000),
        ("POLICY_BYTES_MAX", POLICY_BYTES_MAX, 262_144),
        ("TEMPLATE_BYTES_MAX", TEMPLATE_BYTES_MAX, 131_072),
        ("TEMPLATE_OUTPUT_BYTES_MAX", TEMPLATE_OUTPUT_BYTES_MAX, 262_144),
        ("LISTED_CHARS_MAX", LISTED_CHARS_MAX, 1_024),
    ] {
        assert_eq!(bound, expected, "{name}");
    }
    assert_eq!(TEMPLATE_STEPS_MAX, 20_000);
    assert_eq!(TEMPLATE_READ_BYTES_MAX, 268_435_456);
    assert_eq!(STUB_TOKENS, 96);
    assert_eq!((OWN_INSTRUCTIONS_EVENTS_MAX, OWN_INSTRUCTIONS_PART), (16, 2));
    assert_eq!((Budget::CONTEXT_TOKENS, Budget::RESERVED_TOKENS, Budget::LOW_WATER_PERCENT), (128_000, 8_192, 50));
}
