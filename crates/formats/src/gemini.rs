//! Gemini contents: `systemInstruction`, then `contents` of the roles `user` and `model`.
//!
//! Rules:
//! - G1, G6: instructions are in `systemInstruction`; the list is not empty, and starts and ends with the user.
//! - G2: empty parts are omitted.
//! - G3: the calls of a turn are directly followed by one content with all their results, in the order of the calls.
//! - G4: a result names its tool, repeats the id of its call, and is an object.
//! - G5: the first call of every step has its signature, or [`SKIP_SIGNATURE`].
//! - G7: adjacent contents of one role are merged.
//! - G8: names come from [`crate::Names`].
//!
//! **Signatures.** The signature of a call is a field of the recorded call. Gemini also signs texts and images; such a
//! signature is recorded as an empty thought directly after the part, and rendered on that part. The signature of a thought
//! is recorded with the thought. Only Gemini's own signatures are rendered.
//!
//! **Prefixes.** The bytes of a turn never depend on later turns: the skip value is on every first call without a signature,
//! not only in the current turn. Only [`CONTINUE`], which G6 requires, moves with the end.

mod body;
mod calls;
mod errors;
mod history;
mod media;
mod parts;
mod read;
mod render;
mod reply;
mod reply_draft;
mod response;
mod stream;

pub use history::parse_history;
pub use render::render;
pub use reply::parse_reply;
pub use stream::{REPLY_BYTES_MAX, ReplyStream};

/// The name of the provider in facts.
const PROVIDER: &str = "gemini";
/// The name of the format in errors.
const FORMAT: &str = "gemini";
/// The documented value for calls of other providers' models (G5).
pub const SKIP_SIGNATURE: &str = "skip_thought_signature_validator";
/// The user text before a conversation that starts with the assistant (G3).
pub const OPENER: &str = "(The conversation begins with the assistant.)";
/// The user text after a conversation that ends with the assistant, or is empty (G6, G1).
pub const CONTINUE: &str = "(Continue.)";
/// The prefix of instructions within the conversation (G1).
pub const INSTRUCTIONS_MARK: &str = "[Instructions] ";
/// The base URL of the provider's files, whose ids start with `files/`.
pub const FILES_ADDRESS: &str = "https://generativelanguage.googleapis.com/v1beta/";
