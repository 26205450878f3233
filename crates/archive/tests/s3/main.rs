//! Segments in S3: two independent servers, and faults between them and the store.
#![cfg(test)]

mod archives;
mod bucket;
#[path = "../conversations/mod.rs"]
mod conversations;
mod encryption;
mod http;
mod listings;
mod moto;
mod multipart;
mod objects;
mod proxy;
mod retries;
mod s3s_fs;
mod timeouts;
