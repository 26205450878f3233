//! Which history, as arguments.

use std::path::PathBuf;

use wire::proto::history::v1::HistoryKey;

use crate::commands::input_file;

/// Most bytes of a file of variables: more than a call may have.
const VARIABLES_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Where a history's key comes from.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Keyed {
    /// The agent.
    #[arg(long, env = "HANSARD_AGENT", hide_env_values = true)]
    agent: String,
    /// Keeps histories of one agent apart that would have the same key.
    #[arg(long, default_value = "")]
    namespace: String,
    /// The template or literal that comes first.
    #[arg(long)]
    template: Option<String>,
    /// A template or literal that comes next; may be given several times, in order.
    #[arg(long = "candidate", value_name = "TEMPLATE")]
    candidates: Vec<String>,
    /// A file with what templates may name: a JSON object.
    #[arg(long, value_name = "FILE")]
    variables: Option<PathBuf>,
}

impl Keyed {
    pub(super) fn key(self) -> anyhow::Result<HistoryKey> {
        let variables = self.variables.as_deref();
        let variables = variables.map(|file| input_file::text(file, VARIABLES_FILE_BYTES_MAX));
        Ok(HistoryKey {
            agent_id: self.agent,
            namespace: self.namespace,
            history_key_template: self.template.unwrap_or_default(),
            history_key_candidates: self.candidates,
            variables_json: variables.transpose()?.unwrap_or_default(),
        })
    }
}
