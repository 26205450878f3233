//! `/dashboard/settings/agents/{agent}/policy`: the editor of an agent's context policy.

mod contexts;
pub mod preview_policy;
pub mod save_policy;
pub mod show_policy;

use context::{DEFAULT_POLICY, Policy};
use pages::components::{Tone, indented_json};
use pages::dashboard::settings::policy::{LocatedError, PolicyPage, Preview, policy};
use registry::Digest;
use serde::Deserialize;
use wire::proto::operate::v1::Agent;

use super::StatusPage;
use crate::page::Page;
use crate::person::Person;
use crate::settings::json_errors::{position_of, split_position};
use http_listener::state::HttpState;

/// The form of the editor.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct PolicyForm {
    /// The policy, as JSON.
    #[serde(default)]
    policy: String,
    /// The digest of the policy that the page showed.
    #[serde(default)]
    digest: String,
    /// The conversation of the preview; empty: none.
    #[serde(default)]
    conversation: String,
    /// The proof that the view of the conversation is recorded.
    #[serde(default)]
    viewed: String,
}

/// The digest of an agent's policy, in hexadecimal digits.
fn digest_of(agent: &Agent) -> String {
    if agent.context_policy_digest.is_empty() {
        return DEFAULT_POLICY.digest.to_string();
    }
    hex::encode(&agent.context_policy_digest)
}

/// The policy of an agent, as JSON with line breaks.
async fn current(state: &HttpState, person: &Person, agent: &Agent) -> Option<String> {
    let Ok(digest) = Digest::try_from(agent.context_policy_digest.as_ref()) else {
        return Some(DEFAULT_POLICY.json.clone());
    };
    let registry = &state.gateway.registry;
    let tenant = person.admin.tenant.tenant();
    let found = registry.context_policy(tenant, &digest).await;
    let is_default = digest == DEFAULT_POLICY.digest.0;
    let json = found.map(|policy| policy.policy_json);
    json.or_else(|| is_default.then(|| DEFAULT_POLICY.json.clone()))
}

/// What is wrong with a policy, with the position of each error. Empty: nothing.
fn errors_of(json: &str) -> Vec<LocatedError> {
    let errors = Policy::parse(json).err().unwrap_or_default();
    let located = |error: context::policy::PolicyError| {
        let (text, position) = split_position(&error.rule);
        let text = if error.field.is_empty() { text.to_owned() } else { format!("{} {text}", error.field) };
        LocatedError { position: position.or_else(|| position_of(json, &error.field)), text }
    };
    errors.into_iter().map(located).collect()
}

/// The page of the editor with a form as it was typed.
fn page(person: &Person, agent: &Agent, form: &PolicyForm, preview: &Preview, notice: Option<(Tone, &str)>) -> Page {
    Page(policy(PolicyPage {
        person: person.layout(),
        agent: &agent.agent_id,
        policy: &form.policy,
        digest: &form.digest,
        conversation: &form.conversation,
        preview,
        notice,
    }))
}

/// The form of a stored policy.
fn form_of(json: &str, digest: String) -> PolicyForm {
    PolicyForm { policy: indented_json(json), digest, ..PolicyForm::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_positions() {
        let check = |json: &str, expected: &[(Option<(usize, usize)>, &str)]| {
            let seen = errors_of(json);
            assert_eq!(seen.len(), expected.len(), "{json}: {seen:?}");
            for (error, (position, text)) in seen.iter().zip(expected) {
                assert_eq!(error.position, *position, "{json}: {error:?}");
                assert!(error.text.contains(text), "{json}: {error:?}");
            }
        };
        check("{}", &[]);
        check("{\n \"a\"", &[(Some((2, 4)), "EOF")]);
        check("{\n \"none\": 1}", &[(Some((2, 7)), "unknown field `none`")]);
        check("[]", &[(None, "is no JSON object")]);
        let both = "{\"budget\":\n {\"context_tokens_max\": 1,\n \"low_water_percent\": 99}}";
        check(both, &[(Some((2, 25)), "budget.context_tokens_max"), (Some((3, 23)), "budget.low_water_percent")]);
    }
}
