//! The events of one conversation that a caller follows, until the caller may not read it any more.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Duration;

use domain::event::Lifecycle;
use domain::{ConversationKey, Fact, Owner, RecordedEvent, Version};
use history::{Target, decode};
use runs::Disclosure;
use runtime::http::HttpProblem;
use tracing::Instrument as _;
use wire::status::{Problem, Reason};

use crate::not_found::not_found;
use crate::rate_limits::CountedStream;
use crate::state::HttpState;
use conversations::open::OwnedChat;
use conversations::watcher::{self, Items, Subscription, Watch, WatchEnd, WatchItem};

/// Whose stream it is.
#[derive(Debug)]
pub struct Viewed {
    /// How to read the conversation.
    target: Target,
    /// The owner, and the version in which they own it: the stream ends when the owner changes later. `None`: the caller
    /// sees conversations of every owner.
    owner: Option<(Owner, Version)>,
    /// What the caller gets of tool calls.
    disclosure: Disclosure,
}

impl From<Target> for Viewed {
    fn from(target: Target) -> Self {
        Self { target, owner: None, disclosure: Disclosure::default() }
    }
}

impl Viewed {
    /// A conversation of the caller, as its agent discloses it.
    #[must_use]
    pub fn of_owner(state: &HttpState, chat: OwnedChat) -> Self {
        let head = chat.conversation.head;
        Self {
            disclosure: state.disclosure(&chat.target.access.agent),
            target: chat.target,
            owner: head.owner.map(|owner| (owner, head.version)),
        }
    }
}

/// A conversation that a caller follows. It counts as a live stream of the caller's address, and as a watcher of the gateway.
#[derive(Debug)]
pub struct Followed {
    items: Items,
    key: ConversationKey,
    owner: Option<(Owner, Version)>,
    disclosure: Disclosure,
    _counted: CountedStream,
}

/// What happens in a followed conversation.
#[derive(Debug)]
pub enum FollowedItem {
    /// The next event.
    Event(Box<RecordedEvent>),
    /// The history is complete up to this version.
    CaughtUp(Version),
}

/// Why nothing follows.
#[derive(Debug)]
pub struct End {
    pub(super) code: Cow<'static, str>,
    pub(super) detail: String,
}

impl Followed {
    /// Follows a conversation; `first` returns the first version to send, from the version of the last event.
    ///
    /// # Errors
    /// 404: the conversation does not exist; 429 or 503: too many streams; an error of `first`.
    pub async fn open(
        state: &HttpState,
        address: Option<IpAddr>,
        viewed: Viewed,
        first: impl FnOnce(Version) -> Result<Version, HttpProblem>,
    ) -> Result<Self, HttpProblem> {
        let counted = state.limits.open_live_stream(address)?;
        let key = viewed.target.key.clone();
        let subscription = Subscription::open(&state.gateway, viewed.target).await?;
        let from = first(subscription.version)?;
        let span = tracing::info_span!(
            "gateway.conversation.stream",
            tenant.id = key.tenant.as_str(),
            conversation.id = key.conversation.as_str(),
        );
        let watch =
            Watch { subscription, from, pause_max: Some(Duration::from_millis(state.section.live.pause_max_ms)) };
        let (items, work) = watcher::watch(&state.gateway, watch);
        tokio::spawn(work.instrument(span));
        Ok(Self { items, key, owner: viewed.owner, disclosure: viewed.disclosure, _counted: counted })
    }

    /// The next item. Dropping the future loses none.
    ///
    /// # Errors
    /// The conversation was erased or has another owner, the client is too slow, or the gateway drains. Nothing follows.
    pub async fn next(&mut self) -> Result<FollowedItem, End> {
        loop {
            match self.items.recv().await {
                Some(Ok(WatchItem::Event(row))) => {
                    let event = decode(&self.key, &row)?;
                    if self.is_lost_by(&event) {
                        return Err(not_found().into());
                    }
                    if let Some(event) = self.disclosure.event(event) {
                        return Ok(FollowedItem::Event(Box::new(event)));
                    }
                }
                Some(Ok(WatchItem::CaughtUp(version))) => {
                    return Ok(FollowedItem::CaughtUp(version));
                }
                Some(Err(end)) => return Err(end.into()),
                // A watcher says why it ends, unless its task was aborted.
                None => return Err(conversations::problem::draining().into()),
            }
        }
    }

    /// Whether the event gives the conversation to another owner, after the client's right was checked.
    fn is_lost_by(&self, event: &RecordedEvent) -> bool {
        let Some((owner, checked)) = &self.owner else {
            return false;
        };
        let Fact::Lifecycle(Lifecycle::OwnerChanged(change)) = &event.event.fact else {
            return false;
        };
        event.version > *checked && change.owner != *owner
    }
}

impl End {
    pub(super) fn too_old() -> Self {
        Self { code: "STREAM_TOO_OLD".into(), detail: "the stream has its maximum age: open it again".to_owned() }
    }
}

impl From<WatchEnd> for End {
    fn from(end: WatchEnd) -> Self {
        match end {
            WatchEnd::Failed(problem) => problem.into(),
            WatchEnd::TooSlow(pause) => Self {
                code: "CLIENT_TOO_SLOW".into(),
                detail: format!("the client received nothing for {pause:?}: open the stream again"),
            },
        }
    }
}

impl From<Problem> for End {
    /// A conversation that was found before, and is not found any more, was erased.
    fn from(problem: Problem) -> Self {
        if problem.reason() == Reason::ConversationNotFound {
            return Self {
                code: Reason::ConversationErased.as_str().into(),
                detail: "the conversation was erased".to_owned(),
            };
        }
        HttpProblem::from(problem).into()
    }
}

impl From<HttpProblem> for End {
    fn from(problem: HttpProblem) -> Self {
        Self { code: problem.code, detail: problem.detail }
    }
}
