//! `hansard.document.v1.DocumentService`.

mod access;
mod bounds;
mod calls;
mod conversations;
mod expiry;
mod filters;
mod lifecycle;
mod namespaces;
mod retries;
mod values;
mod versions;
