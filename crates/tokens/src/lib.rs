//! Pure: token counts of facts in a context.
//!
//! One vocabulary, `o200k_base`, is used for every model. It is bundled, so nothing is fetched. The counts are stored with
//! the events, so no event is counted twice. Tokenizers of other models differ by a few per cent; budgets need a margin.

mod embedded_text;
mod fact;
mod merge;
mod piece_cache;
mod text;
mod vocabulary;

pub use embedded_text::EmbeddedText;
pub use fact::{
    CALL_TOKENS, FILE_TOKENS, IMAGE_TOKENS, MESSAGE_TOKENS, PART_TOKENS, RENAMED_TOKENS, RESULT_TOKENS,
    SEALED_BYTES_PER_TOKEN, SUMMARY_TOKENS, TEXT_FILE_TOKENS, UNNAMED_TOKENS, count_fact, recount,
};
pub use text::{count_text, load};
