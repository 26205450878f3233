//! Every hop over TLS: trusted peers work, untrusted peers are rejected with a reason.

#![cfg(test)]

mod commands;
mod listeners;
mod nats;
mod otlp;
mod postgres;
mod renewal;
mod system;
