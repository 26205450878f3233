//! Cookies of browsers: the session, and the positions of its writes.

pub(super) mod position_cookie;
pub(super) mod session_cookie;
