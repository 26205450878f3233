//! Answers a completion that is recorded.

use axum::http::HeaderMap;
use domain::{ConversationId, Fact, Part};
use formats::RequestSettings;
use http_listener::state::HttpState;
use openai_api::metadata;
use registry::{AgentAccess, Scope};
use runtime::http::HttpProblem;
use serde_json::value::RawValue;

use super::client_headers::{ClientHeaders, Recording, is_instruction};
use super::conversation::{FoundConversation, FoundState, find_or_new};
use super::start::{RecordedTurn, TurnPlace, start};
use crate::http::openai::caller::OpenAiCaller;
use conversations::answer::Answer;
use conversations::quotas::account::Account;
use conversations::request_hash::RequestHash;
use conversations::turns::{NewConversation, StatelessTurn};

/// Between the texts of several instructions.
const BETWEEN_INSTRUCTIONS: &str = "\n\n";

/// A completion to record.
pub(in super::super) struct Exchange<'b> {
    /// The permission to act for the agent.
    pub(in super::super) access: AgentAccess,
    /// The account that the run counts against.
    pub(in super::super) account: Account,
    /// The sent history and settings.
    pub(in super::super) turn: StatelessTurn,
    /// The headers.
    pub(in super::super) client: ClientHeaders,
    /// Where it is recorded.
    pub(in super::super) recording: Recording,
    /// The metadata of a new conversation.
    pub(in super::super) metadata: Option<&'b RawValue>,
    /// The body, verbatim.
    pub(in super::super) body: &'b RawValue,
}

impl Exchange<'_> {
    /// Records what is new, and starts a run. Returns its answer and the conversation.
    ///
    /// # Errors
    /// 403 without the scope `read` if the model reads the conversation; as [`find_or_new`] and [`start`].
    pub(in super::super) async fn answer(
        self,
        state: &HttpState,
        caller: &OpenAiCaller,
        headers: &HeaderMap,
    ) -> Result<(Answer, ConversationId), HttpProblem> {
        let metadata_json = metadata::checked(self.metadata)?;
        if self.client.is_managed() {
            let agent = Some(self.access.agent.as_str());
            caller.access(state, Scope::Read, agent).await?;
        }
        let found = find_or_new(state, caller, &self.access, &self.recording).await?;
        let turn = self.into_turn(found, metadata_json);
        let run = start(state, caller, headers, &turn).await?;
        let answer = state.answer(&turn.key, run).await?;
        Ok((answer, turn.key.conversation))
    }

    fn into_turn(self, found: FoundConversation, metadata_json: String) -> RecordedTurn {
        let FoundConversation { key, state } = found;
        let place = match state {
            FoundState::Exists(head) => TurnPlace::In(head),
            FoundState::New(owner) => TurnPlace::New(NewConversation { owner, metadata_json, forked_from: None }),
        };
        let context = self.client.context.as_deref().unwrap_or_default();
        let message = self.client.message.as_deref().unwrap_or_default();
        let parts = ["chat completion", self.body.get(), context, message];
        let StatelessTurn { facts, settings, .. } = self.turn;
        let (history, instructions) =
            if self.client.is_managed() { (None, instructions(&facts)) } else { (Some(facts.clone()), None) };
        RecordedTurn {
            request: RequestHash::of(&key, parts),
            access: self.access,
            account: self.account,
            key,
            place,
            sent: facts,
            history,
            settings: RequestSettings { instructions, ..settings },
            client_message_id: self.client.message,
        }
    }
}

/// The texts of the caller's instructions. They are not recorded, so the context of the conversation does not have them.
fn instructions(facts: &[Fact]) -> Option<String> {
    let messages = facts.iter().filter(|fact| is_instruction(fact));
    let texts: Vec<&str> = messages.flat_map(texts).collect();
    (!texts.is_empty()).then(|| texts.join(BETWEEN_INSTRUCTIONS))
}

fn texts(fact: &Fact) -> impl Iterator<Item = &str> {
    let parts = match fact {
        Fact::MessageAppended(message) => message.parts.as_slice(),
        Fact::ToolCalled(_) | Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => &[],
    };
    parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::Refusal(_)
        | Part::Image { .. }
        | Part::File { .. }
        | Part::ProviderItem { .. } => None,
    })
}
