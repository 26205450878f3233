//! Forms that change something, and buttons that copy.

use maud::{Markup, html};

use crate::person::Person;

/// The name of the field that contains the form's token.
pub const FORM_TOKEN_FIELD: &str = "form_token";

/// A form that a signed-in person sends by POST. It contains the token that proves that a page of the dashboard sent it.
#[must_use]
pub fn form(person: &Person<'_>, action: &str, content: &Markup) -> Markup {
    html! {
        form method="post" action=(action) {
            input type="hidden" name=(FORM_TOKEN_FIELD) value=(person.form_token);
            (content)
        }
    }
}

/// A button that copies the text of the element with this id. Hidden without scripts.
#[must_use]
pub fn copy_button(id: &str) -> Markup {
    html! {
        button.quiet type="button" data-copy=(id) data-needs-script hidden { "Copy" }
    }
}
