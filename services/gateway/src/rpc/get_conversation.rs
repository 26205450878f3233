//! One conversation, without its events.

use domain::{Change, Conversation};
use tonic::{Request, Response, Status};
use wire::proto::read::v1::{GetConversationRequest, GetConversationResponse};
use wire::status::Problem;

use crate::fresh::{Base, position_token};
use crate::request::{Call, Target};
use crate::{Gateway, problem};

pub(super) async fn handle(
    gateway: &Gateway,
    request: Request<GetConversationRequest>,
) -> Result<Response<GetConversationResponse>, Status> {
    let call = Call::of(&request);
    let target = Target::of(gateway, &call, request.into_inner().target).await?;
    let base = Base::read(gateway, &target, None).await?;
    let place = base.place;
    let conversation = folded(gateway, &target, base).await?;
    Ok(Response::new(GetConversationResponse {
        conversation: Some(wire::reads::conversation(conversation)),
        position_token: position_token(gateway, &target.key, place),
    }))
}

/// The row with the tail folded in, by the fold that the projector uses.
async fn folded(
    gateway: &Gateway,
    target: &Target,
    mut base: Base,
) -> Result<Conversation, Problem> {
    let mut change: Option<Change> = None;
    if let Some(mut tail) = base.tail(&target.key) {
        while let Some(commits) = tail.next_page(gateway, target.patience).await? {
            for stored in commits {
                let (commit, position) = (&stored.opened.commit, stored.position);
                match &mut change {
                    Some(change) => change.absorb(commit, position),
                    None => change = Some(Change::of(commit, position)),
                }
            }
        }
    }
    let conversation = match change {
        Some(change) => change.apply(base.conversation),
        None => base.conversation,
    };
    conversation.ok_or_else(|| {
        problem::of_contradiction(format!(
            "the record of conversation {} does not begin with its creation",
            target.key.conversation
        ))
    })
}
