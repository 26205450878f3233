//! Which servers may be called by URLs that tenants set: webhooks of tools, JWK sets, and model servers by name.
//!
//! Pure: it resolves no name and opens no connection. The client that does both (`models::EgressClient`) asks [`Policy`]
//! about the URL, and then about each resolved address. The settings are the deployment's, never a tenant's.

mod address;
mod config;
mod destination;
mod policy;

pub use address::{canonical, is_public};
pub use config::{DESTINATIONS_MAX, EgressConfig, MODEL_SERVERS_MAX, MODEL_TENANTS_MAX};
pub use destination::{Destination, DestinationError, HOST_BYTES_MAX};
pub use policy::{Policy, Refusal, Scheme};
