//! Links and sessions of the dashboard.

use domain::violation::check_text;
use domain::{ConversationId, Label, TenantId, Violation, ViolationReason};
use identity::{DashboardUse, NewPerson, Role, TenantScope};
use registry::{PersonAccess, Principal, Scope};
use wire::status::Reason;
use wire::time;

use super::{Problem, Request, Writer, from_registry, not_found, operator, principal, proto, visible_tenant};
use crate::{audit, endorsement};

/// Maximum length of the name of a view, in bytes.
const VIEW_NAME_BYTES_MAX: usize = 64;
/// Maximum length of the filter of a view, in bytes.
const VIEW_FILTER_BYTES_MAX: usize = 1_024;
/// Maximum length of the detail of an action, in bytes.
const DETAIL_BYTES_MAX: usize = 1_024;

pub(super) async fn create_link(
    writer: &Writer,
    request: Request<proto::CreateDashboardLinkRequest>,
) -> Result<(String, Option<prost_types::Timestamp>), Problem> {
    let (operator, request) = operator(writer, request).await?;
    let person = NewPerson {
        tenant: tenant(writer, &operator, &request.tenant_id)?,
        subject: Label::parse(request.name.clone()).map_err(|violation| violation.within("name"))?,
        role: role(&operator, request.role())?,
        // A token that creates links of operators is of all tenants; other roles get their tenant only.
        tenant_scope: TenantScope::All,
        endorsement: None,
    };
    let person = endorsement::endorse(writer, person).await?;
    let registry = &writer.registry;
    let issued = registry.issue_dashboard_token(DashboardUse::Link, person, writer.now());
    let (link, token) = issued.ok_or_else(|| not_found("tenant", "tenant_id"))?;
    Ok((token, Some(time::to_proto(link.expires_at()))))
}

pub(super) async fn end_token(
    writer: &Writer,
    request: Request<proto::EndDashboardTokenRequest>,
) -> Result<bool, Problem> {
    let (_, request) = principal(writer, request, Scope::Append).await?;
    let token_use = if request.is_session { DashboardUse::Session } else { DashboardUse::Link };
    let registry = &writer.registry;
    let ended =
        registry.end_dashboard_token(token_use, &request.token, writer.now()).await.map_err(from_registry("token"))?;
    Ok(ended.is_some())
}

pub(super) async fn record_action(
    writer: &Writer,
    request: Request<proto::RecordDashboardActionRequest>,
) -> Result<String, Problem> {
    let (_, request) = principal(writer, request, Scope::Append).await?;
    let batch = audit::Batch::of_person(
        &person(writer, &request.session_token)?,
        action(request.action())?,
        conversation(&request.conversation_id)?,
        detail(request.detail)?,
    )?;
    let appended = audit::append(writer, batch).await?;
    Ok(appended.position_token)
}

pub(super) async fn set_view(
    writer: &Writer,
    request: Request<proto::SetDashboardViewRequest>,
) -> Result<Vec<proto::DashboardView>, Problem> {
    let (_, request) = principal(writer, request, Scope::Append).await?;
    let by = person(writer, &request.session_token)?;
    if by.person.role() < Role::Support {
        return Err(not_found("session with the role support", "session_token"));
    }
    let view = request.view.unwrap_or_default();
    check_view(&view).map_err(|violation| violation.within("view"))?;
    writer.registry.set_dashboard_view(by.tenant.tenant(), &view).await.map_err(from_registry("view"))
}

fn check_view(view: &proto::DashboardView) -> Result<(), Violation> {
    if view.name.trim().is_empty() {
        let missing = Violation::new(ViolationReason::Missing, "is required");
        return Err(missing.within("name"));
    }
    check_text(&view.name, VIEW_NAME_BYTES_MAX).map_err(|violation| violation.within("name"))?;
    check_text(&view.filter, VIEW_FILTER_BYTES_MAX).map_err(|violation| violation.within("filter"))
}

/// The person of a session.
fn person(writer: &Writer, token: &str) -> Result<PersonAccess, Problem> {
    let registry = &writer.registry;
    let person = registry.verify_dashboard_token(DashboardUse::Session, token, writer.now());
    person.ok_or_else(|| {
        let detail = "the session has ended: sign in again";
        Problem::of_field(Reason::RegistryEntryNotFound, "session_token", detail.to_owned())
    })
}

