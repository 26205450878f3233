//! A response that is not recorded: alone, or after a recorded one.

use http_listener::state::HttpState;
use openai_api::responses::object::{ResponseHead, ResponseObject};
use openai_api::responses::output::OutputPlace;
use openai_api::responses::response_id::ResponseId;
use runtime::http::HttpProblem;

use super::input::{ContinuedHistory, resolved};
use super::recorded::RecordedResponse;
use super::started::CheckedRequest;
use super::stream::ResponseEvents;
use crate::http::openai::caller::OpenAiCaller;
use conversations::answer::Answer;
use conversations::quotas::account::Account;
use conversations::turns::{PreviousTurns, StatelessTurn};

/// Starts the answer to a request. After a recorded response, the model reads its conversation up to the end of the response.
///
/// # Errors
/// 400: an item is invalid, or the previous response cannot be continued; as stateless turns otherwise.
pub(super) async fn answer(
    state: &HttpState,
    caller: &OpenAiCaller,
    request: CheckedRequest,
    previous: Option<&RecordedResponse>,
) -> Result<(Answer, ResponseEvents), HttpProblem> {
    let after = match previous {
        Some(previous) => Some(PreviousTurns {
            target: previous.target.clone(),
            through: previous.continued_from(&request.access.agent)?,
        }),
        None => None,
    };
    let continued = after.as_ref().map(|after| ContinuedHistory { key: &after.target.key, through: after.through });
    let items = resolved(state, caller, &request.items, continued).await?;
    let account = Account::of(&request.access, caller.end_user.owner().as_ref(), &caller.source());
    let turn = StatelessTurn { after, facts: items.into_facts()?, settings: request.settings };
    let answer = state.answer_stateless(account, turn).await?;
    let object = ResponseObject::in_progress(ResponseHead {
        id: ResponseId::unrecorded(),
        created_at: state.now().seconds(),
        conversation: None,
        parameters: request.parameters,
    });
    Ok((answer, ResponseEvents::new(object, OutputPlace::unrecorded())))
}
