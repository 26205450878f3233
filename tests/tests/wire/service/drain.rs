//! A draining role finishes active requests, and rejects new ones with a reason.

use std::error::Error as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use tests::agent::Agent;
use tests::errors::Failure;
use tests::events::{text_of, user};
use tests::eventually::{eventually_true, within};
use tests::program;
use tests::stack::Setup;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::append_stream_request::Command;
use wire::proto::write::v1::append_stream_response::Outcome;

/// Appends until the end; returns the acknowledged numbers.
async fn append_on(agent: Agent, name: String, stop: Arc<AtomicBool>, count: Arc<Mutex<u64>>) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let text = format!("{name}-{number}");
        match agent.try_append(agent.append_request("c", vec![user(text.clone())])).await {
            Ok(_) => {
                acknowledged.push(text);
                *count.lock().unwrap() += 1;
            }
            Err(status) => assert!(is_drain_error(&status), "{status:?}"),
        }
    }
    acknowledged
}

/// Rejected by a draining server, or interrupted with the connection.
fn is_drain_error(status: &Status) -> bool {
    status.code() == Code::Unavailable || status.source().is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn draining_writers_lose_no_acknowledged_commit() {
    let mut stack = Setup::processes(program!()).start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(0)));
    let mut writing = Vec::new();
    for name in 0..4 {
        let (agent, stop, count) = (agent.clone(), Arc::clone(&stop), Arc::clone(&count));
        writing.push(tokio::spawn(append_on(agent, name.to_string(), stop, count)));
    }
    for round in 1..=3_u64 {
        eventually_true("some commits", || *count.lock().unwrap() >= round * 50).await;
        let status = stack.writer.stop().await.expect("a process");
        assert_eq!(status.code(), Some(0));
        stack.writer.start().await;
    }
    stop.store(true, Ordering::Relaxed);
    let mut acknowledged = Vec::new();
    for task in writing {
        acknowledged.extend(within("a caller", task).await.expect("a caller"));
    }
    let events = agent.events(agent.list_request("c")).await;
    let kept: Vec<String> = events.iter().filter_map(text_of).collect();
    for text in &acknowledged {
        assert_eq!(kept.iter().filter(|kept| *kept == text).count(), 1, "{text}");
    }
    for status in [stack.projector.stop().await, stack.gateway.stop().await] {
        assert_eq!(status.expect("a process").code(), Some(0));
    }
}

/// Sends until the stream is closed.
async fn send_on(agent: Agent, commands: mpsc::Sender<proto::AppendStreamRequest>) {
    for correlation_id in 0.. {
        let request = agent.append_request("c", vec![user("x")]);
        let command = Some(Command::AppendEvents(request));
        let request = proto::AppendStreamRequest { correlation_id, command };
        if commands.send(request).await.is_err() {
            return;
        }
    }
}

/// The version of the next answer, or the end of the stream.
async fn next(answers: &mut Streaming<proto::AppendStreamResponse>) -> Result<u64, Failure> {
    loop {
        let answer = within("an answer", answers.next()).await.expect("a word on the end")?;
        match answer.outcome {
            Some(Outcome::Result(result)) => return Ok(result.version),
            // On a busy machine, the turn of a command may not come in time. That is an answer too.
            Some(Outcome::Error(error)) if error.message.contains("this one was not executed") => {}
            outcome => panic!("{outcome:?}"),
        }
    }
}

/// Every accepted command of a stream is answered; then the stream ends with a reason.
#[tokio::test(flavor = "multi_thread")]
async fn open_streams_are_answered_to_the_end() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let (commands, receiver) = mpsc::channel(100);
    let mut answers =
        agent.caller().write().append_stream(ReceiverStream::new(receiver)).await.expect("a stream").into_inner();
    let sending = tokio::spawn(send_on(agent.clone(), commands));
    let mut version = 1;
    for _ in 0..50 {
        version = next(&mut answers).await.expect("an answer");
    }
    let to_the_end = async {
        loop {
            match next(&mut answers).await {
                Ok(later) => version = later,
                Err(end) => return end,
            }
        }
    };
    let (end, _) = tokio::join!(to_the_end, stack.writer.stop());
    let code_and_reason = (end.code, end.reason.as_str());
    assert_eq!(code_and_reason, (Code::Unavailable, "DRAINING"), "{end:?}");
    assert!(end.retry_after.is_some(), "{end:?}");
    within("the end of sending", sending).await.expect("a sender");
    let kept = agent.version("c").await;
    assert_eq!(kept, version, "a command that was taken was not answered");
}
