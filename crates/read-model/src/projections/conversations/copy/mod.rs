//! Filling a schema whose large tables have no indexes yet.
//!
//! Events are rows at once. Of a conversation each chunk writes down what it changes, in `conversation_change`; rows are made
//! of that at the end, when all of it is there. A tombstone is such a change too, and leaves nothing of the conversation when
//! rows are made.

mod buffer;

use domain::FieldChange;
use prost::Message as _;
use sqlx::postgres::PgConnection;

use super::conversation_rows::{
    ConversationRows, OwnerColumns, change_of, context_bytes, json_text,
};
use super::event_rows::{EventColumns, columns_of};
use super::group::Group;
use super::write::{WriteFailure, run};
use crate::moment::{Moment, nanos_of};
use crate::queries::signed;
use crate::status_code::status_code;
use buffer::CopyRows;

const EVENT_COLUMNS: i16 = 20;
const CHANGE_COLUMNS: i16 = 23;

/// Writes what the groups' commits come to.
pub(super) async fn copy_groups(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
) -> Result<(), WriteFailure> {
    let statement = include_str!("copy_events.sql");
    let mut events = CopyRows::begin(&mut *connection, statement, EVENT_COLUMNS).await?;
    for group in groups.iter().filter(|group| !group.is_erased()) {
        for event in group.commits.iter().copied().flat_map(columns_of) {
            put_event(&mut events, &event);
            events.end_row().await?;
        }
    }
    events.finish().await?;
    let statement = include_str!("copy_changes.sql");
    let mut changes = CopyRows::begin(&mut *connection, statement, CHANGE_COLUMNS).await?;
    for group in groups {
        put_change(&mut changes, group);
        changes.end_row().await?;
    }
    changes.finish().await?;
    let mut conversations = ConversationRows::default();
    for group in groups.iter().filter(|group| group.is_erased()) {
        conversations.add(group);
    }
    let erased = conversations.erased;
    if !erased.is_empty() {
        let sql = include_str!("../erase_parked.sql");
        run(connection, sql, erased.bind_keys()).await?;
    }
    Ok(())
}

fn put_event(events: &mut CopyRows<'_>, event: &EventColumns<'_>) {
    events.begin_row();
    events.put(event.version);
    events.put(event.recorded_at);
    events.put(event.occurred_at);
    events.put(event.input_tokens);
    events.put(event.output_tokens);
    events.put(event.cached_tokens);
    events.put(event.sequence);
    events.put(event.commit_id);
    events.put(event.recorded_nanos);
    events.put(event.commit_index);
    events.put(event.event_count);
    events.put(event.kind);
    events.put(event.role);
    events.put(event.tenant_id);
    events.put(event.conversation_id);
    events.put(event.tool_name);
    events.put(event.call_id);
    events.put(event.model);
    events.put(event.request_digest);
    events.put(event.body);
}

fn put_change(changes: &mut CopyRows<'_>, group: &Group<'_>) {
    let Some(change) = change_of(group) else {
        return;
    };
    let head = &change.head;
    // As a row of an erased conversation has it, whose first commit may be gone.
    let erased_at = group.is_erased().then_some(head.recorded_at);
    let beginning = change.beginning.as_ref();
    let created_at = erased_at.or(beginning.map(|beginning| beginning.created_at));
    let owner = OwnerColumns::of(head);
    let parent = head.forked_from.as_ref();
    changes.begin_row();
    changes.put(signed(change.first_version.0));
    changes.put(signed(head.version.0));
    changes.put(signed(change.position.sequence.0));
    changes.put(signed(change.stored_bytes));
    changes.put(created_at.map(Moment::of));
    changes.put(Moment::of(head.last_event_at));
    changes.put(head.active_run.map(|run| run.id.0));
    changes.put(i32::from(group.partition.0));
    changes.put(created_at.map(nanos_of));
    changes.put(status_code(head.status));
    changes.put(change.title.is_some());
    changes.put(change.metadata.is_some());
    changes.put(group.tenant.as_str());
    changes.put(group.conversation.as_str());
    changes.put(head.agent.as_str());
    changes.put(owner.user);
    changes.put(owner.session);
    changes.put(owner.channel);
    changes.put(parent.map(|point| point.conversation.as_str()));
    changes.put(wire::head::to_proto(head).encode_to_vec());
    changes.put(beginning.and_then(context_bytes));
    changes.put(change.title.and_then(FieldChange::into_value));
    changes.put(json_text(change.metadata));
}
