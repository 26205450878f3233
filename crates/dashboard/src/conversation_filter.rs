//! The filter of the conversation list: one line of text, which is the page's URL. Pure.
//!
//! A line has words `key:value`; a value with spaces is in double quotes. Every word must hold.

use domain::{AgentId, ConversationId, Head, Owner, RunOutcome, Status, Timestamp};
use pages::components::FilterWord;
use time::format_description::well_known::Rfc3339;
use time::{Date, OffsetDateTime};

/// Maximum length of a line, in bytes.
pub const FILTER_BYTES_MAX: usize = 1_024;

/// The words, for the help of the page.
pub const WORDS: [FilterWord; 13] = [
    word("agent:support", "of this agent"),
    word("owner:ada", "of this user, session or channel"),
    word("status:archived", "active, archived or all; without it: active and archived"),
    word("after:2026-11-01", "last activity on this day or later, in UTC; or a time of RFC 3339"),
    word("before:2026-12-01", "last activity before this day"),
    word("outcome:failed", "the last run completed, stopped, failed or was abandoned"),
    word("errors:>0", "recorded errors and failed runs, among the newest 200 and 20"),
    word("tokens:>1000", "tokens that models read and wrote"),
    word("messages:>=10", "messages"),
    word("model:gpt-5", "one of the newest 200 events names this model"),
    word("tool:search", "one of the newest 200 calls is of this tool"),
    word("id:chat-1", "the conversation with this id"),
    word("sort:tokens", "newest, tokens, messages or errors; all but newest sort the newest 500 matches"),
];

const fn word(example: &'static str, meaning: &'static str) -> FilterWord {
    FilterWord { example, meaning }
}

/// A parsed line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConversationFilter {
    /// The agent.
    pub agent: Option<AgentId>,
    /// The id of the owner, of any kind.
    pub owner: Option<String>,
    /// The status; `None`: active and archived.
    pub status: Option<Status>,
    /// The last event is at this time or later.
    pub after: Option<Timestamp>,
    /// The last event is earlier.
    pub before: Option<Timestamp>,
    /// How the last run ended.
    pub outcome: Option<RunOutcome>,
    /// Errors and failed runs.
    pub errors: Option<Comparison>,
    /// Input and output tokens.
    pub tokens: Option<Comparison>,
    /// Messages.
    pub messages: Option<Comparison>,
    /// A model.
    pub model: Option<String>,
    /// A tool.
    pub tool: Option<String>,
    /// One conversation.
    pub id: Option<ConversationId>,
    /// The order.
    pub sort: Sort,
}

/// The order of a list, the greatest value first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// By the last event.
    #[default]
    Newest,
    /// By tokens.
    Tokens,
    /// By messages.
    Messages,
    /// By errors and failed runs.
    Errors,
}

/// A bound of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// More than.
    Above(u64),
    /// At least.
    AtLeast(u64),
    /// Less than.
    Below(u64),
    /// At most.
    AtMost(u64),
    /// Exactly.
    Equal(u64),
}

impl Comparison {
    /// Whether a number is within the bound.
    #[must_use]
    pub fn holds(self, value: u64) -> bool {
        match self {
            Self::Above(bound) => value > bound,
            Self::AtLeast(bound) => value >= bound,
            Self::Below(bound) => value < bound,
            Self::AtMost(bound) => value <= bound,
            Self::Equal(bound) => value == bound,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let bound = |prefix: &str| text.strip_prefix(prefix)?.parse().ok();
        bound(">=")
            .map(Self::AtLeast)
            .or_else(|| bound("<=").map(Self::AtMost))
            .or_else(|| bound(">").map(Self::Above))
            .or_else(|| bound("<").map(Self::Below))
            .or_else(|| bound("").map(Self::Equal))
    }
}

impl ConversationFilter {
    /// Parses a line.
    ///
    /// # Errors
    /// What is wrong with the first wrong word, and how to correct it.
    pub fn parse(line: &str) -> Result<Self, String> {
        if line.len() > FILTER_BYTES_MAX {
            let bytes = line.len();
            return Err(format!(
                "The filter has {bytes} bytes; at most {FILTER_BYTES_MAX} are possible. Remove words."
            ));
        }
        let mut filter = Self::default();
        for word in words(line)? {
            let (key, value) = word
                .split_once(':')
                .ok_or_else(|| format!("“{word}” is no filter: write key:value, such as agent:support."))?;
            if value.is_empty() {
                return Err(format!("“{key}:” has no value: write it without a space after the colon."));
            }
            filter.set(key, value)?;
        }
        Ok(filter)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let number = || {
            let wrong = || format!("“{key}:{value}” is no number: write {key}:>0, {key}:>=10, {key}:<5 or {key}:0.");
            Comparison::parse(value).ok_or_else(wrong)
        };
        match key {
            "agent" => self.agent = Some(AgentId::parse(value).map_err(|_| no_id(key, value))?),
            "id" => self.id = Some(ConversationId::parse(value).map_err(|_| no_id(key, value))?),
            "owner" => self.owner = Some(value.to_owned()),
            "status" => self.status = status(value)?,
            "after" => self.after = Some(time(key, value)?),
            "before" => self.before = Some(time(key, value)?),
            "outcome" => self.outcome = Some(outcome(value)?),
            "errors" => self.errors = Some(number()?),
            "tokens" => self.tokens = Some(number()?),
            "messages" => self.messages = Some(number()?),
            "model" => self.model = Some(value.to_owned()),
            "tool" => self.tool = Some(value.to_owned()),
            "sort" => self.sort = sort(value)?,
            _ => {
                let names: Vec<&str> = WORDS.iter().filter_map(|word| Some(word.example.split_once(':')?.0)).collect();
                let known = names.join(", ");
                return Err(format!("“{key}:” is no filter. Filters are: {known}."));
            }
        }
        Ok(())
    }

