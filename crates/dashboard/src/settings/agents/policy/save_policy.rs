//! `POST /dashboard/settings/agents/{agent}/policy`: sets the context policy of an agent.

use axum::extract::State;
use axum::http::StatusCode;
use pages::components::Tone;
use pages::dashboard::settings::policy::Preview;
use runtime::http::{HttpProblem, Path};
use wire::proto::operate::v1::SetContextPolicyRequest;

use super::{PolicyForm, StatusPage, digest_of, errors_of, form_of, page};
use crate::form::Form;
use crate::person::Person;
use crate::settings::rejection::rejection;
use crate::settings::{agent_of, registry};
use http_listener::state::HttpState;

/// Someone else has saved after this form was shown.
const CONFLICT: &str = "Nothing was saved: the policy was changed after you opened this page. Your text is below. Compare it \
     with the current policy in another tab; saving again replaces it by your text.";

pub(crate) async fn save_policy(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
    Form(mut form): Form<PolicyForm>,
) -> Result<StatusPage, HttpProblem> {
    let agent = agent_of(&state, &person, &id)?;
    let errors = errors_of(&form.policy);
    if !errors.is_empty() {
        let preview = Preview::Invalid(errors);
        let notice = Some((Tone::Bad, "Nothing was saved."));
        let page = page(&person, &agent, &form, &preview, notice);
        return Ok((StatusCode::BAD_REQUEST, page));
    }
    let current = digest_of(&agent);
    if form.digest != current {
        form.digest = current;
        let notice = Some((Tone::Bad, CONFLICT));
        let page = page(&person, &agent, &form, &Preview::None, notice);
        return Ok((StatusCode::CONFLICT, page));
    }
    let request = SetContextPolicyRequest { agent_id: id, policy_json: form.policy.clone() };
    match registry(&state, &person).set_context_policy(request).await {
        Ok(answer) => {
            let policy = answer.into_inner().policy.unwrap_or_default();
            let saved = PolicyForm {
                conversation: form.conversation,
                ..form_of(&policy.policy_json, hex::encode(&policy.digest))
            };
            let notice = Some((Tone::Good, "Saved. The next context uses this policy."));
            let page = page(&person, &agent, &saved, &Preview::None, notice);
            Ok((StatusCode::OK, page))
        }
        Err(status) => {
            let rejection = rejection(status)?;
            let preview = Preview::Failed(rejection.detail);
            let page = page(&person, &agent, &form, &preview, None);
            Ok((rejection.status, page))
        }
    }
}
