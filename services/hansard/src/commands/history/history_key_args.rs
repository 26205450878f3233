//! The arguments of a history key.

use std::path::PathBuf;

use wire::proto::history::v1::HistoryKey;

use crate::commands::input_file;

/// The maximum size of a file of variables; the limit of a call is lower.
const VARIABLES_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The arguments from which the service computes a history's key.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct HistoryKeyArgs {
    /// Id of the agent.
    #[arg(long, env = "HANSARD_AGENT", hide_env_values = true)]
    agent: String,
    /// Namespace that separates histories of one agent with the same key.
    #[arg(long, default_value = "")]
    namespace: String,
    /// Template or literal that is tried first.
    #[arg(long)]
    template: Option<String>,
    /// Template or literal that is tried next. Repeat the option for several, in order.
    #[arg(long = "candidate", value_name = "TEMPLATE")]
    candidates: Vec<String>,
    /// File with the variables of the templates: a JSON object.
    #[arg(long, value_name = "FILE")]
    variables: Option<PathBuf>,
}

impl HistoryKeyArgs {
    pub(super) fn key(self) -> anyhow::Result<HistoryKey> {
        let variables = self.variables.as_deref().map(|file| input_file::text(file, VARIABLES_FILE_BYTES_MAX));
        Ok(HistoryKey {
            agent_id: self.agent,
            namespace: self.namespace,
            history_key_template: self.template.unwrap_or_default(),
            history_key_candidates: self.candidates,
            variables_json: variables.transpose()?.unwrap_or_default(),
        })
    }
}
