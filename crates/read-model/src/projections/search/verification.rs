//! Compares the documents of a conversation with the rows of its events, and repairs them. Rows are compared with the record by
//! [`crate::projections::conversations::verification`].

use std::collections::BTreeMap;

use domain::{AgentId, ConversationKey};
use search::TermKey;
use sqlx::Executor as _;
use sqlx::postgres::PgConnection;

use super::agents::{Settings, settings_of};
use super::document_row::DocumentRow;
use super::keys::term_keys;
use super::rows::{Documents, Source};
use super::stored::StoredDocument;
use super::{blocks, stored};
use crate::arguments::{arguments, bind, bind_key, execute, signed};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::projections::search_lock::LOCK_SHARED;
use crate::row::Columns;

/// Number of events of a page.
const EVENTS_PER_PAGE: u32 = 500;

/// What happens to differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Differences {
    /// They are counted.
    Count,
    /// They are counted and repaired.
    Repair,
}

/// The documents of a conversation, compared with its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DocumentsState {
    /// The number of documents that are right.
    pub correct: u64,
    /// The number of documents that are missing or different, or that their block hides.
    pub wrong: u64,
    /// The number of documents without an event.
    pub unfounded: u64,
}

/// Documents by version.
type Found = BTreeMap<u64, StoredDocument>;

/// What the documents of a conversation are computed with, and how far they are.
struct Page<'p> {
    key: &'p ConversationKey,
    differences: Differences,
    after: u64,
    title: Option<DocumentRow>,
}

/// Compares the documents of a conversation with its events. `None`: there is nothing to compare, because the conversation has no
/// row, is erased, or is not indexed yet.
///
/// # Errors
/// [`ReadModelError`].
pub async fn compare_documents(
    model: &ReadModel,
    key: &ConversationKey,
    differences: Differences,
) -> Result<Option<DocumentsState>, ReadModelError> {
    let mut page = Page { key, differences, after: 0, title: None };
    let mut state = DocumentsState::default();
    loop {
        let work = async |connection: &mut PgConnection| page.next(connection, &mut state).await;
        match model.transaction(Durability::Durable, work).await? {
            Progress::Page => {}
            Progress::End => return Ok(Some(state)),
            Progress::NotIndexed => return Ok(None),
        }
    }
}

enum Progress {
    Page,
    End,
    NotIndexed,
}

impl Page<'_> {
    async fn next(
        &mut self,
        connection: &mut PgConnection,
        state: &mut DocumentsState,
    ) -> Result<Progress, ReadModelError> {
        connection.execute(LOCK_SHARED).await?;
        let Some((term_key, settings)) = self.source(connection).await? else {
            return Ok(Progress::NotIndexed);
        };
        let mut documents = Documents::default();
        let arguments = bind(bind(bind_key(self.key), signed(self.after)), i64::from(EVENTS_PER_PAGE));
        let query = sqlx::query_with(include_str!("events_of_conversation.sql"), arguments);
        let events = query.fetch_all(&mut *connection).await?;
        for row in &events {
            let id = self.key.conversation.as_str();
            let columns = Columns::new(row, &self.key.tenant, id);
            if let Some(event) = columns.recorded_event()?.filter(|_| settings.is_enabled) {
                let source = Source { term_key: &term_key, settings: &settings, key: self.key, partition: None };
                documents.add(source, &event);
            }
        }
        let is_end = events.len() < usize::try_from(EVENTS_PER_PAGE).unwrap_or(usize::MAX);
        let last = match events.last() {
            Some(row) if !is_end => Columns::new(row, &self.key.tenant, "?").unsigned(0, "version")?,
            Some(_) | None => i64::MAX.unsigned_abs(),
        };
        if let Some(title) = documents.titles.remove(self.key) {
            self.title = title;
        }
        let mut expected = documents.events;
        if is_end {
            expected.extend(self.title.take());
        }
        self.compare(connection, expected, last, state).await?;
        self.after = last;
        Ok(if is_end { Progress::End } else { Progress::Page })
    }

    /// The key and the settings of the conversation; `None`: it is not indexed completely.
    async fn source(&self, connection: &mut PgConnection) -> Result<Option<(TermKey, Settings)>, ReadModelError> {
        let sql = include_str!("indexed_conversation.sql");
        let query = sqlx::query_with(sql, bind_key(self.key));
        let rows = query.fetch_all(&mut *connection).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let columns = Columns::new(row, &self.key.tenant, self.key.conversation.as_str());
        let agent_id: &str = columns.get(0, "agent_id")?;
        let agent = (self.key.tenant.clone(), AgentId::parse(agent_id).map_err(|_| columns.corrupt("agent_id"))?);
        let mut settings = settings_of(connection, [agent.clone()].into()).await?;
        let mut keys = term_keys(connection, [self.key.tenant.clone()].into()).await?;
        Ok(keys.remove(&self.key.tenant).zip(settings.remove(&agent)))
    }

    /// Compares documents with those of the versions after the previous page. The title is compared on the last page.
    async fn compare(
        &self,
        connection: &mut PgConnection,
        mut expected: Vec<DocumentRow>,
        last: u64,
        state: &mut DocumentsState,
    ) -> Result<(), ReadModelError> {
        let mut found = self.found(connection, last).await?;
        expected.retain(|row| {
            let stored = found.remove(&row.version);
            let is_correct = stored.is_some_and(|stored| stored.is(row));
            *if is_correct { &mut state.correct } else { &mut state.wrong } += 1;
            !is_correct
        });
        state.unfounded += u64::try_from(found.len()).unwrap_or(u64::MAX);
        if self.differences == Differences::Repair {
            let wrong: Vec<&DocumentRow> = expected.iter().collect();
            stored::delete(connection, &wrong).await?;
            blocks::write(connection, wrong).await?;
            let versions: Vec<i64> = found.keys().map(|version| signed(*version)).collect();
            let arguments = bind(bind_key(self.key), versions);
            execute(connection, include_str!("delete_unfounded.sql"), arguments).await?;
        }
        Ok(())
    }

    async fn found(&self, connection: &mut PgConnection, last: u64) -> Result<Found, ReadModelError> {
        let is_end = last == i64::MAX.unsigned_abs();
        let (tenant, id) = (self.key.tenant.as_str(), self.key.conversation.as_str());
        let arguments = arguments![tenant, id, signed(self.after), signed(last), is_end];
        let sql = include_str!("documents_of_conversation.sql");
        let rows = sqlx::query_with(sql, arguments).fetch_all(connection).await?;
        let documents = rows.iter().map(|row| {
            let columns = Columns::new(row, &self.key.tenant, id);
            Ok((columns.unsigned(0, "version")?, StoredDocument::read(row)?))
        });
        documents.collect()
    }
}