    /// Whether a conversation's head and id satisfy the filter, apart from what the list's index selects and from facts.
    #[must_use]
    pub fn admits(&self, id: &ConversationId, head: &Head) -> bool {
        let totals = &head.totals;
        let tokens = totals.input_tokens.saturating_add(totals.output_tokens);
        let is_owner = |owner: &String| head.owner.as_ref().is_some_and(|own| id_of(own) == owner);
        self.owner.as_ref().is_none_or(is_owner)
            && self.id.as_ref().is_none_or(|wanted| wanted == id)
            && self.tokens.is_none_or(|bound| bound.holds(tokens))
            && self.messages.is_none_or(|bound| bound.holds(totals.messages))
    }

    /// Whether the filter needs facts about each conversation.
    #[must_use]
    pub fn needs_facts(&self) -> bool {
        self.outcome.is_some()
            || self.errors.is_some()
            || self.model.is_some()
            || self.tool.is_some()
            || self.sort == Sort::Errors
    }

    /// Whether the list's index does not select all that the filter asks for.
    #[must_use]
    pub fn examines(&self) -> bool {
        self.needs_facts()
            || self.owner.is_some()
            || self.id.is_some()
            || self.tokens.is_some()
            || self.messages.is_some()
    }
}

/// The id of an owner.
#[must_use]
pub fn id_of(owner: &Owner) -> &str {
    match owner {
        Owner::User(user) => user.as_str(),
        Owner::Session(session) => session.as_str(),
        Owner::Channel(channel) => channel.as_str(),
    }
}

/// The words of a line, without their quotes.
fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for sign in line.chars() {
        match sign {
            '"' => is_quoted = !is_quoted,
            sign if sign.is_whitespace() && !is_quoted => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            sign => word.push(sign),
        }
    }
    if is_quoted {
        return Err("A quotation mark is not closed: add the second one.".to_owned());
    }
    words.extend((!word.is_empty()).then_some(word));
    Ok(words)
}

fn no_id(key: &str, value: &str) -> String {
    format!("“{key}:{value}” is no id: copy it from the list.")
}

fn status(value: &str) -> Result<Option<Status>, String> {
    match value {
        "all" => Ok(None),
        "active" => Ok(Some(Status::Active)),
        "archived" => Ok(Some(Status::Archived)),
        _ => Err(format!("“status:{value}” is no status: write active, archived or all.")),
    }
}

fn outcome(value: &str) -> Result<RunOutcome, String> {
    let mut all = RunOutcome::ALL.into_iter();
    let outcome = all.find(|outcome| outcome.as_str() == value);
    outcome.ok_or_else(|| format!("“outcome:{value}” is no outcome: write completed, stopped, failed or abandoned."))
}

fn sort(value: &str) -> Result<Sort, String> {
    match value {
        "newest" => Ok(Sort::Newest),
        "tokens" => Ok(Sort::Tokens),
        "messages" => Ok(Sort::Messages),
        "errors" => Ok(Sort::Errors),
        _ => Err(format!("“sort:{value}” is no order: write newest, tokens, messages or errors.")),
    }
}

/// A day in UTC, or a time of RFC 3339.
fn time(key: &str, value: &str) -> Result<Timestamp, String> {
    let day = || {
        let mut parts = value.splitn(3, '-');
        let year: i32 = parts.next()?.parse().ok()?;
        let month: u8 = parts.next()?.parse().ok()?;
        let day: u8 = parts.next()?.parse().ok()?;
        let date = Date::from_calendar_date(year, month.try_into().ok()?, day).ok()?;
        Some(date.midnight().assume_utc())
    };
    let time = OffsetDateTime::parse(value, &Rfc3339).ok().or_else(day);
    let nanos = time.and_then(|time| i64::try_from(time.unix_timestamp_nanos()).ok());
    nanos
        .map(Timestamp)
        .ok_or_else(|| format!("“{key}:{value}” is no day: write {key}:2026-11-22 or {key}:2026-11-22T05:00:00Z."))
}

#[cfg(test)]
mod tests;
