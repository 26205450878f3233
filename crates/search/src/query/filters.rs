//! The filters of a query.

use domain::event::Role;
use domain::{AgentId, Timestamp, ToolName, UserId};
use time::format_description::well_known::{Iso8601, Rfc3339};
use time::{Date, OffsetDateTime};

use super::QueryError;

/// The names of filters.
pub(super) const FILTER_NAMES: [&str; 7] = ["tool", "role", "user", "agent", "before", "after", "has"];

/// The filters of a query; all of them apply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filters {
    /// Only calls and results of this tool.
    pub tool: Option<ToolName>,
    /// Only messages of this role.
    pub role: Option<Role>,
    /// Only conversations of this user.
    pub user: Option<UserId>,
    /// Only conversations of this agent.
    pub agent: Option<AgentId>,
    /// Only what was recorded before this time.
    pub before: Option<Timestamp>,
    /// Only what was recorded at this time or later.
    pub after: Option<Timestamp>,
    /// Only what has all of these.
    pub has: Vec<Has>,
}

/// The values of `has:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Has {
    /// A tool call or a tool result.
    Tool,
    /// The result of a tool that failed.
    Error,
    /// A message with a picture or a file.
    Attachment,
    /// The title of a conversation.
    Title,
    /// An event that a rewind hides. Without this filter no result is hidden.
    Rewound,
}

impl Has {
    /// Every value.
    const ALL: [Self; 5] = [Self::Tool, Self::Error, Self::Attachment, Self::Title, Self::Rewound];

    /// The value in queries.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Error => "error",
            Self::Attachment => "attachment",
            Self::Title => "title",
            Self::Rewound => "rewound",
        }
    }
}

impl Filters {
    /// Whether there is no filter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the results are the events that rewinds hide.
    #[must_use]
    pub fn is_rewound(&self) -> bool {
        self.has.contains(&Has::Rewound)
    }

    /// The tags that the index must have: names and values. Times, users and rewinds are not in the index.
    pub(crate) fn tags(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let tool = self.tool.as_ref().map(|tool| ("tool", tool.as_str()));
        let role = self.role.map(|role| ("role", role.as_str()));
        let agent = self.agent.as_ref().map(|agent| ("agent", agent.as_str()));
        let has = self.has.iter().filter(|has| **has != Has::Rewound).map(|has| ("has", has.as_str()));
        [tool, role, agent].into_iter().flatten().chain(has)
    }

    /// Sets a filter of [`FILTER_NAMES`].
    pub(super) fn set(&mut self, name: &'static str, value: &str) -> Result<(), QueryError> {
        match name {
            "tool" => once(&mut self.tool, name, id(name, ToolName::parse(value))?),
            "user" => once(&mut self.user, name, id(name, UserId::parse(value))?),
            "agent" => once(&mut self.agent, name, id(name, AgentId::parse(value))?),
            "role" => once(&mut self.role, name, role(value)?),
            "before" => once(&mut self.before, name, instant(name, value)?),
            "after" => once(&mut self.after, name, instant(name, value)?),
            _ => {
                let mut all = Has::ALL.into_iter();
                let has = all.find(|has| has.as_str().eq_ignore_ascii_case(value));
                let rule = "must be tool, error, attachment, title or rewound";
                self.has.push(has.ok_or_else(|| invalid(name, rule))?);
                Ok(())
            }
        }
    }
}

fn once<T>(filter: &mut Option<T>, name: &'static str, value: T) -> Result<(), QueryError> {
    match filter.replace(value) {
        None => Ok(()),
        Some(_) => Err(QueryError::RepeatedFilter { name }),
    }
}

fn id<T>(name: &'static str, parsed: Result<T, domain::Violation>) -> Result<T, QueryError> {
    parsed.map_err(|violation| invalid(name, &violation.description))
}

fn role(value: &str) -> Result<Role, QueryError> {
    let mut roles = Role::ALL.into_iter();
    let role = roles.find(|role| role.as_str().eq_ignore_ascii_case(value));
    role.ok_or_else(|| invalid("role", "must be user, assistant, system or developer"))
}

/// A day begins at midnight UTC.
fn instant(name: &'static str, value: &str) -> Result<Timestamp, QueryError> {
    let day = Date::parse(value, &Iso8601::DATE).map(|day| day.midnight().assume_utc());
    let time = day.or_else(|_| OffsetDateTime::parse(value, &Rfc3339));
    let nanos = time.ok().map(OffsetDateTime::unix_timestamp_nanos).and_then(|nanos| i64::try_from(nanos).ok());
    let rule = "must be a day such as 2026-11-22 or a time such as 2026-11-22T05:00:00Z, from 1678 to 2261";
    nanos.map(Timestamp).ok_or_else(|| invalid(name, rule))
}

fn invalid(name: &'static str, rule: &str) -> QueryError {
    QueryError::InvalidFilter { name, rule: rule.to_owned() }
}
