//! The table of formats: [`Format`], and which module writes and reads each.

use std::borrow::Cow;
use std::fmt;

use context::Transcript;
use domain::event::ToolOutput;
use domain::{Fact, surrogates};

use crate::options::RenderOptions;
use crate::rendered::Rendered;
use crate::reply::{ParseError, Reply};
use crate::{canonical, pictures};

/// Defines the formats by one line per provider format: its variant, its number in the protobuf enum `ContextFormat`, its
/// name in settings and receipts, the name of its provider in facts, its module, and a description for help texts.
macro_rules! formats {
    ($($variant:ident = $number:literal, $name:literal, $provider:literal, $module:ident, $description:literal;)+) => {
        /// A format of contexts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Format {
            /// Hansard's own format.
            Canonical,
            $(#[doc = $description] $variant,)+
        }

        impl Format {
            /// Every format.
            pub const ALL: &[Self] = &[Self::Canonical, $(Self::$variant),+];

            /// Its name, as settings and receipts contain it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    Self::Canonical => "canonical",
                    $(Self::$variant => $name,)+
                }
            }

            /// Its number in the protobuf enum `ContextFormat`.
            #[must_use]
            pub fn number(self) -> i32 {
                match self {
                    Self::Canonical => 1,
                    $(Self::$variant => $number,)+
                }
            }

            /// A description for help texts.
            #[must_use]
            pub fn description(self) -> &'static str {
                match self {
                    Self::Canonical => "Hansard's own format",
                    $(Self::$variant => $description,)+
                }
            }

            /// The provider of its models, as facts name it; `None` for the canonical format.
            #[must_use]
            pub fn provider(self) -> Option<&'static str> {
                match self {
                    Self::Canonical => None,
                    $(Self::$variant => Some($provider),)+
                }
            }
        }

        /// Writes a context in a format. No body has half of a surrogate pair (earlier releases recorded them in documents), or a picture that
        /// the provider rejects.
        #[must_use]
        pub fn render(format: Format, transcript: &Transcript, options: &RenderOptions) -> Rendered {
            let (transcript, losses) = match format {
                Format::Canonical => (Cow::Borrowed(transcript), Vec::new()),
                Format::Gemini => pictures::prepared(&pictures::GEMINI, transcript),
                Format::OpenAiChat | Format::OpenAiResponses | Format::Anthropic | Format::Ollama => {
                    pictures::prepared(&pictures::COMMON, transcript)
                }
            };
            let transcript = with_whole_documents(transcript);
            let mut rendered = match format {
                Format::Canonical => canonical::render(&transcript),
                $(Format::$variant => crate::$module::render(&transcript, options),)+
            };
            surrogates::replace_unpaired(&mut rendered.body);
            rendered.losses.splice(..0, losses);
            rendered.losses.sort_by_key(|loss| loss.version);
            rendered
        }

        /// Reads the part of a request that contains the history.
        ///
        /// # Errors
        /// [`ParseError`].
        pub fn parse_history(format: Format, body: &[u8]) -> Result<Vec<Fact>, ParseError> {
            match format {
                Format::Canonical => canonical::parse_history(body),
                $(Format::$variant => crate::$module::parse_history(body),)+
            }
        }

        /// Reads a whole reply; `None` for the canonical format, in which no model replies.
        #[must_use]
        pub fn parse_reply(format: Format, body: &[u8]) -> Option<Result<Reply, ParseError>> {
            match format {
                Format::Canonical => None,
                $(Format::$variant => Some(crate::$module::parse_reply(body)),)+
            }
        }
    };
}

/// The transcript without halves of surrogate pairs in inputs and outputs of calls, which some formats write as texts.
fn with_whole_documents(mut transcript: Cow<'_, Transcript>) -> Cow<'_, Transcript> {
    let calls = |transcript: &Transcript| {
        let calls = transcript.turns.iter().enumerate();
        let calls = calls
            .flat_map(|(turn, given)| given.calls.iter().enumerate().map(move |(call, given)| (turn, call, given)));
        let whole = calls.filter_map(|(turn, call, given)| {
            let input = given.called.input.without_halves();
            let output = match &given.answer.output {
                ToolOutput::Json(json) => json.without_halves(),
                ToolOutput::Parts(_) => None,
            };
            (input.is_some() || output.is_some()).then_some((turn, call, input, output))
        });
        whole.collect::<Vec<_>>()
    };
    for (turn, call, input, output) in calls(&transcript) {
        let turn = transcript.to_mut().turns.get_mut(turn);
        if let Some(call) = turn.and_then(|turn| turn.calls.get_mut(call)) {
            call.called.input = input.unwrap_or_else(|| call.called.input.clone());
            call.answer.output = output.map_or_else(|| call.answer.output.clone(), ToolOutput::Json);
        }
    }
    transcript
}

formats! {
    OpenAiChat = 2, "openai-chat", "openai", openai_chat, "OpenAI chat completions";
    OpenAiResponses = 3, "openai-responses", "openai", openai_responses, "OpenAI Responses";
    Anthropic = 4, "anthropic", "anthropic", anthropic, "Anthropic messages";
    Gemini = 5, "gemini", "gemini", gemini, "Gemini contents";
    Ollama = 6, "ollama", "ollama", ollama, "Ollama's `/api/chat`";
}

impl Format {
    /// The format of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|format| format.as_str() == name)
    }

    /// The format of this number in the protobuf enum `ContextFormat`.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|format| format.number() == number)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_identify_formats() {
        for (number, format) in (1..).zip(Format::ALL) {
            assert_eq!(Format::parse(format.as_str()), Some(*format));
            assert_eq!(Format::from_number(number), Some(*format));
        }
        assert_eq!(Format::parse("openai"), None);
        assert_eq!(Format::from_number(0), None);
    }
}
