//! A schema that a rebuild creates.

use sqlx::Executor as _;
use sqlx::postgres::PgConnection;

use super::list::Phase;
use super::structure::{MadeIndex, NOT_UNIQUE, Tables, make_index, missing_indexes};
use crate::arguments::{arguments, execute};
use crate::error::ReadModelError;
use crate::live::SchemaName;
use crate::model::ReadModel;

const SET_PHASE: &str = "UPDATE hansard.schema SET phase = $2 WHERE name = $1";
/// Frees the space of deleted rows and updates the statistics of the planner.
const TIDY: &str = "VACUUM (ANALYZE) conversation, event";
/// Maximum number of reads of the list of missing indexes: another process may be creating one of them.
const INDEX_ROUNDS_MAX: usize = 10;
/// The index that rejects a commit id that a conversation has twice.
const COMMIT_INDEX: &str = "event_by_commit";

/// A schema that is being built beside the live one, with the same structure.
#[derive(Debug)]
pub struct SchemaBuild {
    model: ReadModel,
    name: SchemaName,
    live: SchemaName,
    phase: Phase,
}

impl SchemaBuild {
    pub(super) fn new(model: &ReadModel, name: SchemaName, phase: Phase, live: SchemaName) -> Self {
        Self { model: model.in_schema(name), name, live, phase }
    }

    /// The name of the schema.
    #[must_use]
    pub fn name(&self) -> SchemaName {
        self.name
    }

    /// The phase of the build.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The live schema.
    #[must_use]
    pub fn live(&self) -> SchemaName {
        self.live
    }

    /// A handle to the schema.
    #[must_use]
    pub fn model(&self) -> &ReadModel {
        &self.model
    }

    /// Computes the rows of conversations from all copied changes, once, when the record is copied up to a checkpoint. Parks
    /// conversations with missing commits, and removes erased ones.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`]: nothing was changed.
    pub async fn build_conversations(&mut self) -> Result<(), ReadModelError> {
        if self.phase != Phase::Copying {
            return Ok(());
        }
        let build = async |connection: &mut PgConnection| {
            for statement in [
                "BEGIN",
                include_str!("incomplete.sql"),
                include_str!("park_incomplete.sql"),
                include_str!("delete_excluded_events.sql"),
                include_str!("delete_excluded_documents.sql"),
                include_str!("insert_conversations.sql"),
                include_str!("compute_digests.sql"),
                "DROP TABLE conversation_change",
            ] {
                connection.execute(statement).await?;
            }
            self.set_phase(connection, Phase::Indexing).await?;
            connection.execute("COMMIT").await?;
            Ok(())
        };
        self.model.without_timeouts(build).await?;
        self.phase = Phase::Indexing;
        Ok(())
    }

    /// Creates the indexes of the large tables. Calls `on_index` with the name of each before it starts. Parks conversations with a
    /// repeated commit id.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`]: finished indexes remain. [`ReadModelError::Refused`]: other rows are not unique.
    pub async fn index(&mut self, mut on_index: impl FnMut(&str)) -> Result<(), ReadModelError> {
        if self.phase != Phase::Indexing {
            return Ok(());
        }
        let index = async |connection: &mut PgConnection| {
            for _ in 0..INDEX_ROUNDS_MAX {
                let missing = missing_indexes(connection, self.live, self.name, Tables::Bulk).await?;
                if missing.is_empty() {
                    connection.execute(TIDY).await?;
                    return self.set_phase(connection, Phase::Following).await;
                }
                for index in missing {
                    on_index(&index.name);
                    let name = index.name.clone();
                    match make_index(connection, index).await? {
                        MadeIndex::Exists => {}
                        MadeIndex::NotUnique if name == COMMIT_INDEX => park_repeated(connection).await?,
                        MadeIndex::NotUnique => {
                            return Err(ReadModelError::Refused { sqlstate: NOT_UNIQUE.to_owned() });
                        }
                    }
                }
            }
            Err(ReadModelError::unavailable("indexes are still missing"))
        };
        self.model.without_timeouts(index).await?;
        self.phase = Phase::Following;
        Ok(())
    }

    async fn set_phase(&self, connection: &mut PgConnection, phase: Phase) -> Result<(), ReadModelError> {
        let arguments = arguments![self.name.to_string(), phase.as_str()];
        execute(connection, SET_PHASE, arguments).await?;
        Ok(())
    }
}

/// Parks the conversations that have two commits with the same id, as the projector does. They are rare, so their rows are removed, and a
/// retry writes those before the second commit.
async fn park_repeated(connection: &mut PgConnection) -> Result<(), ReadModelError> {
    for statement in [
        "BEGIN",
        include_str!("repeated_commits.sql"),
        include_str!("park_repeated.sql"),
        "DELETE FROM event USING repeated WHERE event.tenant_id = repeated.tenant_id
         AND event.conversation_id = repeated.conversation_id",
        "DELETE FROM document USING repeated WHERE document.tenant_id = repeated.tenant_id
         AND document.conversation_id = repeated.conversation_id",
        "DELETE FROM conversation USING repeated WHERE conversation.tenant_id = repeated.tenant_id
         AND conversation.conversation_id = repeated.conversation_id",
        include_str!("compute_digests.sql"),
        "COMMIT",
    ] {
        connection.execute(statement).await?;
    }
    Ok(())
}
