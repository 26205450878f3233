//! `hansard.operate.v1.RegistryService`, and who may see and do what.

mod bound_tokens;
mod registry;
mod scopes;
mod tenancy;
mod tokens;
