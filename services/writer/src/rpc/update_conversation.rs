//! Changes the title, metadata, provider ids or owner of a conversation.

use domain::bounds::TITLE_BYTES_MAX;
use domain::event::ConversationUpdated;
use domain::{Action, ConversationId, FieldChange, Rejection, Violation, ViolationReason};
use wire::conversation::owner_from_proto;
use wire::optional::{label, metadata, text};
use wire::proto::write::v1::{ChangeOwnerRequest, CommitResult, UpdateConversationRequest};

use super::{Problem, Request, Writer, execute_on, optional_owner};
use crate::problem;
use crate::request::split;

pub(super) async fn update(
    writer: &Writer,
    request: Request<UpdateConversationRequest>,
) -> Result<CommitResult, Problem> {
    let (caller, digest, mut request) = split(request);
    let target = request.target.take();
    let action = Action::Update(Box::new(updated(request)?));
    execute_on(writer, &caller, target, digest, action).await
}

/// The named fields. An empty field is cleared.
fn updated(request: UpdateConversationRequest) -> Result<ConversationUpdated, Violation> {
    let paths = request.update_mask.unwrap_or_default().paths;
    if paths.is_empty() {
        return Err(
            Violation::new(ViolationReason::Missing, "is required: name the fields to change").within("update_mask")
        );
    }
    let mut updated = ConversationUpdated::default();
    for (index, path) in paths.iter().enumerate() {
        match path.as_str() {
            "title" => {
                let title = text(request.title.clone(), TITLE_BYTES_MAX, "title")?;
                updated.title = Some(FieldChange::to(title));
            }
            "metadata_json" => {
                let metadata = metadata(request.metadata_json.clone(), "metadata_json")?;
                updated.metadata = Some(FieldChange::to(metadata));
            }
            "provider_conversation_id" => {
                let id = label(request.provider_conversation_id.clone(), path)?;
                updated.provider_conversation_id = Some(FieldChange::to(id));
            }
            "last_response_id" => {
                let id = label(request.last_response_id.clone(), path)?;
                updated.last_response_id = Some(FieldChange::to(id));
            }
            _ => {
                return Err(Violation::new(
                    ViolationReason::Malformed,
                    "is not a field that can be changed: use title, metadata_json, \
                     provider_conversation_id or last_response_id",
                )
                .at(index)
                .within("update_mask.paths"));
            }
        }
    }
    Ok(updated)
}

pub(super) async fn change_owner(
    writer: &Writer,
    request: Request<ChangeOwnerRequest>,
) -> Result<CommitResult, Problem> {
    let (caller, digest, mut request) = split(request);
    let target = request.target.take();
    let action = owner_change(request)?;
    let id = target.as_ref().map(|target| &target.conversation_id);
    if id.is_some_and(|id| id.starts_with(ConversationId::DOCUMENT_PREFIX)) {
        return Err(problem::from_rejection(Rejection::OwnerFixed));
    }
    execute_on(writer, &caller, target, digest, action).await
}

fn owner_change(request: ChangeOwnerRequest) -> Result<Action, Violation> {
    Ok(Action::ChangeOwner {
        expected: optional_owner(request.expected_owner)?,
        owner: owner_from_proto(request.owner).map_err(|violation| violation.within("owner"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_fields_change() {
        let check = |paths: &[&str], expected: Result<[bool; 4], &str>| {
            let request = UpdateConversationRequest {
                title: "new".to_owned(),
                update_mask: Some(prost_types::FieldMask { paths: paths.iter().map(ToString::to_string).collect() }),
                ..UpdateConversationRequest::default()
            };
            let seen = updated(request).map_err(|violation| violation.field).map(|updated| {
                assert!(updated.title.is_none_or(|title| title.value().is_some()));
                let cleared = |field: Option<bool>| field.map(|has_value| assert!(!has_value)).is_some();
                [
                    paths.contains(&"title"),
                    cleared(updated.metadata.map(|metadata| metadata.value().is_some())),
                    cleared(updated.provider_conversation_id.map(|id| id.value().is_some())),
                    cleared(updated.last_response_id.map(|id| id.value().is_some())),
                ]
            });
            assert_eq!(seen, expected.map_err(domain::FieldPath::from), "{paths:?}");
        };
        check(&["title"], Ok([true, false, false, false]));
        check(&["metadata_json"], Ok([false, true, false, false]));
        check(&["provider_conversation_id"], Ok([false, false, true, false]));
        check(&["title", "last_response_id"], Ok([true, false, false, true]));
        check(&[], Err("update_mask"));
        check(&["title", "owner"], Err("update_mask.paths[1]"));
    }
}
