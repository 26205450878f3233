//! The end user of a back end's request, and the conversations that the request may open.
//!
//! A frontend chooses the ids of its conversations, and anybody can be a frontend. So the conversation of a session or a user is
//! opened for that user only, unless the request has an id that no frontend can choose: the back end got it from the service.

use domain::{ConversationId, Owner, UserId};
use wire::status::Problem;

use crate::problem::not_found;

/// Who has chosen an id by which a request names a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdOrigin {
    /// The service.
    Issued,
    /// Perhaps a frontend.
    Chosen,
}

impl IdOrigin {
    /// The origin of a conversation's id. Ids with the prefix `history:` are of channels only, which no frontend can be.
    #[must_use]
    pub fn of(id: &ConversationId) -> Self {
        if id.is_history() || id.is_issued() { Self::Issued } else { Self::Chosen }
    }
}

/// The end user of a request, if it names one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndUser(Option<UserId>);

impl EndUser {
    /// This end user; without one, the one whom the first of these fields of the body names.
    ///
    /// # Errors
    /// As [`EndUser::named`].
    pub fn or_of_body(self, fields: &[(&str, Option<&str>)]) -> Result<Self, Problem> {
        let named = fields.iter().find_map(|(field, user)| user.map(|user| (user, field)));
        match (self.0, named) {
            (None, Some((user, field))) => Self::named(user.to_owned(), field),
            (user, _) => Ok(Self(user)),
        }
    }

    /// The end user with this name; `field` is the caller's name of the field.
    ///
    /// # Errors
    /// The name is not 1 to 256 bytes without control characters.
    pub fn named(user: String, field: &str) -> Result<Self, Problem> {
        let user = UserId::parse(user).map_err(|violation| violation.within(field))?;
        Ok(Self(Some(user)))
    }

    /// The end user.
    #[must_use]
    pub fn user(&self) -> Option<&UserId> {
        self.0.as_ref()
    }

    /// The end user as an owner.
    #[must_use]
    pub fn owner(&self) -> Option<Owner> {
        self.0.clone().map(Owner::User)
    }

    /// The owner that a conversation must have, so that the request may open it by an id of this origin; `None`: any.
    ///
    /// # Errors
    /// [`not_found`]: the request names no end user, and a frontend could have chosen the id.
    pub fn expected_owner(&self, origin: IdOrigin) -> Result<Option<Owner>, Problem> {
        match (self.owner(), origin) {
            (None, IdOrigin::Chosen) => Err(not_found()),
            (owner, _) => Ok(owner),
        }
    }

    /// Checks the owner of a conversation that the request opens by an id of this origin.
    ///
    /// # Errors
    /// [`not_found`]: it is not the expected owner.
    pub fn check_owner(&self, origin: IdOrigin, owner: Option<&Owner>) -> Result<(), Problem> {
        match self.expected_owner(origin)? {
            Some(expected) if owner != Some(&expected) => Err(not_found()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(id: &str) -> UserId {
        UserId::parse(id).unwrap()
    }

    #[test]
    fn only_the_service_issues_some_ids() {
        let check = |id: &str, expected: IdOrigin| {
            assert_eq!(IdOrigin::of(&ConversationId::parse(id).unwrap()), expected, "{id}");
        };
        let digits = "0198c1a27c1e7b5e9d0a1f6f0c9b2a11";
        check(&format!("conv_{digits}"), IdOrigin::Issued);
        check(&format!("history:conv_channel_{digits}"), IdOrigin::Issued);
        for chosen in [
            "slack-C123",
            "conv_1",
            digits,
            "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11",
            "conv_0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11",
            &format!("conv_{}", digits.to_uppercase()),
            &format!("conv_channel_{digits}"),
            &format!("conv_{digits}0"),
        ] {
            check(chosen, IdOrigin::Chosen);
        }
    }

    #[test]
    fn a_header_names_the_end_user_before_the_body() {
        let check = |header: Option<&str>, body: [Option<&str>; 2], expected: Option<&str>| {
            let fields = [("user", body[0]), ("safety_identifier", body[1])];
            let end_user = EndUser(header.map(user)).or_of_body(&fields).unwrap();
            assert_eq!(end_user.user().map(UserId::as_str), expected, "{header:?} {body:?}");
        };
        check(None, [None, None], None);
        check(None, [Some("b"), None], Some("b"));
        check(None, [None, Some("c")], Some("c"));
        check(None, [Some("b"), Some("c")], Some("b"));
        check(Some("a"), [None, None], Some("a"));
        check(Some("a"), [Some("b"), Some("c")], Some("a"));
        let refused = EndUser::default().or_of_body(&[("safety_identifier", Some(""))]);
        assert_eq!(*refused.unwrap_err().field().unwrap(), *"safety_identifier");
    }

    #[test]
    fn an_end_user_opens_only_its_conversations() {
        let [a, b] = ["a", "b"].map(|id| Owner::User(user(id)));
        let check = |end_user: Option<&str>, origin: IdOrigin, owner: Option<&Owner>, expected: bool| {
            let checked = EndUser(end_user.map(user)).check_owner(origin, owner);
            assert_eq!(checked.is_ok(), expected, "{end_user:?} {origin:?} {owner:?}");
        };
        for owner in [None, Some(&a), Some(&b)] {
            check(None, IdOrigin::Issued, owner, true);
            check(None, IdOrigin::Chosen, owner, false);
        }
        for origin in [IdOrigin::Issued, IdOrigin::Chosen] {
            check(Some("a"), origin, Some(&a), true);
            check(Some("a"), origin, Some(&b), false);
            check(Some("a"), origin, None, false);
        }
    }
}
