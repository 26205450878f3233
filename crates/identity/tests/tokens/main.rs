//! Valid and invalid tokens of every kind.
#![cfg(test)]

mod admins;
mod bounds;
mod claims;
mod dashboard;
mod id_tokens;
mod keys;
mod properties;
mod rules;
mod sessions;
mod signatures;
mod signer;
