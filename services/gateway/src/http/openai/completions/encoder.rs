//! Encodes an answer as the chunks of a completion.

use conversations::answer::{Encoder, Unreadable};
use domain::RunPart;
use openai_api::completions::chunks::CompletionChunks;
use runs::sse::DONE;
use runs::{Interruption, Outcome, RunFold};
use serde::Serialize;

use crate::http::openai::errors::OpenAiError;
use crate::http::turns::delivery::{FailureDetail, ended_early, problem_of};

/// Writes the chunks as server-sent events.
pub(super) struct ChunkEncoder(pub(super) CompletionChunks);

impl Encoder for ChunkEncoder {
    fn opening(&mut self) -> Result<String, Unreadable> {
        Ok(frame(&self.0.first()))
    }

    fn part(&mut self, part: RunPart, _: &RunFold) -> Result<String, Unreadable> {
        Ok(self.0.push(part.kind).iter().map(frame).collect())
    }

    /// The last chunks and `[DONE]`, or an error.
    fn end(&mut self, outcome: &Outcome, fold: &RunFold) -> String {
        match problem_of(outcome, None, FailureDetail::Message) {
            // Clients take an event with the member `error` for one.
            Some(problem) => frame(&OpenAiError::from(&problem)),
            None => self.0.last(outcome, &fold.facts()).iter().map(frame).chain([DONE.to_owned()]).collect(),
        }
    }

    fn interrupted(&mut self, _: Interruption) -> String {
        frame(&OpenAiError::from(&ended_early(None)))
    }
}

/// One server-sent event.
fn frame(content: &impl Serialize) -> String {
    // A struct of texts and numbers always serializes.
    let json = serde_json::to_string(content).unwrap_or_default();
    format!("data: {json}\n\n")
}
