//! Create and append in volume, over one stream.
//!
//! Commands of one conversation are carried out in the order sent: each takes its place in the queue before the next is
//! read. A client that sends without reading its answers is made to wait, and holds nobody else's turn.

use domain::{Violation, ViolationReason};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::append_stream_request::Command;
use wire::proto::write::v1::append_stream_response::Outcome;
use wire::status::{Problem, Reason};

use super::{append_events, create_conversation};
use crate::Writer;
use crate::commit::commit;
use crate::intent::Intent;
use crate::problem;
use crate::queue::Place;
use crate::request::Caller;

/// The answers of a stream.
pub(super) type Responses = ReceiverStream<Result<proto::AppendStreamResponse, Status>>;

/// What streams keep to.
#[derive(Debug, Clone)]
pub struct Streams {
    /// Most commands of one stream that are carried out, or whose answers wait to be read, at once.
    pub commands_max: usize,
    /// Once cancelled, streams take no more commands, answer those that they took, and end.
    pub drain: CancellationToken,
}

pub(super) fn handle(
    writer: &Writer,
    streams: &Streams,
    request: Request<Streaming<proto::AppendStreamRequest>>,
) -> Response<Responses> {
    let caller = Caller::of(request.metadata());
    let (answers, responses) = mpsc::channel(streams.commands_max);
    let stream = Stream {
        writer: writer.clone(),
        caller,
        answers,
        streams: streams.clone(),
    };
    tokio::spawn(stream.serve(request.into_inner()));
    Response::new(ReceiverStream::new(responses))
}

type Room = mpsc::OwnedPermit<Result<proto::AppendStreamResponse, Status>>;

struct Stream {
    writer: Writer,
    caller: Caller,
    answers: mpsc::Sender<Result<proto::AppendStreamResponse, Status>>,
    streams: Streams,
}

impl Stream {
    /// Reads commands until the client ends, the transport fails, or the service drains.
    async fn serve(self, mut commands: Streaming<proto::AppendStreamRequest>) {
        loop {
            // The answer's room is taken before the command is read: an answer never waits for a client that does not
            // read while it holds a conversation's turn.
            let Ok(room) = self.answers.clone().reserve_owned().await else {
                return;
            };
            let command = tokio::select! {
                command = commands.message() => command,
                () = self.streams.drain.cancelled() => {
                    drop(room);
                    return self.end_drained().await;
                }
            };
            match command {
                Ok(Some(command)) => self.take(command, room).await,
                Ok(None) => return,
                Err(status) => return drop(room.send(Err(status))),
            }
        }
    }

    async fn take(&self, command: proto::AppendStreamRequest, room: Room) {
        let id = command.correlation_id;
        match self.accept(command).await {
            Err(problem) => drop(room.send(Ok(answer(id, Err(problem))))),
            Ok((intent, place)) => {
                let writer = self.writer.clone();
                tokio::spawn(async move {
                    let outcome = commit(&writer, intent, place).await;
                    room.send(Ok(answer(id, outcome)));
                });
            }
        }
    }

    /// Ends the stream once every command that it took is answered: all of the room is free again.
    async fn end_drained(&self) {
        if let Ok(mut rooms) = self.answers.reserve_many(self.streams.commands_max).await
            && let Some(room) = rooms.next()
        {
            room.send(Err(draining().into()));
        }
    }

    async fn accept(
        &self,
        command: proto::AppendStreamRequest,
    ) -> Result<(Intent, Place), Problem> {
        let intent = match command.command {
            Some(Command::CreateConversation(request)) => {
                create_conversation::intent_of(&self.writer, &self.caller, request).await?
            }
            Some(Command::AppendEvents(request)) => {
                append_events::intent_of(&self.writer, &self.caller, request).await?
            }
            None => return Err(missing_command()),
        };
        let place = self
            .writer
            .queues
            .enter(&intent.key)
            .map_err(problem::of_queue)?;
        Ok((intent, place))
    }
}

fn answer(
    correlation_id: u64,
    outcome: Result<proto::CommitResult, Problem>,
) -> proto::AppendStreamResponse {
    let outcome = match outcome {
        Ok(result) => Outcome::Result(result),
        Err(problem) => Outcome::Error(error_of(&problem)),
    };
    proto::AppendStreamResponse {
        correlation_id,
        outcome: Some(outcome),
    }
}

fn error_of(problem: &Problem) -> proto::CommandError {
    let retry_after_ms = problem.retry_delay().map_or(0, |delay| delay.as_millis());
    proto::CommandError {
        code: u32::try_from(i32::from(problem.reason().code())).unwrap_or_default(),
        reason: problem.reason().as_str().to_owned(),
        message: problem.message().to_owned(),
        field: problem.field().unwrap_or_default().to_owned(),
        metadata: problem
            .metadata()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        retry_after_ms: u64::try_from(retry_after_ms).unwrap_or(u64::MAX),
    }
}

fn missing_command() -> Problem {
    Violation::new(
        ViolationReason::Missing,
        "is required: set create_conversation or append_events",
    )
    .within("command")
    .into()
}

fn draining() -> Problem {
    Problem::new(Reason::Draining, "this writer is ending: open a new stream")
        .retry_after(problem::RETRY_AFTER)
}
