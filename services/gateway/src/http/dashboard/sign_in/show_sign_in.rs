//! `GET /dashboard/sign-in`: how to sign in.

use pages::dashboard::sign_in::{SignInPage, sign_in};

use crate::http::dashboard::Page;

pub(in crate::http::dashboard) async fn show_sign_in() -> Page {
    Page(sign_in(SignInPage { provider: None }))
}
