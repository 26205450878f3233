//! Valid and invalid tokens of every kind.
#![cfg(test)]

mod admins;
mod claims;
mod keys;
mod properties;
mod rules;
mod sessions;
mod signatures;
mod signer;
