//! `hansard.read.v1.ReadService`.

mod assemble_context;
mod bad_fields;
mod forks;
mod forms;
mod freshness;
mod list_conversations;
mod list_events;
mod page_tokens;
mod position_tokens;
mod rewinds;
mod unknown_agents;
mod verbatim;
mod watch_conversation;
