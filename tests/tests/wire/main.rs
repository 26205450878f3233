//! The system over the wire. Folders mirror the gRPC services, files their methods; `service` is what every role has,
//! `command` is the command line.

#![cfg(test)]

mod command;
mod history;
mod operate;
mod read;
mod real_data;
mod run;
mod service;
mod write;
