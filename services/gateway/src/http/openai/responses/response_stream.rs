//! Delivers an answer: as a stream of events, or whole. A recorded answer continues without its client.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use domain::RunPart;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, unfold};
use runs::sse::KEEP_ALIVE;
use runtime::http::{DrainSignal, HttpProblem, StreamSlot};
use tokio::time::sleep;

use super::object::ResponseObject;
use super::stream::ResponseEvents;
use super::stream::event::ResponseEvent;
use crate::http::openai::chat::completions::failure::{ended_early, problem_of};
use crate::http::sse;
use crate::http::turns::answer_stream::HEARTBEAT;
use conversations::generation::FollowItem;

/// An answer that is on its way.
pub(super) struct Answer {
    /// Makes events of the parts.
    pub(super) events: ResponseEvents,
    /// The parts of the run, from the first.
    pub(super) parts: BoxStream<'static, FollowItem>,
    /// Completes when the output is recorded; then the last event is sent.
    pub(super) finished: BoxFuture<'static, ()>,
}

impl Answer {
    /// The whole response.
    ///
    /// # Errors
    /// 502 `RUN_FAILED` if the model failed; 503 if the run or this gateway ended early.
    pub(super) async fn whole(mut self, draining: DrainSignal) -> Result<ResponseObject, HttpProblem> {
        loop {
            if let Some(end) = self.events.end() {
                if let Some(problem) = problem_of(end) {
                    return Err(problem);
                }
                self.finished.await;
                return Ok(self.events.response());
            }
            let followed = tokio::select! {
                biased;
                () = draining.begun() => return Err(ended_early()),
                followed = self.parts.next() => followed,
            };
            let Some(FollowItem::Part(part)) = followed else {
                return Err(ended_early());
            };
            self.events.push(&part).map_err(|_| ended_early())?;
        }
    }

    /// The response: a stream of events with higher numbers than `after`. It holds its slot until it ends.
    pub(super) fn respond(mut self, open: StreamSlot, after: Option<u64>) -> Response {
        let opening = self.events.opening();
        let mut frames =
            Frames { answer: self, draining: open.drain(), after, waiting: VecDeque::new(), is_over: false };
        frames.queue(&opening);
        let texts = unfold(frames, async |mut frames| {
            let text = frames.next().await?;
            Some((Ok::<_, Infallible>(Bytes::from(text)), frames))
        });
        open.respond(sse::response(Body::from_stream(texts)))
    }
}

struct Frames {
    answer: Answer,
    draining: DrainSignal,
    /// The client has the events up to this number.
    after: Option<u64>,
    waiting: VecDeque<String>,
    is_over: bool,
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
            if self.answer.events.end().is_some() {
                (&mut self.answer.finished).await;
                let last = self.answer.events.closing();
                self.close(&last);
                continue;
            }
            tokio::select! {
                biased;
                () = self.draining.begun() => self.interrupt(),
                followed = self.answer.parts.next() => match followed {
                    Some(FollowItem::Part(part)) => self.push(&part),
                    Some(FollowItem::Gone) | None => self.interrupt(),
                },
                () = sleep(HEARTBEAT) => return Some(KEEP_ALIVE.to_owned()),
            }
        }
    }

    fn push(&mut self, part: &RunPart) {
        match self.answer.events.push(part) {
            Ok(events) => self.queue(&events),
            Err(_) => self.interrupt(),
        }
    }

    fn queue(&mut self, events: &[ResponseEvent]) {
        let after = self.after;
        let new = events.iter().filter(|event| after.is_none_or(|after| event.number > after));
        self.waiting.extend(new.map(ResponseEvent::frame));
    }

    fn interrupt(&mut self) {
        let problem = ended_early();
        let last = self.answer.events.interruption(&problem.code, &problem.detail);
        self.close(&last);
    }

    /// The last events are sent in any case: a client that resumes must learn the end.
    fn close(&mut self, last: &[ResponseEvent]) {
        self.is_over = true;
        self.waiting.extend(last.iter().map(ResponseEvent::frame));
    }
}
