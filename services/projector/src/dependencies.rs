//! What a projection needs.

use archive::Archive;
use read_model::ReadModel;
use runtime::failure_log::FailureLog;

use crate::config::ProjectorConfig;
use crate::projection_kind::ProjectionKind;

/// The dependencies of a projection.
#[derive(Debug, Clone)]
pub struct ProjectionDependencies {
    /// The settings; their addresses are not used.
    pub config: ProjectorConfig,
    /// The record and its archive.
    pub archive: Archive,
    /// A handle to the target tables: see [`ReadModel::in_schema`] and [`ReadModel::for_search`].
    pub model: ReadModel,
    /// The projection.
    pub kind: ProjectionKind,
    /// Bounds the lines about partitions that are unavailable, of all projections of the process together.
    pub outages: FailureLog,
}
