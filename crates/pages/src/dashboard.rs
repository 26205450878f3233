//! The pages of the dashboard, one file each.

pub mod audit_log;
pub mod choose_tenant;
pub mod context;
pub mod conversations;
pub mod erasure;
pub mod event;
pub mod problem;
pub mod search;
pub mod settings;
pub mod sign_in;
pub mod sign_in_link;
pub mod system;
pub mod transcript;
pub mod usage;
