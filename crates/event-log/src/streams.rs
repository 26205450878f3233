//! The streams of a record as a whole: their state, replicas and leaders, growth, time and subjects.

pub(crate) mod growth;
pub(crate) mod leaders;
pub(crate) mod partition_status;
pub(crate) mod replicas;
pub(crate) mod server_time;
pub(crate) mod subjects;
