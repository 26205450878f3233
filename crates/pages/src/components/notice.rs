//! Short texts with a tone: notices and badges. The text says it too, so colour is never the only sign.

use maud::{Markup, html};

/// How a notice or a badge looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Neither good nor bad.
    Neutral,
    /// Done, healthy.
    Good,
    /// Needs attention.
    Warn,
    /// Failed.
    Bad,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Neutral => "",
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// A message about what was done, or what is wrong.
#[must_use]
pub fn notice(tone: Tone, text: &str) -> Markup {
    let role = if tone == Tone::Bad { "alert" } else { "status" };
    html! { div class={ "notice " (tone.class()) } role=(role) { (text) } }
}

/// A label of one or two words.
#[must_use]
pub fn badge(tone: Tone, text: &str) -> Markup {
    html! { span class={ "badge " (tone.class()) } { (text) } }
}
