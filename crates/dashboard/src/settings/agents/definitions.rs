//! The fields of the form of an agent's settings.

use pages::dashboard::settings::Control;
use pages::dashboard::settings::choices::{APPROVERS, IDENTITY_MODES, LOG_DETAILS, ROLES, SEARCHED};

/// How the text of a field becomes JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A string.
    Text,
    /// A number.
    Number,
    /// One of these values, with labels; `true` is a boolean, others are strings.
    Choice(&'static [(&'static str, &'static str)]),
    /// A list of these values, with labels.
    Choices(&'static [(&'static str, &'static str)]),
    /// A list of strings, one a line.
    Lines,
    /// A JSON document.
    Json,
    /// A JSON document as a string.
    JsonText,
}

/// A field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Definition {
    /// The heading above it.
    pub(super) group: &'static str,
    /// The path of the setting in `hansard.operate.v1.AgentSettings`; also its name in the form.
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: Kind,
}

impl Kind {
    pub(super) fn control(self) -> Control {
        match self {
            Self::Text => Control::Text,
            Self::Number => Control::Number,
            Self::Choice(choices) => Control::Choice(choices),
            Self::Choices(choices) => Control::Choices(choices),
            Self::Lines | Self::Json | Self::JsonText => Control::Area,
        }
    }
}

impl Definition {
    /// The keys of the setting in JSON, outermost first.
    pub(super) fn json_path(&self) -> impl DoubleEndedIterator<Item = String> {
        self.name.split('.').map(camel_case)
    }

    /// The setting that contains it, as update masks name it.
    pub(super) fn setting(&self) -> &'static str {
        self.name.split('.').next().unwrap_or_default()
    }
}

/// The name of a protobuf field in JSON.
pub(super) fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(word.len().min(1));
        name + &head.to_ascii_uppercase() + tail
    })
}

const fn field(
    group: &'static str,
    name: &'static str,
    label: &'static str,
    help: &'static str,
    kind: Kind,
) -> Definition {
    Definition { group, name, label, help, kind }
}

/// Every setting, in the order of the form.
#[rustfmt::skip]
pub(super) const DEFINITIONS: &[Definition] = &[
    field("Model", "model.server", "Server", "The model server in the gateway's configuration; echo is built in. Empty: the agent does not answer.", Kind::Text),
    field("Model", "model.model", "Model", "As the server names it; at most 256 bytes.", Kind::Text),
    field("Model", "model.output_tokens_max", "Most tokens of an answer", "Empty: the server's default.", Kind::Number),
    field("Model", "model.temperature", "Temperature", "0 to 2. Empty: the server's default.", Kind::Number),
    field("Model", "model.steps_max", "Most answers in a run", "1 to 32. Empty: 8.", Kind::Number),
    field("Model", "other_models", "Other models", "One a line: models of the same server that requests of the OpenAI APIs may name; at most 32.", Kind::Lines),
    field("Tools", "tools", "Tools", "A JSON list of tools: toolName, description, inputSchemaJson, webhookUrl, needsApproval, timeoutMs; at most 128.", Kind::Json),
    field("Tools", "approvers", "Who approves calls", "Administrators always may.", Kind::Choice(APPROVERS)),
    field("Tools", "output_schema_json", "Output schema", "The JSON Schema that every answer must match; at most 64 KiB. Empty: any text.", Kind::JsonText),
    field("Identity", "identity_mode", "Identity mode", "How callers of the agent's API keys are identified.", Kind::Choice(IDENTITY_MODES)),
    field("Identity", "allowed_roles", "Allowed roles", "Roles of public callers' messages, beside user.", Kind::Choices(ROLES)),
    field("Identity", "frontend", "Frontends", "A JSON object: toolCalls, attachments, clientContext; what callers of API keys get and may send.", Kind::Json),
    field("Retention", "retention.messages_max", "Most messages of a conversation", "A longer one is archived. Empty: any number.", Kind::Number),
    field("Retention", "retention.conversations_per_owner_max", "Most conversations of an owner", "The oldest are erased; at most 10,000. Empty: any number.", Kind::Number),
    field("Retention", "retention.idle_seconds_max", "Most seconds without an event", "Then a conversation is erased. Empty: never.", Kind::Number),
    field("Texts by models", "titles", "Titles", "A JSON object: charsMax, model; {} takes titles from the first message. Empty: no titles.", Kind::Json),
    field("Texts by models", "summaries", "Summaries", "A JSON object: model, tokensMin, tokensKept. Empty: no summaries.", Kind::Json),
    field("Quotas", "quotas", "Quotas", "A JSON object by scope: agent, key, owner, address. Empty: the tenant's quotas.", Kind::Json),
    field("Logs and search", "provider_logs.detail", "Logs of model servers", "What is logged of requests and replies.", Kind::Choice(LOG_DETAILS)),
    field("Logs and search", "provider_logs.days", "Days of these logs", "1 to 90. Empty: 14.", Kind::Number),
    field("Logs and search", "search.disabled", "Search", "Whether the agent's conversations are searched.", Kind::Choice(SEARCHED)),
    field("Logs and search", "search.language", "Language", "A code such as en, whose inflections are found as one word. Empty: words as written.", Kind::Text),
];
