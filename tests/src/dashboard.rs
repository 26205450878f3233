//! People who use the dashboard: requests as their browsers send them.

use reqwest::{Method, StatusCode};
use wire::proto::operate::v1::{CreateDashboardLinkRequest, DashboardRole};

use crate::eventually::{eventually, within};
use crate::http_client::{Answer, HttpClient};
use crate::operator::Operator;

/// The path of one-time links.
pub const LINK_PATH: &str = "/dashboard/sign-in/link";
const FORM_TOKEN: &str = "name=\"form_token\" value=\"";

/// A browser, signed in or not. Clones share nothing but connections.
#[derive(Debug, Clone)]
pub struct Browser {
    client: HttpClient,
    form_token: String,
    session: String,
}

impl Operator {
    /// The token of a new link.
    ///
    /// # Panics
    /// When the registry rejects it.
    pub async fn dashboard_link(&self, tenant: &str, role: DashboardRole) -> String {
        let request =
            CreateDashboardLinkRequest { tenant_id: tenant.to_owned(), name: "ada".to_owned(), role: role.into() };
        let created = self.registry().create_dashboard_link(request).await;
        created.expect("a link").into_inner().token
    }
}

impl Browser {
    /// A browser that is not signed in.
    #[must_use]
    pub fn new(client: HttpClient) -> Self {
        Self { client, form_token: String::new(), session: String::new() }
    }

    /// A browser of a person with this role, signed in by a link.
    ///
    /// # Panics
    /// When the sign-in fails.
    pub async fn signed_in(client: HttpClient, operator: &Operator, tenant: &str, role: DashboardRole) -> Self {
        let token = operator.dashboard_link(tenant, role).await;
        let browser = Self::new(client);
        let page = format!("{LINK_PATH}?token={token}");
        // The gateway may not know the tenant yet.
        let shown = eventually("a link that is known", || async {
            let answer = browser.get(&page).await;
            (answer.status == 200).then_some(answer)
        });
        shown.await;
        let answer = browser.post(LINK_PATH, &[("token", &token)]).await;
        browser.with_session(&answer).await
    }

    /// The same browser with the session that an answer sets.
    ///
    /// # Panics
    /// When the answer sets no session.
    pub async fn with_session(&self, answer: &Answer) -> Self {
        assert_eq!(answer.status, 303, "{:?}", answer.text());
        let cookie = answer.headers.get("set-cookie").expect("a cookie");
        let pair = cookie.split(';').next().unwrap_or_default();
        let mut browser = self.with_header("cookie", pair);
        let (_, session) = pair.split_once('=').expect("a name");
        session.clone_into(&mut browser.session);
        let page = browser.get("/dashboard").await;
        assert_eq!(page.status, 200, "{}", page.text());
        let text = page.text();
        let (_, token) = text.split_once(FORM_TOKEN).expect("a form");
        token.split('"').next().unwrap_or_default().clone_into(&mut browser.form_token);
        browser
    }

    /// The same browser with another header.
    #[must_use]
    pub fn with_header(&self, name: &str, value: &str) -> Self {
        Self { client: self.client.with(name, value), ..self.clone() }
    }

    /// The same browser whose forms have another token.
    #[must_use]
    pub fn with_form_token(&self, token: &str) -> Self {
        Self { form_token: token.to_owned(), ..self.clone() }
    }

    /// The token of this session's forms.
    #[must_use]
    pub fn form_token(&self) -> &str {
        &self.form_token
    }

    /// The token of the session, which its cookie contains.
    #[must_use]
    pub fn session_token(&self) -> &str {
        &self.session
    }

    /// Opens a page.
    pub async fn get(&self, path: &str) -> Answer {
        self.client.get(path).await
    }

    /// Sends a form of the page's own origin.
    ///
    /// # Panics
    /// When there is no whole answer in time.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.post_from(path, fields, "same-origin").await
    }

    /// Sends a form of a page whose origin is this for the gateway's: `same-origin`, `same-site` or `cross-site`.
    ///
    /// # Panics
    /// When there is no whole answer in time.
    pub async fn post_from(&self, path: &str, fields: &[(&str, &str)], site: &str) -> Answer {
        let token = ("form_token", self.form_token.as_str());
        let fields: Vec<(&str, &str)> = fields.iter().copied().chain([token]).collect();
        let request = self.client.request(Method::POST, path);
        let mut form = form_urlencoded::Serializer::new(String::new());
        let request = request
            .header("sec-fetch-site", site)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form.extend_pairs(fields).finish());
        let answer = within(path, request.send()).await.expect("an answer");
        Answer::read(path, answer).await
    }
}

/// Whether an answer goes to the sign-in.
#[must_use]
pub fn is_sign_in_required(answer: &Answer) -> bool {
    let location = answer.headers.get("location");
    let goes_there = location.is_some_and(|url| url.starts_with("/dashboard/sign-in"));
    goes_there || answer.status == StatusCode::UNAUTHORIZED.as_u16()
}
