//! Rules for URLs that tenants set (webhooks of tools, JWK sets) and for model servers that tenants name.
//!
//! Pure: this crate resolves no name and opens no connection. The client (`models::EgressClient`) checks the URL by
//! [`Policy`], and then each resolved address. The deployment sets the rules; a tenant cannot.

mod address;
mod config;
mod destination;
mod policy;

pub use address::{canonical, is_public};
pub use config::{DESTINATIONS_MAX, EgressConfig, MODEL_SERVERS_MAX, MODEL_TENANTS_MAX};
pub use destination::{Destination, DestinationError, HOST_BYTES_MAX};
pub use policy::{Policy, Refusal, Scheme};
