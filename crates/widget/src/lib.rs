//! The chat widget `<hansard-chat>` for pages of tenants: its files, embedded, and the tag that loads it.
//!
//! Pure: this crate serves nothing; the gateway does. The sources are the ES modules in `assets/`, which browsers run as they are.
//! [`release()`] makes three files of them: the loader, which defines the element; one module with the rest of the chat, which the
//! loader imports when it is needed; and the style sheet. The loader names the other two by their content and checks their
//! integrity, so a page that checks the integrity of the loader checks all of it.

mod bundle;
mod release;
mod snippet;

pub use release::{File, LOADER_GZIP_BYTES_MAX, RELEASE_GZIP_BYTES_MAX, Release, release};
pub use snippet::Snippet;

/// The first segments of every path. A change that breaks pages gets another number.
pub const ROOT: &str = "/widget/1";
/// The file that pages load.
pub const LOADER: &str = "hansard-chat.js";
