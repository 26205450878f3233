//! Bulk appends: many callers share one `AppendStream` and each waits for its own result.
//!
//! A task owns the stream. When the stream breaks, every waiting caller gets a transient failure and retries with the
//! same idempotency key. The next command opens a new stream.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use wire::proto::write::v1::append_stream_request::Command;
use wire::proto::write::v1::append_stream_response::Outcome;
use wire::proto::write::v1::{AppendStreamRequest, AppendStreamResponse, CommitResult};

use super::{Failure, Service, Writer};

/// The maximum number of commands in flight.
const WINDOW_MAX: usize = 4_096;

type Answer = Result<CommitResult, Failure>;

struct Job {
    command: Command,
    answer: oneshot::Sender<Answer>,
}

/// A shared stream. Clones use the same stream, which closes when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct AppendStream {
    jobs: mpsc::Sender<Job>,
    window: Arc<Semaphore>,
}

impl AppendStream {
    /// Creates a stream to `service` with at most `window` commands in flight (1 to 4,096).
    #[must_use]
    pub fn to(service: &Service, window: usize) -> Self {
        let window = window.clamp(1, WINDOW_MAX);
        let (jobs, queue) = mpsc::channel(window);
        tokio::spawn(run_streams(service.stream_writer(), queue, window));
        Self { jobs, window: Arc::new(Semaphore::new(window)) }
    }

    /// Sends one command and waits for its result. Commands that are sent one after another are executed in that order.
    ///
    /// # Errors
    /// The service's error, or a transient failure if the stream breaks before the result arrives.
    pub async fn send(&self, command: Command) -> Answer {
        let answer = async {
            let _permit = self.window.acquire().await.ok()?;
            let (answer, answered) = oneshot::channel();
            self.jobs.send(Job { command, answer }).await.ok()?;
            answered.await.ok()
        }
        .await;
        answer.unwrap_or_else(|| Err(Failure::interrupted()))
    }
}

/// Opens a stream when a command arrives and none is open. Ends when the last [`AppendStream`] is dropped.
async fn run_streams(mut writer: Writer, mut queue: mpsc::Receiver<Job>, window: usize) {
    while let Some(first) = queue.recv().await {
        let (requests, outgoing) = mpsc::channel(window);
        let mut open = StreamSlot { requests, waiting: HashMap::new(), sent: 0 };
        open.send(first);
        match writer.append_stream(ReceiverStream::new(outgoing)).await {
            Ok(answers) => open.exchange(&mut queue, answers.into_inner()).await,
            Err(status) => open.fail(&status.into()),
        }
    }
}

/// One open stream and the callers that wait for results.
struct StreamSlot {
    requests: mpsc::Sender<AppendStreamRequest>,
    waiting: HashMap<u64, oneshot::Sender<Answer>>,
    sent: u64,
}

impl StreamSlot {
    async fn exchange(mut self, queue: &mut mpsc::Receiver<Job>, mut answers: Streaming<AppendStreamResponse>) {
        let mut accepts_jobs = true;
        while accepts_jobs || !self.waiting.is_empty() {
            tokio::select! {
                job = queue.recv(), if accepts_jobs => match job {
                    Some(job) => self.send(job),
                    None => accepts_jobs = false,
                },
                answer = answers.message() => match answer {
                    Ok(Some(answer)) => self.complete(answer),
                    Ok(None) => return self.fail(&Failure::interrupted()),
                    Err(status) => return self.fail(&status.into()),
                },
            }
        }
    }

    /// The channel has room for the whole window, and every waiting command holds a permit of the window.
    fn send(&mut self, job: Job) {
        self.sent += 1;
        let request = AppendStreamRequest { correlation_id: self.sent, command: Some(job.command) };
        match self.requests.try_send(request) {
            Ok(()) => drop(self.waiting.insert(self.sent, job.answer)),
            // The receiver is gone if the caller was cancelled.
            Err(_) => drop(job.answer.send(Err(Failure::interrupted()))),
        }
    }

    fn complete(&mut self, answer: AppendStreamResponse) {
        let Some(caller) = self.waiting.remove(&answer.correlation_id) else {
            return;
        };
        drop(caller.send(match answer.outcome {
            Some(Outcome::Result(result)) => Ok(result),
            Some(Outcome::Error(error)) => Err(error.into()),
            None => Err(Failure::interrupted()),
        }));
    }

    fn fail(self, failure: &Failure) {
        for caller in self.waiting.into_values() {
            drop(caller.send(Err(failure.clone())));
        }
    }
}
