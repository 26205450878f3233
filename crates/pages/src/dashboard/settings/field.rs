//! A labelled field of a form, with its help and its error.

use maud::{Markup, html};

/// How a field is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// A line of text.
    Text,
    /// A number.
    Number,
    /// One of these values; each with its label.
    Choice(&'static [(&'static str, &'static str)]),
    /// Any of these values; each with its label.
    Choices(&'static [(&'static str, &'static str)]),
    /// Lines of text, or a JSON document.
    Area,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name in the form.
    pub name: &'static str,
    /// Its label.
    pub label: &'static str,
    /// What it is for, and its bound.
    pub help: &'static str,
    /// How it is edited.
    pub control: Control,
    /// Its text; of [`Control::Choices`], the chosen values, one a line.
    pub value: String,
    /// What is wrong with it.
    pub error: Option<String>,
}

/// Rows of a text area at least and at most.
const ROWS: std::ops::RangeInclusive<usize> = 3..=24;

impl Field {
    fn id(&self) -> String {
        self.name.replace('.', "-")
    }

    /// The ids of the elements that describe the field.
    fn described_by(&self) -> String {
        let id = self.id();
        match self.error {
            Some(_) => format!("{id}-help {id}-error"),
            None => format!("{id}-help"),
        }
    }
}

pub(super) fn field(field: &Field) -> Markup {
    let id = field.id();
    html! {
        @match field.control {
            Control::Choices(choices) => {
                fieldset.field {
                    legend { (field.label) }
                    div.row { @for (value, label) in choices { (choice(field, value, label)) } }
                    (notes(field))
                }
            },
            Control::Text | Control::Number | Control::Choice(_) | Control::Area => {
                div.field {
                    label for=(id) { (field.label) }
                    (control(field))
                    (notes(field))
                }
            },
        }
    }
}

fn choice(field: &Field, value: &str, label: &str) -> Markup {
    let is_chosen = field.value.lines().any(|chosen| chosen == value);
    html! {
        label.choice {
            input type="checkbox" name=(field.name) value=(value) checked[is_chosen];
            " " (label)
        }
    }
}

fn control(field: &Field) -> Markup {
    let (id, name) = (field.id(), field.name);
    let invalid = field.error.is_some().then_some("true");
    let described_by = field.described_by();
    html! {
        @match field.control {
            Control::Choice(choices) => {
                select id=(id) name=(name) aria-invalid=[invalid] aria-describedby=(described_by) {
                    @for (value, label) in choices {
                        option value=(value) selected[*value == field.value] { (label) }
                    }
                }
            },
            Control::Area => {
                @let rows = field.value.lines().count().clamp(*ROWS.start(), *ROWS.end());
                textarea id=(id) name=(name) rows=(rows) spellcheck="false" aria-invalid=[invalid] aria-describedby=(described_by) {
                    // Browsers drop the first line break.
                    "\n" (field.value)
                }
            },
            Control::Number => {
                input id=(id) name=(name) type="text" inputmode="decimal" autocomplete="off" value=(field.value)
                    aria-invalid=[invalid] aria-describedby=(described_by);
            },
            Control::Text | Control::Choices(_) => {
                input id=(id) name=(name) type="text" autocomplete="off" spellcheck="false" value=(field.value)
                    aria-invalid=[invalid] aria-describedby=(described_by);
            },
        }
    }
}

fn notes(field: &Field) -> Markup {
    let id = field.id();
    html! {
        span.help id={ (id) "-help" } { (field.help) }
        @if let Some(error) = &field.error {
            span.error id={ (id) "-error" } role="alert" { (error) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_errors_are_text() {
        let script = "</textarea><script>alert(1)</script>\"";
        for control in [
            Control::Text,
            Control::Number,
            Control::Area,
            Control::Choice(&[("a", "A")]),
            Control::Choices(&[("a", "A")]),
        ] {
            let html = field(&Field {
                name: "model.server",
                label: "Server",
                help: "Its name",
                control,
                value: script.to_owned(),
                error: Some(script.to_owned()),
            })
            .into_string();
            assert!(!html.contains("<script>"), "{html}");
            assert!(html.contains("id=\"model-server-error\""), "{html}");
        }
    }
}
