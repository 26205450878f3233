//! Who may approve and refuse tool calls, by the agent's settings.

use runtime::http::HttpProblem;
use wire::proto::operate::v1::{AgentSettings, Approvers};

use super::problems;
use super::turn::Turn;
use crate::http::owned_chat::{Authority, OwnedChat};
use crate::http::state::HttpState;

/// Rejects a turn with decisions about tool calls if its caller may not decide.
///
/// # Errors
/// 403 `APPROVAL_NOT_ALLOWED`.
pub(in crate::http) fn check(
    state: &HttpState,
    chat: &OwnedChat,
    turn: &Turn,
) -> Result<(), HttpProblem> {
    if !turn.decides_on_calls() {
        return Ok(());
    }
    let settings = state.agent_settings(&chat.target.access.agent);
    if may_decide(&settings, &chat.authority) {
        return Ok(());
    }
    Err(problems::approval_not_allowed())
}

/// An unknown value is treated as the strictest.
fn may_decide(settings: &AgentSettings, authority: &Authority) -> bool {
    match Approvers::try_from(settings.approvers) {
        Ok(Approvers::Unspecified | Approvers::Owner) => true,
        Ok(Approvers::User) => !matches!(authority, Authority::Owner),
        Ok(Approvers::Administrator) | Err(_) => matches!(authority, Authority::Administrator(_)),
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
            let authority = [
                Authority::Owner,
                Authority::User(user),
                Authority::Administrator(None),
            ];
            assert_eq!(
                authority.map(|authority| may_decide(&settings, &authority)),
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