pub(super) fn action(action: proto::DashboardAction) -> Result<proto::DashboardAction, Violation> {
    if action == proto::DashboardAction::Unspecified {
        let rule = "is required: send an action that this server knows";
        return Err(Violation::new(ViolationReason::Missing, rule).within("action"));
    }
    Ok(action)
}

pub(super) fn conversation(id: &str) -> Result<Option<ConversationId>, Violation> {
    if id.is_empty() {
        return Ok(None);
    }
    let id = ConversationId::parse(id).map_err(|violation| violation.within("conversation_id"));
    id.map(Some)
}

pub(super) fn detail(text: String) -> Result<String, Violation> {
    check_text(&text, DETAIL_BYTES_MAX).map_err(|violation| violation.within("detail"))?;
    Ok(text)
}

/// The tenant of a link: by default that of the token.
fn tenant(writer: &Writer, operator: &Principal, id: &str) -> Result<TenantId, Problem> {
    match (&operator.tenant, id) {
        (Some(bound), "") => Ok(bound.clone()),
        (_, id) => visible_tenant(writer, operator, id),
    }
}

/// A role that the operator may give.
fn role(operator: &Principal, role: proto::DashboardRole) -> Result<Role, Violation> {
    let broken = |reason, rule: &str| Violation::new(reason, rule).within("role");
    match role {
        proto::DashboardRole::Unspecified => {
            Err(broken(ViolationReason::Missing, "is required: send a role that this server knows"))
        }
        proto::DashboardRole::Viewer => Ok(Role::Viewer),
        proto::DashboardRole::Support => Ok(Role::Support),
        proto::DashboardRole::Administrator => Ok(Role::Administrator),
        proto::DashboardRole::Operator if operator.tenant.is_none() => Ok(Role::Operator),
        proto::DashboardRole::Operator => {
            Err(broken(ViolationReason::OutOfRange, "is of the whole deployment: use a service token of all tenants"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::operator_of;
    use super::*;

    #[test]
    fn an_operator_of_one_tenant_creates_no_operators() {
        let check = |given: proto::DashboardRole, of_all: Option<Role>, of_one: Option<Role>| {
            assert_eq!(role(&operator_of(None), given).ok(), of_all, "{given:?}");
            assert_eq!(role(&operator_of(Some("acme")), given).ok(), of_one, "{given:?}");
        };
        check(proto::DashboardRole::Unspecified, None, None);
        check(proto::DashboardRole::Viewer, Some(Role::Viewer), Some(Role::Viewer));
        check(proto::DashboardRole::Support, Some(Role::Support), Some(Role::Support));
        check(proto::DashboardRole::Administrator, Some(Role::Administrator), Some(Role::Administrator));
        check(proto::DashboardRole::Operator, Some(Role::Operator), None);
    }

    #[test]
    fn a_view_has_a_name_and_bounds() {
        let check = |name: &str, filter_bytes: usize, expected: Option<&str>| {
            let view = proto::DashboardView { name: name.to_owned(), filter: "f".repeat(filter_bytes) };
            let field = check_view(&view).err().map(|violation| violation.field);
            assert_eq!(field.map(|field| field.to_string()).as_deref(), expected, "{name:?} {filter_bytes}");
        };
        check("a", 0, None);
        check("  ", 0, Some("name"));
        check(&"n".repeat(64), 1_024, None);
        check(&"n".repeat(65), 0, Some("name"));
        check("a", 1_025, Some("filter"));
    }

    #[test]
    fn an_entry_names_a_known_action_and_maybe_a_conversation() {
        assert!(action(proto::DashboardAction::Unspecified).is_err());
        assert_eq!(action(proto::DashboardAction::Changed), Ok(proto::DashboardAction::Changed));
        assert_eq!(conversation(""), Ok(None));
        assert_eq!(conversation("c"), Ok(Some(ConversationId::parse("c").unwrap())));
        assert!(detail("d".repeat(1_024)).is_ok() && detail("d".repeat(1_025)).is_err());
    }
}
