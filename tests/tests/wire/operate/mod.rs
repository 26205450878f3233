//! `hansard.operate.v1.RegistryService`, and who may see and do what.

mod registry;
mod scopes;
mod tenancy;
mod tokens;
