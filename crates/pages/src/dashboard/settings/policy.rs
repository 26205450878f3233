//! `/dashboard/settings/agents/{agent}/policy`: the context policy of an agent, with a preview on one of its conversations.

use maud::{Markup, html};

use super::{Tab, frame, tabs};
use crate::assets::POLICY;
use crate::components::{Tone, form, notice};
use crate::dashboard::context::{ContextColumn, column};
use crate::layout::{Person, document};

/// What is wrong with a policy, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedError {
    /// Line and column, from 1; `None`: the document as a whole.
    pub position: Option<(usize, usize)>,
    /// The rule that it breaks.
    pub text: String,
}

/// What the preview shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preview {
    /// Nothing was requested.
    None,
    /// The policy is valid; no conversation is named.
    Valid,
    /// The policy is invalid.
    Invalid(Vec<LocatedError>),
    /// Why there is no context.
    Failed(String),
    /// The contexts by the agent's policy and by this one.
    Contexts {
        /// By the agent's policy; `None`: it gives none.
        current: Option<Box<ContextColumn>>,
        /// By the policy of the form.
        draft: Box<ContextColumn>,
        /// Proves that the view of the conversation is recorded in the audit log.
        viewed: String,
    },
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct PolicyPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The agent.
    pub agent: &'a str,
    /// The policy as JSON.
    pub policy: &'a str,
    /// The digest of the policy that the form replaces.
    pub digest: &'a str,
    /// The conversation of the preview.
    pub conversation: &'a str,
    /// The preview.
    pub preview: &'a Preview,
    /// What was done, or what is wrong with the form as a whole.
    pub notice: Option<(Tone, &'a str)>,
}

/// Rows of the editor.
const ROWS: usize = 20;

/// The editor. The preview button is the first one, so the Enter key saves nothing.
#[must_use]
pub fn policy(page: PolicyPage<'_>) -> Markup {
    let title = format!("Context policy of {}", page.agent);
    let path = Tab::Policy.path(page.agent);
    let preview_path = format!("{path}/preview");
    let is_invalid = matches!(page.preview, Preview::Invalid(_));
    let content = html! {
        input type="hidden" name="digest" value=(page.digest);
        div.field {
            label for="policy" { "Policy" }
            textarea #policy name="policy" rows=(ROWS) spellcheck="false" aria-describedby="policy-help policy-errors"
                aria-invalid=[is_invalid.then_some("true")] { "\n" (page.policy) }
            span.help #policy-help { "A JSON document of at most 256 KiB; an empty object is the default policy." }
        }
        div.field {
            label for="conversation" { "Conversation of the preview" }
            input #conversation type="text" name="conversation" value=(page.conversation) maxlength="128" autocomplete="off"
                spellcheck="false" aria-describedby="conversation-help";
            span.help #conversation-help { "The id of a conversation of this agent; empty: the policy is checked only." }
        }
        div.row {
            button type="submit" formaction=(preview_path) { "Preview" }
            button.primary type="submit" { "Save" }
            span.muted { "No model is called. " span data-needs-script hidden { "The preview follows while you type." } }
        }
        p.visually-hidden #preview-status role="status" {}
        (preview(page.preview))
    };
    let main = html! {
        (tabs(page.agent, Tab::Policy))
        @if let Some((tone, text)) = page.notice { (notice(tone, text)) }
        div.stacked data-preview-path=(preview_path) { (form(&page.person, &path, &content)) }
        script type="module" src=(POLICY.path()) {}
    };
    document(&frame(page.person, &title), &main)
}

/// The element that the script replaces.
fn preview(preview: &Preview) -> Markup {
    html! {
        div #preview {
            @match preview {
                Preview::None => {},
                Preview::Valid => p { "The policy is valid." },
                Preview::Invalid(errors) => div.notice.bad #policy-errors {
                    p { "The policy is not valid:" }
                    ul { @for one in errors { (error(one)) } }
                },
                Preview::Failed(text) => div.notice.bad { (text) },
                Preview::Contexts { current, draft, viewed } => {
                    input type="hidden" name="viewed" value=(viewed);
                    div.columns {
                        @if let Some(current) = current {
                            section aria-label="Context by the agent's policy" { (column(current)) }
                        }
                        section aria-label="Context by this policy" { (column(draft)) }
                    }
                },
            }
        }
    }
}

fn error(error: &LocatedError) -> Markup {
    html! {
        li {
            @if let Some((line, column)) = error.position {
                strong { "Line " (line) ", column " (column) ": " }
            }
            (error.text)
        }
    }
}
