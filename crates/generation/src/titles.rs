//! Titles of conversations without one: after a completed run, a background task writes a title from the first message of
//! the user. A title that a caller has set is never replaced, and at most one title is written per conversation.

use domain::event::{MessageAppended, Role};
use domain::{CallPurpose, CommitId, EventKind, Fact, Part, Position, Version};
use history::{Bounds, Deadline, Direction, Range, Snapshot, Target, View, decode};
use models::ModelRequest;
use prost_types::FieldMask;
use registry::ProviderLogs;
use wire::proto::operate::v1::TitleSettings;
use wire::proto::write::v1 as write;
use wire::status::{Problem, Reason};

use super::background::{Failure, TaskKind};
use super::structured_answer::{text, whole};
use super::title_text::{TITLE_CHARS_DEFAULT, title, title_of_reply, title_request};
use super::{Generations, ModelChoice, RunKey, RunSpec, metrics};
use crate::assembly;
use crate::quotas::account::Account;
use record_access::writer::ATTEMPT_MAX;

/// Maximum number of titles that a gateway writes at once. Others are written after the next run.
pub const TITLES_AT_ONCE: usize = 64;
/// Maximum number of attempts while other events are appended. The task after the next run tries again.
const ATTEMPTS_MAX: u32 = 5;
/// The messages among which the first one of the user is searched.
const FIRST_MESSAGES: Bounds = Bounds { events_max: 50, bytes_max: 1024 * 1024 };

/// Writes a title in the background, if the agent's settings ask for titles and the conversation has none. `finished` is
/// the position of the finishing commit of the run.
pub(super) fn start_if_due(generations: &Generations, spec: &RunSpec, finished: Option<Position>) {
    let agent = generations.gateway.registry.agent(&spec.run.agent);
    let settings = agent.and_then(|agent| agent.settings?.titles);
    let Some(settings) = settings else { return };
    let task = Task::new(generations, spec, finished, &settings);
    let kind = TaskKind {
        places: &generations.titles,
        span: tracing::info_span!("gateway.title.write", run.id = %spec.run.run),
        count: metrics::title,
        failure_message: "a title could not be written",
    };
    generations.start_task(kind, task.run());
}

/// The task that writes a title if the conversation has none.
struct Task {
    generations: Generations,
    target: Target,
    account: Account,
    run: RunKey,
    logs: Option<ProviderLogs>,
    chars_max: u32,
    /// `None`: the title is the beginning of the message.
    model: Option<ModelChoice>,
}

impl Task {
    fn new(generations: &Generations, spec: &RunSpec, finished: Option<Position>, settings: &TitleSettings) -> Self {
        Self {
            generations: generations.clone(),
            target: spec.target(spec.fence.max(finished)),
            account: spec.account.clone(),
            run: spec.run.clone(),
            logs: spec.settings.logs,
            chars_max: match settings.chars_max {
                0 => TITLE_CHARS_DEFAULT,
                chars_max => chars_max,
            },
            model: settings.model.as_ref().map(|model| ModelChoice::of(Some(model))),
        }
    }

