//! Service tokens.

use domain::{Label, Violation, ViolationReason};
use event_log::registry::{NewServiceToken, Scope, Scopes};

use super::{
    Problem, Request, Writer, from_registry, may_see, not_found, operator, proto, visible_tenant,
};

pub(super) async fn create(
    writer: &Writer,
    request: Request<proto::CreateServiceTokenRequest>,
) -> Result<(proto::ServiceToken, String), Problem> {
    let (operator, request) = operator(writer, request).await?;
    // With a token of one tenant, only tokens of this tenant can be created.
    let tenant_id = match (&operator.tenant, request.tenant_id.as_str()) {
        (Some(bound), "") => bound.as_str(),
        (_, id) => id,
    };
    let tenant = match tenant_id {
        "" => None,
        id => Some(visible_tenant(writer, &operator, id)?),
    };
    let new = NewServiceToken {
        display_name: Label::parse(request.display_name.clone())
            .map_err(|violation| violation.within("display_name"))?,
        scopes: scopes(&request)?,
        tenant,
    };
    let created = writer
        .registry
        .create_service_token(new, writer.now())
        .await;
    let (service_token, secret) = created.map_err(from_registry("tenant_id"))?;
    Ok((service_token, secret.reveal().to_owned()))
}

pub(super) async fn revoke(
    writer: &Writer,
    request: Request<proto::RevokeServiceTokenRequest>,
) -> Result<proto::ServiceToken, Problem> {
    let (operator, request) = operator(writer, request).await?;
    let id = request.service_token_id;
    let token = writer.registry.service_token(&id);
    if !token.is_some_and(|token| may_see(&operator, &token.tenant_id)) {
        return Err(not_found("service token", "service_token_id"));
    }
    let revoked = writer
        .registry
        .revoke_service_token(&id, writer.now())
        .await;
    revoked.map_err(from_registry("service_token_id"))
}

pub(super) async fn list(
    writer: &Writer,
    request: Request<proto::ListServiceTokensRequest>,
) -> Result<Vec<proto::ServiceToken>, Problem> {
    let (operator, _) = operator(writer, request).await?;
    let tokens = writer.registry.list_service_tokens().into_iter();
    let visible = tokens.filter(|token| may_see(&operator, &token.tenant_id));
    Ok(visible.collect())
}

fn scopes(request: &proto::CreateServiceTokenRequest) -> Result<Scopes, Violation> {
    let broken = |reason, description: &str| Violation::new(reason, description).within("scopes");
    if request.scopes.is_empty() {
        return Err(broken(
            ViolationReason::Missing,
            "is empty: send at least one scope",
        ));
    }
    request
        .scopes
        .iter()
        // The generated accessor drops unknown scopes.
        .map(|scope| proto::Scope::try_from(*scope).unwrap_or_default())
        .map(|scope| {
            let unknown = || broken(ViolationReason::Malformed, "has an unknown scope");
            Scope::from_proto(scope).ok_or_else(unknown)
        })
        .collect()
}
