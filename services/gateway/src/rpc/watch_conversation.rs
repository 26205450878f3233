//! Streams the events of one conversation from a version: first the history, then live events.

use domain::ConversationKey;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use tracing::Instrument as _;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::watch_conversation_response::Item;
use wire::status::Problem;

use crate::render;
use conversations::Gateway;
use conversations::request::{Call, conversation_id, first_version, out_of_range};
use conversations::watcher::{self, Subscription, Watch, WatchEnd, WatchItem};

/// The stream of responses.
pub type Responses = BoxStream<'static, Result<proto::WatchConversationResponse, Status>>;

pub(super) async fn handle(
    gateway: &Gateway,
    request: Request<proto::WatchConversationRequest>,
) -> Result<Response<Responses>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let agent = call.agent(gateway, &request.agent_id).await.map_err(Problem::from)?;
    let conversation = conversation_id(&request.conversation_id).map_err(Problem::from)?;
    let target = call.target(gateway, agent, conversation, "agent_id").await?;
    let key = target.key.clone();
    let subscription = Subscription::open(gateway, target).await?;
    let from = first_version(request.from_version);
    let next = subscription.version.next();
    if from > next {
        let description = format!("is {from}, the maximum is {next}: the next version");
        return Err(Problem::from(out_of_range(description).within("from_version")).into());
    }
    let span = tracing::info_span!(
        "gateway.conversation.watch",
        tenant.id = key.tenant.as_str(),
        conversation.id = key.conversation.as_str(),
    );
    let watch = Watch { subscription, from, pause_max: None };
    let (items, work) = watcher::watch(gateway, watch);
    tokio::spawn(work.instrument(span));
    let responses = ReceiverStream::new(items).map(move |item| response(&key, item));
    Ok(Response::new(responses.boxed()))
}

fn response(
    key: &ConversationKey,
    item: Result<WatchItem, WatchEnd>,
) -> Result<proto::WatchConversationResponse, Status> {
    let item = match item.map_err(Problem::from)? {
        WatchItem::Event(event) => Item::Event(render::recorded_event(key, event)?),
        WatchItem::CaughtUp(version) => Item::CaughtUp(proto::CaughtUp { version: version.0 }),
    };
    Ok(proto::WatchConversationResponse { item: Some(item) })
}
