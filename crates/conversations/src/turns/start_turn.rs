//! Records a turn and starts the run that answers it.

use domain::RunId;
use quotas::Quota;
use runs::UiStream;
use runs::ui_message::UiRole;
use wire::status::Problem;

use super::turn::Turn;
use super::{last_turn, permissions, problems};
use crate::Conversations;
use crate::open::OwnedChat;
use crate::quotas::account::Account;
use crate::quotas::size_of_message;
use generation::{RetryKey, Start, StartAt};

/// A run that answers a turn.
#[derive(Debug)]
pub struct StartedTurn {
    /// The run.
    pub run: RunId,
    /// Converts its parts for a page that shows all earlier messages.
    pub ui: UiStream,
}

/// Records the turn, if its caller may send it, and starts a run; a retry finds the run of the first attempt.
///
/// # Errors
/// `RUN_ACTIVE` with the `run_id` of the active run; an invalid field, by the caller's name; a file, an approval or a result that the
/// caller may not send; or the writer does not answer.
pub async fn start_turn(conversations: &Conversations, chat: &OwnedChat, turn: Turn) -> Result<StartedTurn, Problem> {
    permissions::check(conversations, chat, &turn).await?;
    let continued = if turn.answers_a_message() {
        None
    } else {
        let last = last_turn::last_message(conversations, chat).await?;
        last.filter(|last| last.role == UiRole::Assistant)
    };
    let account = Account::of(&chat.target.access, chat.conversation.head.owner.as_ref(), &turn.via);
    let bytes = turn.facts.iter().map(|fact| size_of_message(&wire::event::fact_to_proto(fact))).sum();
    let events = Turn::events(turn.facts, turn.client_message_id);
    let at = turn.expected_version.map_or(StartAt::AnyVersion, StartAt::Version);
    let start = Start {
        history: turn.history,
        approved_calls: turn.approved,
        verified_user: chat.authority.verified_user().cloned(),
        retry: turn.key.map_or(RetryKey::None, RetryKey::Given),
        ..Start::new(account.clone(), chat.target.key.clone(), events, at)
    };
    let command = Box::pin(async {
        let started = conversations.start(start).await;
        started.map_err(|problem| problems::not_started(problem, &turn.fields))
    });
    let sent = [(Quota::StoredBytes, bytes)];
    let started = conversations.quotas().with_send_quota(&account, &sent, command, |started| &started.commit).await?;
    let approvals = conversations.approvals(&chat.target.access.agent);
    Ok(StartedTurn { run: started.run, ui: UiStream::new(started.run, continued.as_ref(), approvals) })
}
