//! Every hop over TLS: what is trusted works, what is not is refused, and says why.

#![cfg(test)]

mod commands;
mod doors;
mod nats;
mod otlp;
mod postgres;
mod renewal;
mod system;
