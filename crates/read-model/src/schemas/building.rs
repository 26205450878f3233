//! A schema that is being made.

use sqlx::Executor as _;
use sqlx::postgres::PgConnection;

use super::list::Phase;
use super::structure::{Tables, make_index, missing_indexes};
use crate::error::ReadModelError;
use crate::live::SchemaName;
use crate::model::ReadModel;

const SET_PHASE: &str = "UPDATE hansard.schema SET phase = $2 WHERE name = $1";
/// What was left out is gone from the disk, and plans know how much there is.
const TIDY: &str = "VACUUM (ANALYZE) conversation, event";
/// How often the list of missing indexes is asked for: somebody else may be making one of them.
const INDEX_ROUNDS_MAX: usize = 10;

/// A schema that is being made, beside the live one whose structure it has.
#[derive(Debug)]
pub struct Building {
    model: ReadModel,
    name: SchemaName,
    live: SchemaName,
    phase: Phase,
}

impl Building {
    pub(super) fn new(model: &ReadModel, name: SchemaName, phase: Phase, live: SchemaName) -> Self {
        Self {
            model: model.in_schema(name),
            name,
            live,
            phase,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> SchemaName {
        self.name
    }

    /// How far it is made.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The live schema beside it.
    #[must_use]
    pub fn live(&self) -> SchemaName {
        self.live
    }

    /// The read models in it.
    #[must_use]
    pub fn model(&self) -> &ReadModel {
        &self.model
    }

    /// Makes rows of all that was copied: once, when all of the record up to some place is there. Conversations of which
    /// something is missing are parked, and those that were erased meanwhile go.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`]: nothing has changed then.
    pub async fn place(&mut self) -> Result<(), ReadModelError> {
        if self.phase != Phase::Copying {
            return Ok(());
        }
        let place = async |connection: &mut PgConnection| {
            for statement in [
                "BEGIN",
                include_str!("out_of_place.sql"),
                include_str!("park_out_of_place.sql"),
                include_str!("leave_out_events.sql"),
                include_str!("place_conversations.sql"),
                include_str!("place_digests.sql"),
                "DROP TABLE conversation_change",
            ] {
                connection.execute(statement).await?;
            }
            self.set_phase(connection, Phase::Indexing).await?;
            connection.execute("COMMIT").await?;
            Ok(())
        };
        self.model.at_leisure(place).await?;
        self.phase = Phase::Indexing;
        Ok(())
    }

    /// Makes the indexes of the large tables, telling each by its name before it is begun.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`]: what is made stays.
    pub async fn index(&mut self, mut tell: impl FnMut(&str)) -> Result<(), ReadModelError> {
        if self.phase != Phase::Indexing {
            return Ok(());
        }
        let index = async |connection: &mut PgConnection| {
            for _ in 0..INDEX_ROUNDS_MAX {
                let missing =
                    missing_indexes(connection, self.live, self.name, Tables::Bulk).await?;
                if missing.is_empty() {
                    connection.execute(TIDY).await?;
                    return self.set_phase(connection, Phase::Following).await;
                }
                for index in missing {
                    tell(&index.name);
                    make_index(connection, index).await?;
                }
            }
            Err(ReadModelError::unavailable("indexes are still missing"))
        };
        self.model.at_leisure(index).await?;
        self.phase = Phase::Following;
        Ok(())
    }

    async fn set_phase(
        &self,
        connection: &mut PgConnection,
        phase: Phase,
    ) -> Result<(), ReadModelError> {
        let query = sqlx::query(SET_PHASE)
            .bind(self.name.to_string())
            .bind(phase.as_str());
        query.execute(connection).await?;
        Ok(())
    }
}
