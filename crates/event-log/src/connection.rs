//! The connection to the servers. Every request ends within its deadline, also while the connection is lost.
//!
//! The client library queues commands while it reconnects, and never answers a request whose connection broke.
//! Here a request is sent only while the connection is up, and it fails as soon as the connection is lost.

pub(crate) mod address;
pub(crate) mod admission;
pub(crate) mod config;
pub(crate) mod consumer;
pub(crate) mod durability;
pub(crate) mod get;
pub(crate) mod known_time;
pub(crate) mod outage;
pub(crate) mod publish;
pub(crate) mod read_limit;
pub(crate) mod reads;
pub(crate) mod tls_files;

use std::error::Error as _;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream;
use async_nats::{Client, ConnectError, ConnectErrorKind, HeaderMap, Message, Request, RequestErrorKind, rustls};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::connection::address::Address;
use crate::connection::admission::{Admission, Admitted};
use crate::connection::config::RecordConfig;
use crate::connection::read_limit::ReadLimits;
use crate::error::Unavailable;

/// Timeout of one attempt to connect.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval of pings on an idle connection. It is closed one interval after two unanswered pings: a frozen server is lost after three.
const PING_INTERVAL: Duration = Duration::from_secs(2);
/// The first delay of all retries of this crate, before jitter.
pub(crate) const RETRY_DELAY_BASE: Duration = Duration::from_millis(4);
/// Maximum delay between two attempts to reconnect. The attempts never end.
const RECONNECT_DELAY_MAX: Duration = Duration::from_secs(1);
/// Messages that a subscription buffers; it drops later ones, and readers detect the gap.
pub(crate) const SUBSCRIPTION_MESSAGES_MAX: usize = 2_048;
/// Interval of checks for a lost connection.
const LINK_TICK: Duration = Duration::from_millis(50);

/// Nobody received the request, as for a publish to a stream that is electing its leader.
pub(crate) const NO_RESPONDERS: Unavailable = Unavailable::new("no server serves JetStream or the stream");

/// "`JetStream` system temporarily unavailable": the stream, or the servers for the creation of streams, have no leader.
pub(crate) const NO_LEADER: u64 = 10_008;

/// A request to a server.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) subject: String,
    pub(crate) headers: Option<HeaderMap>,
    pub(crate) payload: Bytes,
}

/// The error of a reply of the `JetStream` API.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ApiFailure {
    pub(crate) err_code: u64,
    pub(crate) description: String,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) jetstream: jetstream::Context,
    api_prefix: String,
    reconnects: watch::Receiver<u64>,
    pub(crate) read_limits: Arc<ReadLimits>,
    admission: Arc<Admission>,
    monitor: Arc<Monitor>,
}

/// The task that counts connects.
#[derive(Debug)]
struct Monitor(AbortHandle);

impl Drop for Monitor {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    pub(crate) async fn open(config: &RecordConfig) -> Result<Self, Unavailable> {
        let client = timeout(config.request_timeout(), connect(config))
            .await
            .map_err(|_| Unavailable::new("connecting to the servers timed out"))??;
        let mut jetstream = jetstream::with_prefix(client.clone(), &config.api_prefix);
        jetstream.set_timeout(config.request_timeout());
        let (sender, reconnects) = watch::channel(connects(&client));
        let monitor = tokio::spawn(watch_connects(client.clone(), sender)).abort_handle();
        Ok(Self {
            client,
            jetstream,
            api_prefix: config.api_prefix.clone(),
            reconnects,
            read_limits: Arc::default(),
            admission: Arc::default(),
            monitor: Arc::new(Monitor(monitor)),
        })
    }

    /// The same connection for requests that compare the record: they are sent also while it is guarded.
    pub(crate) fn unguarded(&self) -> Self {
        Self {
            client: self.client.clone(),
            jetstream: self.jetstream.clone(),
            api_prefix: self.api_prefix.clone(),
            reconnects: self.reconnects.clone(),
            read_limits: Arc::clone(&self.read_limits),
            admission: Arc::default(),
            monitor: Arc::clone(&self.monitor),
        }
    }

    pub(crate) fn admission(&self) -> &Admission {
        &self.admission
    }

    /// Changes after each reconnect from now on. Requests and subscriptions from before a reconnect are lost.
    pub(crate) fn reconnects(&self) -> watch::Receiver<u64> {
        let mut reconnects = self.reconnects.clone();
        reconnects.mark_unchanged();
        reconnects
    }

    /// Waits until the connection is up and may send requests.
    pub(crate) async fn ready(&self, deadline: Instant) -> Result<(), Unavailable> {
        loop {
            let is_connected = self.client.connection_state() == State::Connected;
            match self.admission.on(self.connects()) {
                Admitted::Yes if is_connected => return Ok(()),
                // While the connection is down, an answer at once would make those who try again spin.
                Admitted::No if is_connected => return Err(Unavailable::DIVERGED),
                Admitted::NotYet if is_connected && Instant::now() >= deadline => {
                    return Err(Unavailable::new("the record is not compared with its rows yet"));
                }
                _ if Instant::now() >= deadline => return Err(Unavailable::new("the connection to NATS is down")),
                Admitted::Yes | Admitted::NotYet | Admitted::No => {}
            }
            sleep(LINK_TICK.min(deadline.saturating_duration_since(Instant::now()))).await;
        }
    }

