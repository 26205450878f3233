//! Creates and appends over one stream.
//!
//! The commands of one conversation are executed in their order: each enters the queue before the next is read. A client that
//! does not read its responses must wait; it does not hold the turn of a conversation meanwhile.

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
use crate::commit::commit;
use crate::queue::QueueTicket;
use crate::request::Caller;
use crate::{Intent, Writer, problem};

pub(super) type Responses = ReceiverStream<Result<proto::AppendStreamResponse, Status>>;

#[derive(Debug, Clone)]
pub(crate) struct StreamSettings {
    /// Maximum number of commands of one stream that are executed or whose responses are unread.
    pub(crate) commands_max: usize,
    /// After its cancellation, streams accept no more commands, answer the accepted ones, and end.
    pub(crate) drain: CancellationToken,
}

pub(super) fn handle(
    writer: &Writer,
    settings: &StreamSettings,
    request: Request<Streaming<proto::AppendStreamRequest>>,
) -> Response<Responses> {
    let caller = Caller::from_metadata(request.metadata());
    let (sender, responses) = mpsc::channel(settings.commands_max);
    let stream = Stream { writer: writer.clone(), caller, responses: sender, settings: settings.clone() };
    tokio::spawn(stream.serve(request.into_inner()));
    Response::new(ReceiverStream::new(responses))
}

type Permit = mpsc::OwnedPermit<Result<proto::AppendStreamResponse, Status>>;

struct Stream {
    writer: Writer,
    caller: Caller,
    responses: mpsc::Sender<Result<proto::AppendStreamResponse, Status>>,
    settings: StreamSettings,
}

impl Stream {
    /// Reads commands until the client ends, the transport fails, or the service drains.
    async fn serve(self, mut commands: Streaming<proto::AppendStreamRequest>) {
        loop {
            // The permit for the response is taken before the command is read, so that a command with the turn of a
            // conversation never waits for a client that does not read.
            let Ok(permit) = self.responses.clone().reserve_owned().await else {
                return;
            };
            let command = tokio::select! {
                command = commands.message() => command,
                () = self.settings.drain.cancelled() => {
                    drop(permit);
                    return self.end_drained().await;
                }
            };
            match command {
                Ok(Some(command)) => self.execute(command, permit).await,
                Ok(None) => return,
                Err(status) => return drop(permit.send(Err(status))),
            }
        }
    }

    async fn execute(&self, command: proto::AppendStreamRequest, permit: Permit) {
        let id = command.correlation_id;
        match self.enqueue(command).await {
            Err(problem) => drop(permit.send(Ok(response(id, Err(problem))))),
            Ok((intent, ticket)) => {
                let writer = self.writer.clone();
                tokio::spawn(async move {
                    let outcome = commit(&writer, intent, ticket).await;
                    permit.send(Ok(response(id, outcome)));
                });
            }
        }
    }

    /// Ends the stream when all accepted commands are answered: then all permits are free.
    async fn end_drained(&self) {
        if let Ok(mut permits) = self.responses.reserve_many(self.settings.commands_max).await
            && let Some(permit) = permits.next()
        {
            permit.send(Err(draining().into()));
        }
    }

    async fn enqueue(&self, command: proto::AppendStreamRequest) -> Result<(Intent, QueueTicket), Problem> {
        let intent = match command.command {
            Some(Command::CreateConversation(request)) => {
                create_conversation::intent_of(&self.writer, &self.caller, request).await?
            }
            Some(Command::AppendEvents(request)) => {
                append_events::intent_of(&self.writer, &self.caller, request).await?
            }
            None => return Err(missing_command()),
        };
        let ticket = self.writer.queues.enter(&intent.key);
        Ok((intent, ticket.map_err(problem::from_queue_full)?))
    }
}

fn response(correlation_id: u64, outcome: Result<proto::CommitResult, Problem>) -> proto::AppendStreamResponse {
    let outcome = match outcome {
        Ok(result) => Outcome::Result(result),
        Err(problem) => Outcome::Error(command_error(&problem)),
    };
    proto::AppendStreamResponse { correlation_id, outcome: Some(outcome) }
}

fn command_error(problem: &Problem) -> proto::CommandError {
    let retry_after_ms = problem.retry_delay().map_or(0, |delay| delay.as_millis());
    proto::CommandError {
        code: u32::try_from(i32::from(problem.reason().code())).unwrap_or_default(),
        reason: problem.reason_name().to_owned(),
        message: problem.message().to_owned(),
        field: problem.field().map(ToString::to_string).unwrap_or_default(),
        metadata: problem.metadata().clone().into_iter().collect(),
        retry_after_ms: u64::try_from(retry_after_ms).unwrap_or(u64::MAX),
    }
}

fn missing_command() -> Problem {
    Violation::new(ViolationReason::Missing, "is required: set create_conversation or append_events")
        .within("command")
        .into()
}

fn draining() -> Problem {
    let message = "this writer is shutting down: open a new stream";
    Problem::new(Reason::Draining, message).retry_after(problem::RETRY_AFTER)
}
