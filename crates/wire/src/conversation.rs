//! Conversions of owners, client contexts, fork points and statuses.

use domain::{
    ChannelId, ClientContext, ConversationId, ForkPoint, Owner, SessionId, Status, UserId, Version, Violation,
    ViolationReason,
};

use crate::optional::{client_text, json_text, metadata};
use crate::proto::event::v1 as proto;

/// An owner as protobuf.
#[must_use]
pub fn owner_to_proto(owner: &Owner) -> proto::Owner {
    use proto::owner::Kind;
    let kind = match owner {
        Owner::User(id) => Kind::UserId(id.as_str().to_owned()),
        Owner::Session(id) => Kind::SessionId(id.as_str().to_owned()),
        Owner::Channel(id) => Kind::ChannelId(id.as_str().to_owned()),
    };
    proto::Owner { kind: Some(kind) }
}

/// An owner as the domain type.
///
/// # Errors
/// [`ViolationReason::Missing`] for `None`, else as the id's own `parse`, with the name of the field.
pub fn owner_from_proto(owner: Option<proto::Owner>) -> Result<Owner, Violation> {
    use proto::owner::Kind;
    match owner.and_then(|owner| owner.kind) {
        Some(Kind::UserId(id)) => UserId::parse(id).map(Owner::User).map_err(|violation| violation.within("user_id")),
        Some(Kind::SessionId(id)) => {
            SessionId::parse(id).map(Owner::Session).map_err(|violation| violation.within("session_id"))
        }
        Some(Kind::ChannelId(id)) => {
            ChannelId::parse(id).map(Owner::Channel).map_err(|violation| violation.within("channel_id"))
        }
        None => Err(Violation::new(ViolationReason::Missing, "is required: set user_id, session_id or channel_id")),
    }
}

/// A fork's point as protobuf.
#[must_use]
pub fn fork_point_to_proto(point: &ForkPoint) -> proto::ForkPoint {
    proto::ForkPoint {
        conversation_id: point.conversation.as_str().to_owned(),
        version: point.version.0,
        depth: point.depth,
    }
}

/// A fork's point as the domain type.
///
/// # Errors
/// As [`ConversationId::parse`], or [`ViolationReason::Missing`] without a version.
pub fn fork_point_from_proto(point: proto::ForkPoint) -> Result<ForkPoint, Violation> {
    if point.version == 0 {
        let rule = "is required: a version, 1 or later";
        return Err(Violation::new(ViolationReason::Missing, rule).within("version"));
    }
    Ok(ForkPoint {
        conversation: ConversationId::parse(point.conversation_id)
            .map_err(|violation| violation.within("conversation_id"))?,
        version: Version(point.version),
        depth: point.depth,
    })
}

/// A client context as protobuf.
#[must_use]
pub fn client_context_to_proto(context: &ClientContext) -> proto::ClientContext {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    proto::ClientContext {
        page_url: text(&context.page_url),
        referrer: text(&context.referrer),
        user_agent: text(&context.user_agent),
        locale: text(&context.locale),
        timezone: text(&context.timezone),
        custom_metadata_json: json_text(context.custom_metadata.as_ref()),
    }
}

/// A client context as the domain type; `None` becomes an empty one.
///
/// # Errors
/// The first field that breaks its bound or contains U+0000.
pub fn client_context_from_proto(context: Option<proto::ClientContext>) -> Result<ClientContext, Violation> {
    let context = context.unwrap_or_default();
    Ok(ClientContext {
        page_url: client_text(context.page_url, "page_url")?,
        referrer: client_text(context.referrer, "referrer")?,
        user_agent: client_text(context.user_agent, "user_agent")?,
        locale: client_text(context.locale, "locale")?,
        timezone: client_text(context.timezone, "timezone")?,
        custom_metadata: metadata(context.custom_metadata_json, "custom_metadata_json")?,
    })
}

/// A status as protobuf.
#[must_use]
pub fn status_to_proto(status: Status) -> proto::ConversationStatus {
    match status {
        Status::Active => proto::ConversationStatus::Active,
        Status::Archived => proto::ConversationStatus::Archived,
        Status::Erased => proto::ConversationStatus::Erased,
    }
}

/// A status as the domain type; `None` if it is unspecified.
#[must_use]
pub fn status_from_proto(status: proto::ConversationStatus) -> Option<Status> {
    match status {
        proto::ConversationStatus::Unspecified => None,
        proto::ConversationStatus::Active => Some(Status::Active),
        proto::ConversationStatus::Archived => Some(Status::Archived),
        proto::ConversationStatus::Erased => Some(Status::Erased),
    }
}
