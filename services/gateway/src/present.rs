//! A conversation as it stands now: its row with the tail folded in, by the fold that the projector uses.

use domain::{Change, Conversation};
use wire::status::Problem;

use crate::fresh::{Base, Place};
use crate::request::Target;
use crate::{Gateway, problem};

/// The conversation, and where it stands.
///
/// # Errors
/// As [`Base::read`]; the record of a conversation that does not begin with its creation is corrupt.
pub async fn present(gateway: &Gateway, target: &Target) -> Result<(Conversation, Place), Problem> {
    let base = Base::read(gateway, target, None).await?;
    let place = base.place;
    Ok((folded(gateway, target, base).await?, place))
}

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
