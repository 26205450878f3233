//! Clients of model servers. They send a context that `formats` rendered, and return the reply in pieces.
//!
//! Owns: completing a request for each kind of server, timeouts, retries, circuit breakers and size limits. `formats` parses
//! replies; callers record them. A server named [`ECHO`] always exists: it needs no network and no key.

mod breaker;
mod config;
mod echo;
mod egress_client;
mod error;
mod exchange;
mod framing;
mod key;
mod piece;
mod provider;
mod recorded_reply;
mod remote;
mod reply_parser;
mod reply_pieces;
mod reply_reader;
mod request;
mod request_metrics;
mod retry;
mod servers;
mod tls;
mod unsupported_option;

pub use config::{
    BASE_URL_BYTES_MAX, BreakerConfig, ModelServerConfig, ModelServersConfig, OutputLimit, SERVER_NAME_CHARS_MAX,
    SERVERS_MAX, ServerKind,
};
pub use echo::{ECHO, ECHO_PREFIX, ECHO_TEXT_BYTES_MAX};
pub use egress_client::{EgressClient, egress_refusal};
pub use error::{ErrorText, ModelError, ModelsError, Step};
pub use exchange::{Exchange, ExchangeDetail, ExchangeListener};
pub use framing::{EVENT_BYTES_MAX, Events as EventData, StreamEvent, TooLong};
pub use key::ApiKey;
pub use piece::Piece;
pub use provider::ANTHROPIC_OUTPUT_TOKENS_DEFAULT;
pub use recorded_reply::EXCHANGE_BODY_BYTES_MAX;
pub use reply_pieces::ReplyPieces;
pub use reply_reader::{REPLY_BYTES_MAX, STREAM_BYTES_MAX};
pub use request::{BODY_BYTES_MAX, ModelRequest};
pub use retry::{RETRY_AFTER_MS_DEFAULT, RETRY_AFTER_MS_MAX, RETRY_WAIT_MS_MAX};
pub use servers::ModelServers;
