//! Compares the documents of a conversation with the rows of its events, and repairs them. Rows are compared with the record by
//! [`crate::projections::conversations::verification`].

use std::collections::BTreeMap;

use domain::{AgentId, ConversationKey};
use search::TermKey;
use sqlx::postgres::PgConnection;
use sqlx::{Executor as _, Row as _};

use super::agents::{Settings, settings_of};
use super::keys::term_keys;
use super::rows::{DocumentRow, Documents, Source, TITLE_VERSION};
use crate::arguments::{arguments, bind, bind_key, execute, signed};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::pg_timestamp::PgTimestamp;
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
    /// The number of documents that are missing or different.
    pub wrong: u64,
    /// The number of documents without an event.
    pub unfounded: u64,
}

/// Documents without their key: version, time, terms.
type Found = BTreeMap<u64, (PgTimestamp, Vec<i64>)>;

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
    let mut page = Page {
        key,
        differences,
        after: 0,
        title: None,
    };
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
        let arguments = bind(bind_key(self.key), signed(self.after));
        let arguments = bind(arguments, i64::from(EVENTS_PER_PAGE));
        let query = sqlx::query_with(include_str!("events_of_conversation.sql"), arguments);
        let events = query.fetch_all(&mut *connection).await?;
        for row in &events {
            let id = self.key.conversation.as_str();
            let columns = Columns::new(row, &self.key.tenant, id);
            if let Some(event) = columns.recorded_event()?.filter(|_| settings.is_enabled) {
                let source = Source {
                    term_key: &term_key,
                    settings: &settings,
                    key: self.key,
                };
                documents.add(source, &event);
            }
        }
        let is_end = events.len() < usize::try_from(EVENTS_PER_PAGE).unwrap_or(usize::MAX);
        let last = match events.last() {
            Some(row) if !is_end => {
                Columns::new(row, &self.key.tenant, "?").unsigned(0, "version")?
            }
            Some(_) | None => i64::MAX.unsigned_abs(),
        };
        self.take_title(&mut documents);
        if is_end {
            documents.rows.extend(self.title.take());
        }
        self.compare(connection, documents, last, state).await?;
        self.after = last;
        Ok(if is_end {
            Progress::End
        } else {
            Progress::Page
        })
    }

    /// Keeps the title of a page for the last page.
    fn take_title(&mut self, documents: &mut Documents) {
        if !documents.cleared_titles.is_empty() {
            self.title = None;
        }
        let rows = std::mem::take(&mut documents.rows).into_iter();
        let (titles, rows): (Vec<_>, Vec<_>) = rows.partition(|row| row.version == TITLE_VERSION);
        documents.rows = rows;
        self.title = titles.into_iter().next_back().or(self.title.take());
    }

    /// The key and the settings of the conversation; `None`: it is not indexed completely.
    async fn source(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Option<(TermKey, Settings)>, ReadModelError> {
        let sql = include_str!("indexed_conversation.sql");
        let query = sqlx::query_with(sql, bind_key(self.key));
        let rows = query.fetch_all(&mut *connection).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let columns = Columns::new(row, &self.key.tenant, self.key.conversation.as_str());
        let agent: &str = columns.get(0, "agent_id")?;
        let agent = AgentId::parse(agent).map_err(|_| columns.corrupt("agent_id"))?;
        let agent = (self.key.tenant.clone(), agent);
        let mut settings = settings_of(connection, [agent.clone()].into()).await?;
        let mut keys = term_keys(connection, [self.key.tenant.clone()].into()).await?;
        Ok(keys.remove(&self.key.tenant).zip(settings.remove(&agent)))
    }

    /// Compares documents with those of the versions after the previous page. The title is compared on the last page.
    async fn compare(
        &self,
        connection: &mut PgConnection,
        mut expected: Documents,
        last: u64,
        state: &mut DocumentsState,
    ) -> Result<(), ReadModelError> {
        let mut found = self.found(connection, last).await?;
        expected.rows.retain(|row| {
            let time = PgTimestamp::from_time(row.recorded_at);
            let is_correct = found
                .remove(&row.version)
                .is_some_and(|(at, terms)| at == time && terms == row.terms);
            *if is_correct {
                &mut state.correct
            } else {
                &mut state.wrong
            } += 1;
            !is_correct
        });
        state.unfounded += u64::try_from(found.len()).unwrap_or(u64::MAX);
        if self.differences == Differences::Repair {
            expected.write(&mut *connection).await?;
            let versions: Vec<i64> = found.keys().map(|version| signed(*version)).collect();
            let arguments = bind(bind_key(self.key), versions);
            execute(connection, include_str!("delete_versions.sql"), arguments).await?;
        }
        Ok(())
    }

    async fn found(
        &self,
        connection: &mut PgConnection,
        last: u64,
    ) -> Result<Found, ReadModelError> {
        let is_end = last == i64::MAX.unsigned_abs();
        let (tenant, id) = (self.key.tenant.as_str(), self.key.conversation.as_str());
        let arguments = arguments![tenant, id, signed(self.after), signed(last), is_end];
        let sql = include_str!("documents_of_conversation.sql");
        let rows = sqlx::query_with(sql, arguments)
            .fetch_all(connection)
            .await?;
        let documents = rows.iter().map(|row| {
            let columns = Columns::new(row, &self.key.tenant, id);
            let document: (PgTimestamp, Vec<i64>) = (row.try_get(1)?, row.try_get(2)?);
            Ok((columns.unsigned(0, "version")?, document))
        });
        documents.collect()
    }
}
