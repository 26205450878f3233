//! JSON of events that a caller appends: the members of each type, converted to the writer's commands.

pub mod new_event;
pub mod new_message;
mod new_part;
