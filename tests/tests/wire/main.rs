//! The system over the wire. Folders follow the gRPC services, files their methods; `service` covers what every role
//! has, `command` the command line.

#![cfg(test)]

mod command;
mod documents;
mod history;
mod operate;
mod read;
mod real_data;
mod run;
mod service;
mod write;
