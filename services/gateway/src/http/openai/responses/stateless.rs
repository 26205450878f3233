//! A response that is not recorded: alone, or after a recorded one.

use domain::Owner;
use history::{Freshness, Target};
use runtime::http::HttpProblem;

use super::input::resolved;
use super::object::{ResponseHead, ResponseObject};
use super::output::OutputPlace;
use super::recorded::RecordedResponse;
use super::response_id::ResponseId;
use super::response_stream::Answer;
use super::started::CheckedRequest;
use super::stream::ResponseEvents;
use crate::generation::StatelessTurn;
use crate::http::openai::caller::OpenAiCaller;
use crate::http::problem;
use crate::http::state::HttpState;
use crate::quotas::account::Account;

/// Starts the answer to a request. After a recorded response, the model reads its conversation up to now.
///
/// # Errors
/// 400: an item is invalid; as stateless turns otherwise.
pub(super) async fn answer(
    state: &HttpState,
    caller: &OpenAiCaller,
    request: CheckedRequest,
    previous: Option<&RecordedResponse>,
) -> Result<Answer, HttpProblem> {
    let own = previous.map(|previous| &previous.target.key);
    let items = resolved(state, caller, &request.items, own).await?;
    let after = previous.map(|previous| Target {
        access: previous.target.access.clone(),
        key: previous.target.key.clone(),
        freshness: Freshness::Fresh,
        ..previous.target
    });
    let owner = request.user.map(Owner::User);
    let account = Account::of(&request.access, owner.as_ref(), &caller.source());
    let turn = StatelessTurn {
        after,
        facts: items.into_facts()?,
        settings: request.settings,
    };
    let parts = state.generations.answer_stateless(account, turn).await;
    let object = ResponseObject::in_progress(ResponseHead {
        id: ResponseId::unrecorded(),
        created_at: state.now().seconds(),
        conversation: None,
        parameters: request.parameters,
    });
    Ok(Answer {
        events: ResponseEvents::new(object, OutputPlace::unrecorded()),
        parts: parts.map_err(problem::from_problem)?,
        finished: Box::pin(std::future::ready(())),
    })
}
