//! Imports of real conversations with `hansard import`.

use serde_json::Value;
use wire::proto::operate::v1::Scope;

use crate::agent::Agent;
use crate::chitchat::DATASET;
use crate::program::Program;
use crate::stack::Stack;

/// Imports the first conversations of the chitchat data set; returns the summary of the command.
///
/// # Panics
/// When the command fails.
pub async fn chitchat(program: &Program, stack: &Stack, agent: &Agent, limit: usize) -> Value {
    let operator = stack.operator().await;
    let token = operator.token(&[Scope::Append], "").await;
    let variables = [
        ("HANSARD_TOKEN".to_owned(), token.secret),
        ("HANSARD_WRITER_URL".to_owned(), stack.writer.grpc_url()),
        ("HANSARD_AGENT".to_owned(), agent.id().to_owned()),
    ];
    let arguments = ["import", DATASET, "--json", "--limit", &limit.to_string()];
    let ended = program.run(arguments, &variables).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).expect("a summary")
}
