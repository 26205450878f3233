//! Streams a completion to its client. The model stops when the client goes away.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use domain::RunPartKind;
use futures::StreamExt as _;
use futures::stream::{BoxStream, unfold};
use runs::sse::{DONE, KEEP_ALIVE};
use runtime::http::{DrainSignal, HttpProblem, StreamSlot};
use serde::Serialize;
use tokio::time::sleep;

use super::chunks::{ChunkHead, CompletionChunks};
use super::failure::{ended_early, problem_of};
use crate::http::openai::errors::OpenAiError;
use crate::http::sse;
use crate::http::turns::answer_stream::HEARTBEAT;
use conversations::generation::FollowItem;

/// A stream of chunks. It ends with `[DONE]`, or with an error.
pub(super) struct CompletionStream {
    pub(super) head: ChunkHead,
    /// The parts of the answer, from the first.
    pub(super) parts: BoxStream<'static, FollowItem>,
}

struct Frames {
    chunks: CompletionChunks,
    parts: BoxStream<'static, FollowItem>,
    draining: DrainSignal,
    waiting: VecDeque<String>,
    is_over: bool,
}

impl CompletionStream {
    /// The response: a stream, which holds its slot until it ends.
    pub(super) fn respond(self, open: StreamSlot) -> Response {
        let chunks = CompletionChunks::new(self.head);
        let frames = Frames {
            waiting: VecDeque::from([frame(&chunks.first())]),
            chunks,
            parts: self.parts,
            draining: open.drain(),
            is_over: false,
        };
        let texts = unfold(frames, async |mut frames| {
            let text = frames.next().await?;
            Some((Ok::<_, Infallible>(Bytes::from(text)), frames))
        });
        open.respond(sse::response(Body::from_stream(texts)))
    }
}

impl Frames {
    /// The next text; `None`: the stream has ended.
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(text) = self.waiting.pop_front() {
                return Some(text);
            }
            if self.is_over {
                return None;
            }
            tokio::select! {
                biased;
                () = self.draining.begun() => self.fail(&ended_early()),
                followed = self.parts.next() => match followed {
                    Some(FollowItem::Part(part)) => self.push(part.kind),
                    Some(FollowItem::Gone) | None => self.fail(&ended_early()),
                },
                () = sleep(HEARTBEAT) => return Some(KEEP_ALIVE.to_owned()),
            }
        }
    }

    fn push(&mut self, part: RunPartKind) {
        let RunPartKind::RunEnded(end) = part else {
            let chunks = self.chunks.push(part);
            self.waiting.extend(chunks.iter().map(frame));
            return;
        };
        if let Some(problem) = problem_of(&end) {
            self.fail(&problem);
        } else {
            self.is_over = true;
            self.waiting.push_back(DONE.to_owned());
        }
    }

    /// Ends the stream with an error. Clients take an event with the member `error` for one.
    fn fail(&mut self, problem: &HttpProblem) {
        self.is_over = true;
        self.waiting.push_back(frame(&OpenAiError::from(problem)));
    }
}

/// One server-sent event.
fn frame(content: &impl Serialize) -> String {
    // A struct of texts and numbers always serializes.
    let json = serde_json::to_string(content).unwrap_or_default();
    format!("data: {json}\n\n")
}
