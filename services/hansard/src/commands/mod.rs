//! The commands, one file each: its arguments, and what it does.

pub mod address;
pub mod agent;
pub mod backup;
pub mod bench;
pub mod bootstrap;
pub mod context;
pub mod dev;
pub mod erase;
pub mod history;
pub mod import;
pub mod input_file;
pub mod key;
pub mod parked;
pub mod policy;
pub mod registry;
pub mod replay;
pub mod restore;
pub mod role;
pub mod signing_key;
pub mod status;
pub mod stores;
pub mod tail;
pub mod tenant;
pub mod token;
pub mod verify_receipt;
pub mod watch;
