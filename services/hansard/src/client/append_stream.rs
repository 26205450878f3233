//! Writing in volume: many callers share one `AppendStream`, each waits for its own answer.
//!
//! A task owns the stream. When it breaks, every caller that waits gets a transient failure and sends again under the
//! same idempotency key; the next command opens a new stream.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use wire::proto::write::v1::append_stream_request::Command;
use wire::proto::write::v1::append_stream_response::Outcome;
use wire::proto::write::v1::{AppendStreamRequest, AppendStreamResponse, CommitResult};

use super::{Failure, Service, Writer};

/// Most commands that wait for their answers at once.
pub const WINDOW_MAX: usize = 4_096;

type Answer = Result<CommitResult, Failure>;

struct Job {
    command: Command,
    answer: oneshot::Sender<Answer>,
}

/// A shared stream; clones write into the same one. It closes with the last clone.
#[derive(Clone, Debug)]
pub struct AppendStream {
    jobs: mpsc::Sender<Job>,
    window: Arc<Semaphore>,
}

impl AppendStream {
    /// A stream to `service` on which at most `window` commands (1 to [`WINDOW_MAX`]) wait for their answers.
    #[must_use]
    pub fn to(service: &Service, window: usize) -> Self {
        let window = window.clamp(1, WINDOW_MAX);
        let (jobs, queue) = mpsc::channel(window);
        tokio::spawn(carry(service.stream_writer(), queue, window));
        Self {
            jobs,
            window: Arc::new(Semaphore::new(window)),
        }
    }

    /// Sends one command and waits for its answer. Commands sent one after the other are carried out in that order.
    ///
    /// # Errors
    /// What the service says, or a transient failure when the stream breaks first.
    pub async fn send(&self, command: Command) -> Answer {
        let _permit = self
            .window
            .acquire()
            .await
            .map_err(|_| Failure::interrupted())?;
        let (answer, answered) = oneshot::channel();
        let job = Job { command, answer };
        self.jobs
            .send(job)
            .await
            .map_err(|_| Failure::interrupted())?;
        answered
            .await
            .unwrap_or_else(|_| Err(Failure::interrupted()))
    }
}

/// Opens a stream whenever there is work and none is open. Ends with the last [`AppendStream`].
async fn carry(mut writer: Writer, mut queue: mpsc::Receiver<Job>, window: usize) {
    while let Some(first) = queue.recv().await {
        let (requests, outgoing) = mpsc::channel(window);
        let mut carried = Carried {
            requests,
            waiting: HashMap::new(),
            sent: 0,
        };
        carried.send(first);
        match writer.append_stream(ReceiverStream::new(outgoing)).await {
            Ok(answers) => carried.exchange(&mut queue, answers.into_inner()).await,
            Err(status) => carried.fail(&status.into()),
        }
    }
}

/// One open stream and those who wait for its answers.
struct Carried {
    requests: mpsc::Sender<AppendStreamRequest>,
    waiting: HashMap<u64, oneshot::Sender<Answer>>,
    sent: u64,
}

impl Carried {
    async fn exchange(
        mut self,
        queue: &mut mpsc::Receiver<Job>,
        mut answers: Streaming<AppendStreamResponse>,
    ) {
        let mut open = true;
        while open || !self.waiting.is_empty() {
            tokio::select! {
                job = queue.recv(), if open => match job {
                    Some(job) => self.send(job),
                    None => open = false,
                },
                answer = answers.message() => match answer {
                    Ok(Some(answer)) => self.settle(answer),
                    Ok(None) => return self.fail(&Failure::interrupted()),
                    Err(status) => return self.fail(&status.into()),
                },
            }
        }
    }

    /// The channel has room for the whole window, and every command that waits holds a place of the window.
    fn send(&mut self, job: Job) {
        self.sent += 1;
        let request = AppendStreamRequest {
            correlation_id: self.sent,
            command: Some(job.command),
        };
        match self.requests.try_send(request) {
            Ok(()) => drop(self.waiting.insert(self.sent, job.answer)),
            // Nobody minds an answer when the caller has gone.
            Err(_) => drop(job.answer.send(Err(Failure::interrupted()))),
        }
    }

    fn settle(&mut self, answer: AppendStreamResponse) {
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
