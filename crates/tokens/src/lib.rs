//! Pure: what facts weigh in a context, in tokens.
//!
//! One vocabulary, `o200k_base`, counts for every model: it is bundled, so that nothing is fetched, and its counts are kept
//! with the events, so that no event is counted twice. Other models' tokenizers differ by some per cent; whoever sets a
//! budget leaves them room.

mod carried;
mod fact;
mod text;

pub use carried::Carried;
pub use fact::{
    CALL_TOKENS, FILE_TOKENS, IMAGE_TOKENS, MESSAGE_TOKENS, PART_TOKENS, RENAMED_TOKENS,
    RESULT_TOKENS, SEALED_BYTES_PER_TOKEN, SUMMARY_TOKENS, TEXT_FILE_TOKENS, UNNAMED_TOKENS,
    of_fact, recounted,
};
pub use text::{count_text, load};
