//! The signed-in person of a page.

use identity::Role;

/// The signed-in person whom a page is rendered for. `Debug` would show the token of forms, so there is none.
#[derive(Clone, Copy)]
pub struct Person<'a> {
    /// The person's name.
    pub name: &'a str,
    /// The tenant whose data is shown.
    pub tenant: &'a str,
    /// What the person may do.
    pub role: Role,
    /// The token of forms: a secret of the session.
    pub form_token: &'a str,
}
