//! Who may approve and refuse calls of tools, as the agent's settings say.

use runtime::http::HttpProblem;
use wire::proto::operate::v1::{AgentSettings, Approvers};

use super::refusal;
use super::turn::Turn;
use crate::http::owned_chat::{Acting, Owned};
use crate::http::state::HttpState;

/// Refuses a turn with a person's word on calls from somebody whose word it is not to give.
///
/// # Errors
/// 403 `APPROVAL_NOT_ALLOWED`.
pub(super) fn check(state: &HttpState, chat: &Owned, turn: &Turn) -> Result<(), HttpProblem> {
    if !turn.decides_on_calls() {
        return Ok(());
    }
    let agent = state.gateway.registry.agent(&chat.target.access.agent);
    let settings = agent.and_then(|agent| agent.settings).unwrap_or_default();
    if may_decide(&settings, &chat.acting) {
        return Ok(());
    }
    Err(refusal::approval_not_allowed())
}

/// What this version does not know is the strictest.
fn may_decide(settings: &AgentSettings, acting: &Acting) -> bool {
    match Approvers::try_from(settings.approvers) {
        Ok(Approvers::Unspecified | Approvers::Owner) => true,
        Ok(Approvers::User) => !matches!(acting, Acting::Owner),
        Ok(Approvers::Administrator) | Err(_) => matches!(acting, Acting::Administrator(_)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_decide() {
        let check = |approvers: i32, expected: [bool; 3]| {
            let settings = AgentSettings {
                approvers,
                ..AgentSettings::default()
            };
            let user = domain::UserId::parse("ada").unwrap();
            let acting = [
                Acting::Owner,
                Acting::User(user),
                Acting::Administrator(None),
            ];
            assert_eq!(
                acting.map(|acting| may_decide(&settings, &acting)),
                expected
            );
        };
        check(Approvers::Unspecified.into(), [true, true, true]);
        check(Approvers::Owner.into(), [true, true, true]);
        check(Approvers::User.into(), [false, true, true]);
        check(Approvers::Administrator.into(), [false, false, true]);
        check(99, [false, false, true]);
    }
}
