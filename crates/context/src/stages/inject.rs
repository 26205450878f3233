//! Inject: an agent's system prompt and fields of the client context.
//!
//! Values are data: a page's address or metadata is never parsed as a template. Characters that could end a line are removed, so
//! that a value cannot pose as an instruction.

#[cfg(test)]
mod tests;
mod values;

use domain::{ClientContext, JsonText};

use crate::policy::{InjectedField, Policy};
use crate::template::values::clean;
use crate::template::{
    Renderer, TEMPLATE_OUTPUT_BYTES_MAX, TEMPLATE_READ_BYTES_MAX, TEMPLATE_STEPS_MAX, TemplateError, Values,
};
use values::values;

/// Most characters of one value in the list of fields; the rest is replaced by `…`.
pub const LISTED_CHARS_MAX: usize = 1_024;

/// A template that cannot be rendered for this client context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InjectError {
    /// The output is too long: shorten the template, or what it repeats.
    #[error("{field}: gives more than {TEMPLATE_OUTPUT_BYTES_MAX} bytes: shorten it, or what it repeats")]
    TooLong {
        /// The policy's field.
        field: &'static str,
    },
    /// Too many steps: repeat less.
    #[error(
        "{field}: takes more than {TEMPLATE_STEPS_MAX} steps, or its steps read more than {TEMPLATE_READ_BYTES_MAX} bytes: make it repeat less"
    )]
    TooManySteps {
        /// The policy's field.
        field: &'static str,
    },
    /// A value has another type than the template needs: test it before use.
    #[error("{field}: a value does not fit at line {line} ({rule}): test its kind there, with `is string` for one")]
    Unfit {
        /// The policy's field.
        field: &'static str,
        /// The template's line, from 1.
        line: usize,
        /// The kind of error; never the value.
        rule: String,
    },
}

/// The sections of the instructions, in order: the system prompt, then fields of the client context. Blank ones are omitted. The
/// same policy and client context give the same bytes.
///
/// # Errors
/// [`InjectError`]. A policy was validated when it was set, so only a client's values can cause one.
pub fn inject(policy: &Policy, client: &ClientContext) -> Result<Vec<String>, InjectError> {
    let values = values(client);
    let mut renderer = Renderer::new();
    let mut sections = Vec::new();
    if let Some(template) = &policy.instructions {
        sections.push(rendered("instructions", template, &mut renderer, &values)?);
    }
    match &policy.inject.template {
        Some(template) => sections.push(rendered("inject.template", template, &mut renderer, &values)?),
        None => sections.push(list(&policy.inject.fields, client)),
    }
    sections.retain(|section| !section.trim().is_empty());
    Ok(sections)
}

fn rendered<'policy>(
    field: &'static str,
    template: &'policy str,
    renderer: &mut Renderer<'policy>,
    values: &Values,
) -> Result<String, InjectError> {
    renderer.render(template, values).map_err(|refusal| match refusal {
        TemplateError::TooLong => InjectError::TooLong { field },
        TemplateError::TooManySteps => InjectError::TooManySteps { field },
        TemplateError::Unfit { line, rule } => InjectError::Unfit { field, line, rule },
    })
}

/// The fields that have a value, one per line; empty when none has.
fn list(fields: &[InjectedField], client: &ClientContext) -> String {
    let lines: Vec<String> = fields
        .iter()
        .filter_map(|field| {
            let (label, value) = listed(*field, client);
            let cleaned = clean(value?);
            let value = cleaned.trim();
            (!value.is_empty()).then(|| format!("\n- {label}: {}", cut(value)))
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("User context:{}", lines.concat())
}

fn listed(field: InjectedField, client: &ClientContext) -> (&'static str, Option<&str>) {
    match field {
        InjectedField::PageUrl => ("Page", client.page_url.as_deref()),
        InjectedField::Referrer => ("Referrer", client.referrer.as_deref()),
        InjectedField::UserAgent => ("User agent", client.user_agent.as_deref()),
        InjectedField::Locale => ("Locale", client.locale.as_deref()),
        InjectedField::Timezone => ("Timezone", client.timezone.as_deref()),
        InjectedField::CustomMetadata => {
            let metadata = client.custom_metadata.as_ref();
            ("Metadata", metadata.map(JsonText::as_str))
        }
    }
}

fn cut(value: &str) -> String {
    match value.char_indices().nth(LISTED_CHARS_MAX) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}
