//! Clients of model servers: a context that `formats` has rendered goes out, a reply comes back in pieces.
//!
//! Owns the conversation with a server: how a request is completed for its kind, how long each step may take, when a request
//! is tried again, when a server is left alone for a while, and how much may come back. What a reply means is for `formats`
//! to say; what is recorded of it, for the callers. A server named [`ECHO`] is always there: it needs no network and no key.

mod breaker;
mod config;
mod declared;
mod echo;
mod egress_client;
mod error;
mod exchange;
pub mod fair;
mod framing;
mod gathering;
mod key;
mod meter;
mod piece;
mod provider;
mod reading;
mod remote;
mod reply_pieces;
mod request;
mod retry;
mod said;
mod server;
mod servers;
mod tls;

pub use config::{
    BASE_URL_BYTES_MAX, BreakerConfig, ModelServerConfig, ModelServersConfig, OutputLimit,
    SERVER_NAME_CHARS_MAX, SERVERS_MAX, ServerKind,
};
pub use echo::{ECHO, ECHO_PREFIX, ECHO_TEXT_BYTES_MAX};
pub use egress_client::{EgressClient, refusal_of};
pub use error::{ErrorText, ModelError, ModelsError, Step};
pub use exchange::{Exchange, Listener, Wanted};
pub use framing::EVENT_BYTES_MAX;
pub use key::ApiKey;
pub use piece::Piece;
pub use provider::ANTHROPIC_OUTPUT_TOKENS_DEFAULT;
pub use reading::{REPLY_BYTES_MAX, STREAM_BYTES_MAX};
pub use reply_pieces::ReplyPieces;
pub use request::{BODY_BYTES_MAX, ModelRequest, TOOLS_MAX, Tool};
pub use retry::{RETRY_AFTER_MS_DEFAULT, RETRY_AFTER_MS_MAX, RETRY_WAIT_MS_MAX};
pub use said::EXCHANGE_BODY_BYTES_MAX;
pub use servers::ModelServers;
