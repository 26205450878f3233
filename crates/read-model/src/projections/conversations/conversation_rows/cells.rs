//! A conversation's row, value by value: what a row that was read is compared with.

use domain::{Change, Status};

use super::{Begun, Common, ConversationRows, Fresh};
use crate::projections::conversations::cell::Cell;
use crate::projections::conversations::group::Group;

/// The columns, in the order of every statement that has all of them.
pub(in super::super) const CONVERSATION_COLUMNS: [&str; 20] = [
    "version",
    "sequence",
    "created_at",
    "last_event_at",
    "partition",
    "created_nanos",
    "status",
    "tenant_id",
    "conversation_id",
    "agent_id",
    "head",
    "user_id",
    "session_id",
    "channel_id",
    "active_run_id",
    "title",
    "metadata_json",
    "client_context",
    "forked_from",
    "stored_bytes",
];

impl<'b> ConversationRows<'b> {
    /// The one row that a whole history comes to; none for one that does not begin.
    pub(in super::super) fn of_history(change: &'b Change) -> Self {
        let partition = change.position.partition;
        let group = Group::new(&change.tenant, &change.conversation, partition);
        let mut rows = Self::default();
        if change.head.status == Status::Erased {
            rows.erased.add(&group, change);
        } else if let Some(beginning) = &change.beginning {
            rows.begun.add(&group, change.clone(), beginning);
        }
        rows
    }

    /// The only row, in the order of [`CONVERSATION_COLUMNS`]; `None`: there is none.
    pub(in super::super) fn only(&self) -> Option<[Cell<'_>; 20]> {
        let erased = || {
            let rows = &self.erased;
            let living = Default::default();
            cells(&rows.common, &rows.fresh, living)
        };
        self.begun.only().or_else(erased)
    }
}

impl Begun<'_> {
    fn only(&self) -> Option<[Cell<'_>; 20]> {
        let run = self.living.active_run.first()?.as_ref();
        let context = self.client_context.first()?.as_deref();
        let living = [
            text(&self.living.user)?,
            text(&self.living.session)?,
            text(&self.living.channel)?,
            Cell::maybe(run, |run| Cell::Bytes(run.as_bytes())),
            text(&self.title)?,
            text(&self.metadata_json)?,
            Cell::maybe(context, Cell::Bytes),
            text(&self.forked_from)?,
        ];
        cells(&self.common, &self.fresh, living)
    }
}

/// The first text of a column.
fn text(column: &[Option<String>]) -> Option<Cell<'_>> {
    Some(Cell::maybe(column.first()?.as_deref(), Cell::text))
}

/// The columns from `user_id` to `forked_from`.
type LivingCells<'r> = [Cell<'r>; 8];

/// The first row of these columns.
fn cells<'r>(
    common: &'r Common<'_>,
    fresh: &'r Fresh,
    living: LivingCells<'r>,
) -> Option<[Cell<'r>; 20]> {
    let [
        user,
        session,
        channel,
        run,
        title,
        metadata,
        context,
        forked_from,
    ] = living;
    Some([
        Cell::number(*common.version.first()?),
        Cell::number(*common.sequence.first()?),
        Cell::moment(*fresh.created_at.first()?),
        Cell::moment(*common.last_event_at.first()?),
        Cell::middle(*fresh.partition.first()?),
        Cell::small(*fresh.created_nanos.first()?),
        Cell::small(*common.status.first()?),
        Cell::text(common.tenant_id.first()?),
        Cell::text(common.conversation_id.first()?),
        Cell::text(fresh.agent_id.first()?),
        Cell::Bytes(common.head.first()?),
        user,
        session,
        channel,
        run,
        title,
        metadata,
        context,
        forked_from,
        Cell::number(*common.stored_bytes.first()?),
    ])
}
