//! Gemini contents: `systemInstruction`, then `contents` of the roles `user` and `model`.
//!
//! G1 and G6: instructions stand in `systemInstruction`; the list is never empty, and neither begins nor ends with the
//! model. G2: what would be an empty part is left out. G3: a turn's calls are followed at once by one content with all of
//! their results, in the order of the calls. G4: a result names its tool, repeats its call's id, and is an object. G5: the
//! first call of every step carries its signature, or [`SKIP_SIGNATURE`]. G7: neighbouring contents of one role are one.
//! G8: names come from [`crate::Names`].
//!
//! **Signatures.** A call's signature is its own field of the record. Gemini also signs texts and pictures; such a
//! signature is kept as an empty thought right after the part that it signs, and goes back on that part. A thought's own
//! signature stays with the thought. None but Gemini's own are sent.
//!
//! **Prefixes.** A turn's bytes never depend on later turns: also the skip value stands on every first call that has no
//! signature, not only on those of the current turn. Only [`CONTINUE`], which G6 asks for, moves along with the end.

mod body;
mod calls;
mod fault;
mod gathered;
mod history;
mod media;
mod notes;
mod parts;
mod read;
mod render;
mod reply;
mod response;
mod stream;

#[cfg(test)]
mod fixtures;

pub use history::parse_history;
pub use render::render;
pub use reply::parse_reply;
pub use stream::{REPLY_BYTES_MAX, ReplyStream};

/// Whose models these are, as facts name a provider.
const PROVIDER: &str = "gemini";
/// The format, as errors name it.
const FORMAT: &str = "gemini";
/// The value that the provider documents for calls that its models did not make (G5).
pub const SKIP_SIGNATURE: &str = "skip_thought_signature_validator";
/// Said for the user where the conversation begins with the assistant (G3).
pub const OPENER: &str = "(The conversation begins with the assistant.)";
/// Said for the user where the conversation ends with the assistant, or has no turn at all (G6, G1).
pub const CONTINUE: &str = "(Continue.)";
/// Stands before instructions that were given in the middle of the conversation (G1).
pub const INSTRUCTIONS_MARK: &str = "[Instructions] ";
/// The field that holds an input which is no object.
pub const INPUT_FIELD: &str = "input";
/// Where the provider keeps the files whose ids begin with `files/`; its contents name them by address.
pub const FILES_ADDRESS: &str = "https://generativelanguage.googleapis.com/v1beta/";
