//! Names of conversations: callers that choose the same ones never notice each other, whatever they do with them.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use tests::http_client::{Answer, HttpClient};
use tests::operator::Operator;
use wire::proto::operate::v1::{AgentSettings, IdentityMode, Scope};

use crate::fixture::Fixture;

/// The steps of a run of the generator.
const STEPS: usize = 400;

/// A caller who chooses names.
struct Caller {
    is_back_end: bool,
    client: HttpClient,
}

impl Caller {
    fn path(&self) -> &'static str {
        if self.is_back_end { "/v1/conversations" } else { "/api/chats" }
    }

    async fn create(&self, name: &str, title: &str) -> Answer {
        let mut body = json!({"id": name, "title": title});
        if self.is_back_end {
            body["userId"] = json!("back-end");
        }
        self.client.post(self.path(), &body).await
    }

    async fn get(&self, name: &str) -> Answer {
        self.client.get(&format!("{}/{name}", self.path())).await
    }
}

/// An agent whose callers choose who they are, one with issued sessions, and a back end.
struct Callers {
    fixture: Fixture,
    all: Vec<Caller>,
}

impl Callers {
    async fn start() -> Self {
        let mut fixture = Fixture::prepare().await;
        Box::pin(fixture.stack.start()).await;
        let operator = fixture.operator().await;
        for agent in ["support", "sales", "open"] {
            operator.agent("acme", agent).await;
        }
        set_identity(&operator, "open", IdentityMode::Open).await;
        let secret = operator.secret_key(&[Scope::Append, Scope::Read, Scope::Erase], &["support"]).await.secret;
        let back_end = fixture.stranger().with("authorization", &format!("Bearer {secret}"));
        let mut all = vec![Caller { is_back_end: true, client: back_end }];
        for agent in ["support", "sales"] {
            let stranger = fixture.stranger().with("x-api-key", &operator.api_key(agent).await.secret);
            for _ in 0..2 {
                all.push(Caller { is_back_end: false, client: stranger.in_session().await });
            }
        }
        let open = fixture.stranger().with("x-api-key", &operator.api_key("open").await.secret);
        // A user and a session with one id are two owners.
        for (header, id) in [("x-user-id", "ada"), ("x-session-id", "ada"), ("x-user-id", "back-end")] {
            all.push(Caller { is_back_end: false, client: open.with(header, id) });
        }
        Self { fixture, all }
    }
}

async fn set_identity(operator: &Operator, agent: &str, mode: IdentityMode) {
    operator.settings(agent, AgentSettings { identity_mode: mode.into(), ..AgentSettings::default() }).await;
}

/// What a caller has under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Named {
    Titled(String),
    Erased,
}

/// A conversation as its owner reads it.
fn title_of(answer: &Answer) -> Value {
    let body = answer.ok(200);
    body.get("conversation").unwrap_or(&body)["title"].clone()
}

fn id_of(answer: &Answer) -> Value {
    let body = answer.ok(200);
    body.get("conversation").unwrap_or(&body)["id"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_never_notice_the_names_of_others() {
    let Callers { fixture: _fixture, all } = Callers::start().await;
    let issued = format!("conv_{}", "0".repeat(32));
    let names = ["slack-C123", "1", &issued, "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11"];
    let mut random = StdRng::seed_from_u64(37);
    let mut model: BTreeMap<(usize, &str), Named> = BTreeMap::new();
    for step in 0..STEPS {
        let (index, name) = (random.random_range(0..all.len()), names[random.random_range(0..names.len())]);
        let caller = &all[index];
        let has = model.get(&(index, name)).cloned();
        let case = format!("step {step}: caller {index}, {name}, {has:?}");
        match random.random_range(0..4) {
            0 => {
                let title = format!("title {step}");
                let created = caller.create(name, &title).await;
                if has.is_some() {
                    assert_eq!(created.status, 409, "{case}: {created:?}");
                } else {
                    let id = if caller.is_back_end { "conversationId" } else { "id" };
                    assert_eq!(created.ok(201)[id], json!(name), "{case}");
                    model.insert((index, name), Named::Titled(title));
                }
            }
            1 if !caller.is_back_end && matches!(has, Some(Named::Titled(_))) && random.random_ratio(1, 3) => {
                let erased = caller.client.erase(&format!("{}/{name}", caller.path())).await;
                assert!([200, 202, 204].contains(&erased.status), "{case}: {erased:?}");
                model.insert((index, name), Named::Erased);
            }
            _ => {
                let shown = caller.get(name).await;
                match has {
                    Some(Named::Titled(title)) => {
                        assert_eq!((title_of(&shown), id_of(&shown)), (json!(title), json!(name)), "{case}");
                    }
                    Some(Named::Erased) | None => assert_eq!(shown.status, 404, "{case}: {shown:?}"),
                }
            }
        }
    }
    // The generator has made the callers meet.
    assert!(model.len() > all.len(), "{model:?}");
    for name in names {
        let callers = model.keys().filter(|(_, used)| *used == name).count();
        assert!(callers > 1, "{name}: {model:?}");
    }
}
