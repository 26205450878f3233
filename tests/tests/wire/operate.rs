//! `hansard.operate.v1.RegistryService`, and the access to it.

mod agent_settings;
mod agent_tokens;
mod bound_tokens;
mod context_policies;
mod frontend_keys;
mod key_uses;
mod registry;
mod scopes;
mod sessions;
mod signing_keys;
mod tenancy;
mod tokens;