    /// Sends a request and waits for its one reply. Nothing is sent after the deadline, also by a process that was stopped before it.
    pub(crate) async fn request(&self, outgoing: Outgoing, deadline: Instant) -> Result<Message, Unavailable> {
        self.ready(deadline).await?;
        if Instant::now() >= deadline {
            return Err(Unavailable::new("the request timed out"));
        }
        let sent_on = self.connects();
        let mut request = Request::new().payload(outgoing.payload).timeout(None);
        if let Some(headers) = outgoing.headers {
            request = request.headers(headers);
        }
        let mut reply = pin!(self.client.send_request(outgoing.subject, request));
        loop {
            let wake = deadline.min(Instant::now() + LINK_TICK);
            match timeout_at(wake, &mut reply).await {
                // The client sends a queued request on the next connect, whose record may not be the known one.
                Ok(_) if self.admission.on(self.connects()) != Admitted::Yes => {
                    return Err(Unavailable::new("the connection to NATS was lost"));
                }
                Ok(answer) => return answer.map_err(|error| request_error(error.kind())),
                Err(_) if Instant::now() >= deadline => {
                    return Err(Unavailable::new("the request timed out"));
                }
                Err(_) if self.is_lost(sent_on) => {
                    return Err(Unavailable::new("the connection to NATS was lost"));
                }
                Err(_) => {}
            }
        }
    }

    /// The subject of a request of the `JetStream` API.
    pub(crate) fn api_subject(&self, request: &str) -> String {
        format!("{}.{request}", self.api_prefix)
    }

    /// A request of the `JetStream` API, such as `STREAM.INFO.x`: JSON in, JSON out.
    pub(crate) async fn api<T: DeserializeOwned>(
        &self,
        request: &str,
        body: &(impl Serialize + ?Sized),
        deadline: Instant,
    ) -> Result<T, Unavailable> {
        let payload = serde_json::to_vec(body).map_err(|_| Unavailable::new("a request cannot be encoded"))?.into();
        let outgoing = Outgoing { subject: self.api_subject(request), headers: None, payload };
        let reply = self.request(outgoing, deadline).await?;
        serde_json::from_slice(&reply.payload).map_err(|_| Unavailable::new("a reply cannot be decoded"))
    }

    /// How many times the client has connected.
    pub(crate) fn connects(&self) -> u64 {
        connects(&self.client)
    }

    /// Whether the requests that were sent on the connection of this number have no answer any more.
    pub(crate) fn is_lost(&self, sent_on: u64) -> bool {
        self.connects() != sent_on || self.client.connection_state() != State::Connected
    }
}

fn connects(client: &Client) -> u64 {
    client.statistics().connects.load(Ordering::Acquire)
}

/// Polls the library's connection count: its events are dropped under load.
async fn watch_connects(client: Client, sender: watch::Sender<u64>) {
    loop {
        sleep(LINK_TICK).await;
        let now = connects(&client);
        sender.send_if_modified(|seen| std::mem::replace(seen, now) != now);
    }
}

fn reconnect_delay(attempts: usize) -> Duration {
    match attempts {
        0 | 1 => Duration::ZERO,
        later => backoff::delay(u32::try_from(later).unwrap_or(u32::MAX), RETRY_DELAY_BASE, RECONNECT_DELAY_MAX),
    }
}

/// Connects to one of the servers. A server that does not answer in time is busy, and is tried again.
async fn connect(config: &RecordConfig) -> Result<Client, Unavailable> {
    let address = Address::parse(&config.nats_url)?;
    loop {
        let options = address.options().name(&config.client_name).connection_timeout(CONNECT_TIMEOUT);
        let options = options.ping_interval(PING_INTERVAL).reconnect_delay_callback(reconnect_delay);
        let connecting = options.subscription_capacity(SUBSCRIPTION_MESSAGES_MAX).connect(&address.servers);
        match connecting.await {
            Ok(client) => return Ok(client),
            Err(error) if error.kind() == ConnectErrorKind::TimedOut => {}
            Err(error) => return Err(connect_error(&error)),
        }
    }
}

fn connect_error(error: &ConnectError) -> Unavailable {
    let by_tls = || {
        let io = error.source()?.downcast_ref::<io::Error>()?;
        io.get_ref()?.downcast_ref::<rustls::Error>()
    };
    if error.kind() == ConnectErrorKind::Tls || by_tls().is_some() {
        return Unavailable::new(
            "the TLS connection to the servers failed: check the certificates and the files in nats_url",
        );
    }
    Unavailable::new("no server accepts a connection")
}

fn request_error(kind: RequestErrorKind) -> Unavailable {
    Unavailable::new(match kind {
        RequestErrorKind::NoResponders => return NO_RESPONDERS,
        RequestErrorKind::TimedOut => "the request timed out",
        RequestErrorKind::MaxPayloadExceeded => "the message exceeds the server's max_payload",
        RequestErrorKind::InvalidSubject | RequestErrorKind::Other => "the connection to NATS was lost",
    })
}
