//! Tokens of every kind, and what is wrong with those that are refused.
#![cfg(test)]

mod admins;
mod claims;
mod keys;
mod properties;
mod rules;
mod sessions;
mod signatures;
mod signer;