    /// Writes the title. Returns the outcome for metrics; `None`: none is due.
    async fn run(mut self) -> Result<Option<&'static str>, Failure> {
        let mut written = None;
        for _ in 0..ATTEMPTS_MAX {
            self.target.deadline = Deadline::until(None);
            let Some(version) = self.untitled_version().await? else {
                return Ok(written.map(|_: String| "outrun"));
            };
            let title = match written {
                Some(title) => title,
                None => match self.write(version).await? {
                    Some(title) => title,
                    None => return Ok(None),
                },
            };
            if let Some(outcome) = self.append(version, &title).await? {
                return Ok(Some(outcome));
            }
            written = Some(title);
        }
        Ok(Some("outrun"))
    }

    /// The version of the conversation; `None`: it has a title.
    async fn untitled_version(&self) -> Result<Option<Version>, Failure> {
        let snapshot = Snapshot::open(&self.generations.gateway.reader, &self.target).await?;
        let conversation = snapshot.into_conversation().await?;
        let is_untitled = conversation.title.is_none();
        Ok(is_untitled.then_some(conversation.head.version))
    }

    /// The title; `None`: there is no message to derive it from.
    async fn write(&self, version: Version) -> Result<Option<String>, Failure> {
        let Some(message) = self.first_message(version).await? else {
            return Ok(None);
        };
        match &self.model {
            Some(model) => self.call(model, &message).await.map(Some),
            None => Ok(title(&message, self.chars_max)),
        }
    }

    /// The text of the first message of the user that has one.
    async fn first_message(&self, at: Version) -> Result<Option<String>, Failure> {
        let range = Range { to: at, kinds: &[EventKind::MessageAppended], ..Range::all(Direction::Forward) };
        let reader = &self.generations.gateway.reader;
        let (snapshot, first) = Snapshot::open_with(reader, &self.target, &range, FIRST_MESSAGES).await?;
        let effective = snapshot.effective(at).await?;
        let mut cursor = snapshot.cursor_from(range, View::Effective(&effective), first);
        for event in cursor.next(FIRST_MESSAGES).await?.into_iter().flatten() {
            let recorded = decode(&self.target.key, &event.row)?;
            if let Fact::MessageAppended(message) = &recorded.event.fact
                && message.role == Role::User
            {
                let text = text(std::slice::from_ref(&recorded.event.fact));
                if !text.trim().is_empty() {
                    return Ok(Some(text));
                }
            }
        }
        Ok(None)
    }

    /// The model's title for a conversation that begins with this message.
    async fn call(&self, model: &ModelChoice, message: &str) -> Result<String, Failure> {
        let request = title_request(message, self.chars_max);
        let fact = MessageAppended::new(Role::User, vec![Part::Text(request)]);
        let access = &self.target.access;
        let context = self.generations.task_request(access, model).await?;
        let context = assembly::assemble_given(
            &self.generations.gateway,
            access.tenant.tenant(),
            &context,
            vec![Fact::MessageAppended(fact)],
        )
        .await?;
        let log = &self.generations.call_log;
        let request = ModelRequest {
            listener: log.listener(self.logs, &self.run, model, CallPurpose::Title),
            ..model.request(context)
        };
        let pieces = self
            .generations
            .call_model(&self.account, model, CallPurpose::Title, request)
            .await
            .map_err(|error| Failure(error.code()))?;
        let reply = whole(pieces).await;
        let facts = reply.map_err(|error| Failure(error.code()))?;
        title_of_reply(&text(&facts), self.chars_max).ok_or(Failure("title_empty"))
    }

    /// Sets the title if nothing was appended since. Returns the outcome; `None`: something was appended.
    async fn append(&self, version: Version, title: &str) -> Result<Option<&'static str>, Failure> {
        let mut target = self.run.target(Some(self.commit()));
        target.expected_version = Some(version.0);
        let request = write::UpdateConversationRequest {
            target: Some(target),
            title: title.to_owned(),
            update_mask: Some(FieldMask { paths: vec!["title".to_owned()] }),
            ..write::UpdateConversationRequest::default()
        };
        let mut writer = self.generations.writer.write(ATTEMPT_MAX);
        let Err(status) = writer.update_conversation(request).await else {
            return Ok(Some("made"));
        };
        let reason = Problem::from(status).reason();
        if reason == Reason::VersionConflict {
            return Ok(None);
        }
        // Another task has written a title, and a caller has removed it since.
        let is_over = reason == Reason::IdempotencyKeyReused;
        is_over.then_some(Some("outrun")).ok_or(Failure("not_appended"))
    }

    /// The commit of the title: equal for all tasks of the conversation, so that one title is written at most.
    fn commit(&self) -> CommitId {
        let key = &self.target.key;
        let name = format!("{}\n{}\ntitle", key.tenant, key.conversation);
        CommitId::named(&name)
    }
}
