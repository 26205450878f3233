//! Streams the events of one conversation from a version: first the history, then live events.

use history::Snapshot;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use tracing::Instrument as _;
use wire::proto::read::v1 as proto;
use wire::status::Problem;

use crate::Gateway;
use crate::request::{Call, conversation_id, first_version, out_of_range};
use crate::watcher::{self, Watch};

/// The stream of responses.
pub type Responses = ReceiverStream<Result<proto::WatchConversationResponse, Status>>;

pub(super) async fn handle(
    gateway: &Gateway,
    request: Request<proto::WatchConversationRequest>,
) -> Result<Response<Responses>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let agent = call
        .agent(gateway, &request.agent_id)
        .await
        .map_err(Problem::from)?;
    let conversation = conversation_id(&request.conversation_id).map_err(Problem::from)?;
    let target = call.target(gateway, agent, conversation, "agent_id");
    let target = target.await?;
    let permit = gateway.watchers.acquire()?;
    // The subscription starts before the read of the history, so that no commit is lost between them.
    let live = call
        .deadline
        .record(gateway.reader.record.live(&target.key))
        .await?;
    let snapshot = Snapshot::open(&gateway.reader, &target).await?;
    let forked_from = snapshot.forked_from().cloned();
    let from = first_version(request.from_version);
    let next = snapshot.position().version.next();
    if from > next {
        let description = format!("is {from}, the maximum is {next}: the next version");
        return Err(Problem::from(out_of_range(description).within("from_version")).into());
    }
    let span = tracing::info_span!(
        "gateway.conversation.watch",
        tenant.id = target.key.tenant.as_str(),
        conversation.id = target.key.conversation.as_str(),
    );
    let watch = Watch {
        target,
        from,
        live,
        permit,
        forked_from,
    };
    let (responses, work) = watcher::watch(gateway, watch);
    tokio::spawn(work.instrument(span));
    Ok(Response::new(ReceiverStream::new(responses)))
}
