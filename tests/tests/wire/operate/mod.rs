//! `hansard.operate.v1.RegistryService`, and who may see and do what.

mod bound_tokens;
mod context_policies;
mod registry;
mod scopes;
mod tenancy;
mod tokens;
