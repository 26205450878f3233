//! The formats of the wire and of the record: the generated protobuf and gRPC code, and its conversions to and from the
//! domain. No I/O. Old events are upcast when they are read and never rewritten.

pub mod audit;
pub mod bearer;
pub mod commit;
pub mod content;
pub mod conversation;
pub mod event;
pub mod head;
pub mod json;
pub mod mask;
pub mod metered_call;
pub mod model_call;
pub mod optional;
pub mod prefix;
pub mod proto;
pub mod reads;
pub mod reason;
pub mod run;
mod secret;
pub mod status;
pub mod time;
pub mod token;
pub mod usage_correction;
