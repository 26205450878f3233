//! The bounds by their numbers: the tests at their edges use the constants.

use keyed_history::bounds::{CANDIDATES_MAX, KEY_CHARS_MAX, TEMPLATE_BYTES_MAX};
use keyed_history::ids::NAMESPACE_CHARS_MAX;
use keyed_history::variables::VARIABLES_BYTES_MAX;
use keyed_history::{CHANNEL_KEY_BYTES, MessagesMax};

#[test]
fn bounds_are_these_numbers() {
    for (name, bound, expected) in [
        ("KEY_CHARS_MAX", KEY_CHARS_MAX, 256),
        ("CANDIDATES_MAX", CANDIDATES_MAX, 20),
        ("TEMPLATE_BYTES_MAX", TEMPLATE_BYTES_MAX, 1_024),
        ("NAMESPACE_CHARS_MAX", NAMESPACE_CHARS_MAX, 64),
        ("VARIABLES_BYTES_MAX", VARIABLES_BYTES_MAX, 65_536),
        ("CHANNEL_KEY_BYTES", CHANNEL_KEY_BYTES, 32),
        ("MessagesMax::MOST", MessagesMax::MOST, 1_000),
    ] {
        assert_eq!(bound, expected, "{name}");
    }
}
