//! Server-sent events, as a client reads them.

use futures::StreamExt as _;
use futures::stream::BoxStream;
use serde_json::Value;
use tests::eventually::within;
use tests::http_client::HttpClient;

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    /// Of an answer: the run and the completed part, `<run>:<part>`. Of a live stream: the version.
    pub(crate) id: Option<String>,
    /// The field `event`, if it has one.
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

/// A stream of events.
pub(crate) struct EventStream {
    pub(crate) status: u16,
    pub(crate) run: String,
    body: BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    text: String,
}

impl Event {
    /// The number of the part in its id.
    pub(crate) fn part(&self) -> Option<u64> {
        let (_, part) = self.id.as_deref()?.split_once(':')?;
        part.parse().ok()
    }
}

impl EventStream {
    /// Opens the stream.
    pub(crate) async fn open(request: reqwest::RequestBuilder) -> Self {
        let answer = within("a stream", request.send()).await.unwrap();
        let run = answer.headers().get("x-run-id");
        Self {
            status: answer.status().as_u16(),
            run: run.map_or("", |run| run.to_str().unwrap()).to_owned(),
            body: answer.bytes_stream().boxed(),
            text: String::new(),
        }
    }

    /// The next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (parse(event), rest.to_owned());
                self.text = rest;
                match event {
                    Some(event) => return Some(event),
                    None => continue,
                }
            }
            let bytes = within("more of a stream", self.body.next()).await?.ok()?;
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// All remaining events.
    pub(crate) async fn rest(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

/// `None` for a comment.
fn parse(event: &str) -> Option<Event> {
    let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
    Some(Event {
        id: field("id: ").map(str::to_owned),
        name: field("event: ").map(str::to_owned),
        data: field("data: ")?.to_owned(),
    })
}

/// The text of the events.
pub(crate) fn text(events: &[Event]) -> String {
    chunks(events)
        .iter()
        .filter(|chunk| chunk["type"] == "text-delta")
        .map(|chunk| chunk["delta"].as_str().unwrap())
        .collect()
}

/// The chunks; the last event must be `[DONE]`.
pub(crate) fn chunks(events: &[Event]) -> Vec<Value> {
    let (done, chunks) = events.split_last().unwrap();
    assert_eq!(done.data, "[DONE]");
    let chunk = |event: &Event| serde_json::from_str(&event.data).unwrap();
    chunks.iter().map(chunk).collect()
}

/// The kinds of the chunks.
pub(crate) fn kinds(events: &[Event]) -> Vec<String> {
    let chunks = chunks(events).into_iter();
    chunks.map(|chunk| chunk["type"].as_str().unwrap().to_owned()).collect()
}

/// Sends a message, and receives the whole answer.
pub(crate) async fn ask(client: &HttpClient, chat: &str, body: &Value) -> Vec<Event> {
    let mut stream = say(client, chat, body).await;
    let events = stream.rest().await;
    assert_eq!(stream.status, 200, "{events:?}");
    events
}

/// Sends a message.
pub(crate) async fn say(client: &HttpClient, chat: &str, body: &Value) -> EventStream {
    let path = format!("/api/chats/{chat}/messages");
    EventStream::open(client.request(reqwest::Method::POST, &path).json(body)).await
}

/// Opens the stream of the current answer, after an event.
pub(crate) async fn listen(client: &HttpClient, chat: &str, after: Option<&str>) -> EventStream {
    let request = client.request(reqwest::Method::GET, &format!("/api/chats/{chat}/stream"));
    let request = match after {
        Some(after) => request.header("last-event-id", after),
        None => request,
    };
    EventStream::open(request).await
}
