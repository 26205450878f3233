//! The projection `search`: documents follow events and titles, settings, and erasures in any order.

use domain::event::{ConversationUpdated, Role};
use domain::{AgentId, ConversationKey, Event, Fact, FieldChange, Lifecycle, Owner, Sequence, SessionId};
use read_model::ReadModel;
use read_model::projections::conversations::{ApplyError, Item, residue};
use read_model::projections::search::verification::{Differences, DocumentsState, compare_documents};
use read_model::projections::search::{
    AgentSearch, ReindexStep, ReindexTurn, apply, fill_step, reindex_step, reindexing_agents, request_reindex,
    set_agents,
};
use read_model::queries::search::{
    CANDIDATES_MAX, CandidateCount, DocumentQuery, DocumentScope, FoundDocuments, documents, search_progress, term_key,
};
use search::{Document, Language, Query};
use sqlx::Connection as _;

use crate::fixture::{Author, Projection, START, access, execute, message, take};

/// Both projections of one database.
pub(crate) struct Search {
    pub(crate) rows: Projection,
    pub(crate) documents: Projection,
    pub(crate) model: ReadModel,
    pub(crate) url: String,
}

impl Search {
    pub(crate) async fn new() -> Self {
        Self::at(&devstack::test::database().await.url).await
    }

    pub(crate) async fn at(url: &str) -> Self {
        let rows = Projection::at(url).await;
        let model = rows.model.for_search();
        read_model::projections::conversations::lease::ensure(&model, 8).await.unwrap();
        let checkpoint = take(&model, 0, "a").await.unwrap();
        let documents = Projection { model: model.clone(), checkpoint };
        Self { rows, documents, model, url: url.to_owned() }
    }

    /// Writes documents only.
    pub(crate) async fn index(&mut self, items: Vec<Item>) {
        index(&mut self.documents, items).await;
    }

    /// Writes rows and documents.
    pub(crate) async fn both(&mut self, items: Vec<Item>) {
        self.rows.apply(items.clone()).await;
        self.index(items).await;
    }

    pub(crate) async fn query(&self, text: &str) -> DocumentQuery {
        let query = Query::parse(text).unwrap();
        let key = term_key(&self.rows.model, &access("acme")).await.unwrap().unwrap();
        DocumentQuery {
            terms: key.of_query(&query, &[Language::English]),
            scope: DocumentScope { agents: vec![AgentId::parse("support").unwrap()], owner: None },
            recorded_after: query.filters.after,
            recorded_before: query.filters.before,
            after: None,
            limit: 10,
        }
    }

    pub(crate) async fn run(&self, query: &DocumentQuery) -> FoundDocuments {
        documents(&self.rows.model, &access("acme"), query).await.unwrap()
    }

    /// The texts of the documents that match, newest first.
    pub(crate) async fn texts(&self, text: &str) -> Vec<String> {
        texts(&self.run(&self.query(text).await).await)
    }

    async fn set(&self, is_enabled: bool, language: Option<Language>) {
        let agent = AgentSearch {
            tenant: access("acme").tenant().clone(),
            agent: AgentId::parse("support").unwrap(),
            is_enabled,
            language,
        };
        set_agents(&self.rows.model, &[agent]).await.unwrap();
    }

    /// Makes all filters that are missing; returns their number.
    pub(crate) async fn fill(&self) -> usize {
        let mut filters = 0;
        loop {
            let made = fill_step(&self.model).await.unwrap();
            filters += made;
            if made == 0 {
                return filters;
            }
        }
    }

    /// Indexes everything again that waits; returns the number of steps.
    pub(crate) async fn reindex(&self) -> usize {
        let mut steps = 0;
        let mut turn = ReindexTurn::default();
        while reindex_step(&self.model, &mut turn).await.unwrap() != ReindexStep::Idle {
            steps += 1;
        }
        steps
    }
}

/// Writes documents.
pub(crate) async fn index(documents: &mut Projection, items: Vec<Item>) {
    let batch = documents.batch(items);
    apply(&documents.model, std::slice::from_ref(&batch)).await.unwrap();
    documents.checkpoint.sequence = batch.last;
}

/// All documents are counted.
fn exactly(count: u32) -> CandidateCount {
    CandidateCount { count, is_capped: false }
}

pub(crate) fn texts(found: &FoundDocuments) -> Vec<String> {
    let text = |event: &Event| Document::of_event(event).map(|document| document.text);
    let documents = found.documents.iter();
    documents
        .map(|one| match &one.event {
            Some(event) => text(event).unwrap(),
            None => format!("title: {}", one.title.as_deref().unwrap()),
        })
        .collect()
}

pub(crate) fn titled(title: &FieldChange<&str>) -> Fact {
    Fact::from(ConversationUpdated {
        title: Some(match title {
            FieldChange::Set(title) => FieldChange::Set((*title).to_owned()),
            FieldChange::Clear => FieldChange::Clear,
        }),
        ..ConversationUpdated::default()
    })
}

pub(crate) fn erased() -> Fact {
    Fact::Lifecycle(Lifecycle::ConversationErased)
}

#[tokio::test]
async fn documents_follow_events_and_titles() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    author.created.title = Some("A blue parcel".to_owned());
    let items = vec![
        author.begin(1),
        author.say(2, "where is my parcel"),
        author.commit(3, vec![message("no parcel"), message("an oak")]),
    ];
    search.both(items).await;
    assert_eq!(search.texts("parcel").await, ["no parcel", "where is my parcel", "title: A blue parcel"]);
    assert_eq!(search.texts("parcel -no").await.len(), 2);
    assert_eq!(search.texts("role:user parcel").await.len(), 2);
    assert_eq!(search.texts("has:title").await, ["title: A blue parcel"]);
    assert_eq!(search.texts("agent:sales parcel").await, [""; 0]);
    search.both(vec![author.commit(4, vec![titled(&FieldChange::Set("An oak"))])]).await;
    assert_eq!(search.texts("blue").await, [""; 0]);
    assert_eq!(search.texts("oak").await, ["title: An oak", "an oak"]);
    search.both(vec![author.commit(5, vec![titled(&FieldChange::Clear)])]).await;
    assert_eq!(search.texts("oak").await, ["an oak"]);
}

#[tokio::test]
async fn times_bound_the_results() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    let items = vec![author.begin(1), author.say(2, "one oak"), author.say(3, "two oak")];
    search.both(items).await;
    let mut query = search.query("oak").await;
    let second = domain::Timestamp(START.0 + 3_000_000_000);
    query.recorded_before = Some(second);
    assert_eq!(texts(&search.run(&query).await), ["one oak"]);
    query.recorded_before = None;
    query.recorded_after = Some(second);
    assert_eq!(texts(&search.run(&query).await), ["two oak"]);
    query.recorded_after = None;
    query.limit = 1;
    let first = search.run(&query).await;
    assert_eq!(first.candidates, exactly(2));
    query.after = first.documents.last().map(|last| last.cursor.clone());
    assert_eq!(texts(&search.run(&query).await), ["one oak"]);
}

#[tokio::test]
async fn owners_and_tenants_see_only_their_own() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    let items = vec![author.begin(1), author.say(2, "an oak")];
    search.both(items).await;
    let mut query = search.query("oak").await;
    for (session, expected) in [("session-1", 1), ("session-2", 0)] {
        query.scope.owner = Some(Owner::Session(SessionId::parse(session).unwrap()));
        let found = search.run(&query).await;
        assert_eq!(found.documents.len(), expected, "{session}");
        assert_eq!(found.candidates, exactly(u32::try_from(expected).unwrap()));
    }
    query.scope.owner = None;
    let foreign = documents(&search.rows.model, &access("globex"), &query).await;
    assert_eq!(foreign.unwrap().documents, []);
    assert!(term_key(&search.rows.model, &access("globex")).await.unwrap().is_none());
    query.scope.agents = vec![AgentId::parse("sales").unwrap()];
    assert_eq!(search.run(&query).await.documents, []);
}

#[tokio::test]
async fn a_common_word_is_found_by_time() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    search.both(vec![author.begin(1)]).await;
    let per_commit = 500_u32;
    for commit in 0..=CANDIDATES_MAX / per_commit {
        let facts = (0..per_commit).map(|n| message(&format!("oak {commit}-{n}")));
        let item = author.commit(u64::from(commit) + 2, facts.collect());
        search.both(vec![item]).await;
    }
    let query = search.query("oak").await;
    let found = search.run(&query).await;
    let more = CandidateCount { count: CANDIDATES_MAX, is_capped: true };
    assert_eq!(found.candidates, more);
    let last = CANDIDATES_MAX / per_commit;
    let newest = [format!("oak {last}-499"), format!("oak {last}-498")];
    assert_eq!(texts(&found)[..2], newest);
    // The owner has too many to sort.
    let mut owned = query.clone();
    owned.scope.owner = Some(Owner::Session(SessionId::parse("session-1").unwrap()));
    let found = search.run(&owned).await;
    assert_eq!((found.candidates, &texts(&found)[..2]), (more, &newest[..]));
    // A rare word beside the common one is found by the terms.
    let rare = search.run(&search.query("oak \"3-77\"").await).await;
    assert_eq!(texts(&rare), ["oak 3-77"]);
}

#[tokio::test]
async fn a_fenced_batch_writes_nothing() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    let items = vec![author.begin(1), author.say(2, "an oak")];
    search.rows.apply(items.clone()).await;
    let stale = search.documents.batch(items.clone());
    search.index(items).await;
    let again = apply(&search.model, std::slice::from_ref(&stale)).await;
    let Err(ApplyError::Fenced(current)) = again else {
        panic!("{again:?}");
    };
    assert_eq!(current[0].sequence, Sequence(2));
    let progress = search_progress(&search.rows.model, &access("acme")).await.unwrap();
    let indexed = progress.checkpoints[0];
    assert_eq!(indexed.sequence, Sequence(2));
    assert_eq!(indexed.indexed_at.unwrap().0 / 1_000, (START.0 + 2_000_000_000) / 1_000);
}

async fn left(search: &Search, key: &ConversationKey) -> u64 {
    residue(&search.rows.model, &[key]).await.unwrap()
}

#[tokio::test]
async fn erased_conversations_have_no_documents_in_any_order_of_the_writes() {
    let mut search = Search::new().await;
    for (index, order) in ["rows first", "documents first", "late documents"].iter().enumerate() {
        let mut author = Author::new(&format!("c{index}"));
        let at = u64::try_from(index).unwrap() * 10;
        let said = vec![author.begin(at + 1), author.say(at + 2, "an oak")];
        let tombstone = vec![author.commit(at + 3, vec![erased()])];
        search.rows.apply(said.clone()).await;
        match *order {
            "rows first" => {
                search.index(said).await;
                search.rows.apply(tombstone.clone()).await;
                assert_eq!(left(&search, &author.key).await, 0, "{order}");
                search.index(tombstone).await;
            }
            "documents first" => {
                search.index(said).await;
                search.index(tombstone.clone()).await;
                search.rows.apply(tombstone).await;
            }
            _ => {
                search.rows.apply(tombstone.clone()).await;
                search.index(said).await;
                assert_eq!(left(&search, &author.key).await, 0, "{order}");
                search.index(tombstone).await;
            }
        }
        assert_eq!(left(&search, &author.key).await, 0, "{order}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_document_outlives_a_concurrent_erasure() {
    let mut search = Search::new().await;
    for round in 0..20_u64 {
        let mut author = Author::new(&format!("c{round}"));
        let at = round * 10;
        let said = vec![author.begin(at + 1), author.say(at + 2, "an oak")];
        let tombstone = vec![author.commit(at + 3, vec![erased()])];
        search.rows.apply(said.clone()).await;
        let batch = search.documents.batch(said);
        let (indexed, _) =
            tokio::join!(apply(&search.model, std::slice::from_ref(&batch)), search.rows.apply(tombstone));
        indexed.unwrap();
        search.documents.checkpoint.sequence = batch.last;
        assert_eq!(left(&search, &author.key).await, 0, "{round}");
    }
}

#[tokio::test]
async fn settings_take_effect_on_what_is_indexed() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    author.created.title = Some("Refunds".to_owned());
    let items = vec![author.begin(1), author.say(2, "two refunds"), author.say(3, "an oak")];
    search.both(items).await;
    assert_eq!(search.texts("refund").await, [""; 0]);
    search.set(true, Some(Language::English)).await;
    assert_eq!(reindexing_agents(&search.model).await.unwrap(), 1);
    assert_eq!(search.reindex().await, 2);
    assert_eq!(search.texts("refund").await, ["two refunds", "title: Refunds"]);
    // The same settings change nothing.
    search.set(true, Some(Language::English)).await;
    assert_eq!(search.reindex().await, 0);
    search.set(false, Some(Language::English)).await;
    search.reindex().await;
    assert_eq!(search.texts("oak").await, [""; 0]);
    search.both(vec![author.say(4, "another oak")]).await;
    assert_eq!(search.texts("oak").await, [""; 0]);
    search.set(true, None).await;
    search.reindex().await;
    assert_eq!(search.texts("oak").await, ["another oak", "an oak"]);
    assert_eq!(search.texts("refund").await, [""; 0]);
}

#[tokio::test]
async fn indexing_again_restores_lost_documents_in_bounded_steps() {
    let mut search = Search::new().await;
    let mut at = 1;
    for conversation in 0..3 {
        let mut author = Author::new(&format!("c{conversation}"));
        let mut items = vec![author.begin(at)];
        for commit in 0..2 {
            let facts = (0..300).map(|n| message(&format!("oak{conversation} {commit}-{n}")));
            at += 1;
            items.push(author.commit(at, facts.collect()));
        }
        at += 1;
        // Documents are lost: only rows are written.
        search.rows.apply(items).await;
    }
    let mut other = Author::new("d");
    search.both(vec![other.begin(at), other.say(at + 1, "a key")]).await;
    assert_eq!(request_reindex(&search.model, None).await.unwrap(), 1);
    let steps = search.reindex().await;
    assert!(steps >= 4, "{steps}");
    for conversation in 0..3 {
        let found = search.run(&search.query(&format!("oak{conversation}")).await).await;
        assert_eq!(found.candidates, exactly(600), "{conversation}");
    }
    assert_eq!(search.texts("\"oak2 1-299\"").await, ["oak2 1-299"]);
    assert_eq!(request_reindex(&search.model, Some(access("globex").tenant())).await.unwrap(), 0);
}

/// The only conversation of an agent, behind many of another one.
#[tokio::test]
async fn indexing_a_small_agent_again_scans_bounded_pages() {
    let mut search = Search::new().await;
    let mut small = Author::new("z");
    small.created.agent = AgentId::parse("small").unwrap();
    search.both(vec![small.begin(1), small.say(2, "an oak")]).await;
    let others = "
        INSERT INTO conversations_v1.conversation (
            version, sequence, created_at, last_event_at, partition, created_nanos, status,
            tenant_id, conversation_id, agent_id, head
        )
        SELECT 1, 0, now(), now(), 0, 0, 1, 'acme', 'c' || n, 'support', 'head'
        FROM generate_series(1, 5000) AS n";
    execute(&search.url, others).await;
    let agent = |is_enabled| AgentSearch {
        tenant: access("acme").tenant().clone(),
        agent: small.created.agent.clone(),
        is_enabled,
        language: None,
    };
    let mut query = search.query("oak").await;
    query.scope.agents.push(small.created.agent.clone());
    for (is_enabled, found) in [(false, 0), (true, 1)] {
        set_agents(&search.rows.model, &[agent(is_enabled)]).await.unwrap();
        let steps = search.reindex().await;
        assert!((10..20).contains(&steps), "{steps}");
        assert_eq!(texts(&search.run(&query).await).len(), found);
    }
}

#[tokio::test]
async fn an_agent_that_cannot_be_indexed_again_delays_no_others() {
    let mut search = Search::new().await;
    let names = ["first", "last", "middle"];
    for (n, name) in (0..).zip(names) {
        let mut author = Author::new(name);
        author.created.agent = AgentId::parse(name).unwrap();
        search.both(vec![author.begin(n * 10 + 1), author.say(n * 10 + 2, "an oak")]).await;
    }
    let damage = "
        UPDATE conversations_v1.event SET body = '\\xff' WHERE conversation_id = 'first' AND version = 2;
        DELETE FROM search_v1.document WHERE conversation_id <> 'first'";
    execute(&search.url, damage).await;
    assert_eq!(request_reindex(&search.model, None).await.unwrap(), 3);
    let mut turn = ReindexTurn::default();
    let mut failures = 0;
    for _ in 0..8 {
        let step = reindex_step(&search.model, &mut turn).await;
        failures += usize::from(step.is_err());
    }
    assert_eq!(reindexing_agents(&search.model).await.unwrap(), 1);
    assert!((2..=6).contains(&failures), "{failures}");
    let mut query = search.query("oak").await;
    query.scope.agents = names[1..].iter().map(|name| AgentId::parse(*name).unwrap()).collect();
    assert_eq!(search.run(&query).await.documents.len(), 2);
}

#[tokio::test]
async fn differences_are_found_and_repaired() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    author.created.title = Some("An oak".to_owned());
    let mut items = vec![author.begin(1)];
    for commit in 0..3 {
        let facts = (0..300).map(|n| message(&format!("oak {commit}-{n}")));
        items.push(author.commit(commit + 2, facts.collect()));
    }
    search.rows.apply(items.clone()).await;
    let compare =
        async |search: &Search, differences| compare_documents(&search.model, &author.key, differences).await.unwrap();
    // Without documents it is late, not different.
    assert_eq!(compare(&search, Differences::Count).await, None);
    search.index(items).await;
    let state = |correct, wrong, unfounded| Some(DocumentsState { correct, wrong, unfounded });
    assert_eq!(compare(&search, Differences::Count).await, state(901, 0, 0));
    let mut owner = sqlx::PgConnection::connect(&search.url).await.unwrap();
    let damage = "
        DELETE FROM search_v1.document WHERE version IN (0, 700);
        UPDATE search_v1.document SET terms = '{7}' WHERE version = 3;
        INSERT INTO search_v1.document SELECT block_id, 5000, recorded_at, tenant_id, conversation_id, terms
        FROM search_v1.document WHERE version = 4";
    sqlx::raw_sql(damage).execute(&mut owner).await.unwrap();
    assert_eq!(compare(&search, Differences::Count).await, state(898, 3, 1));
    assert_eq!(compare(&search, Differences::Repair).await, state(898, 3, 1));
    assert_eq!(compare(&search, Differences::Count).await, state(901, 0, 0));
}

#[tokio::test]
async fn scripts_without_spaces_are_indexed_by_pairs() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    let items = vec![
        author.begin(1),
        author.say(2, "我的包裹在哪里？"),
        author.say(3, "أين كِتَابي الجديد"),
        author.say(4, "พัสดุของฉันอยู่ที่ไหน"),
    ];
    search.both(items).await;
    assert_eq!(search.texts("包裹").await.len(), 1);
    assert_eq!(search.texts("裹包").await.len(), 0);
    assert_eq!(search.texts("كتابي").await.len(), 1);
    assert_eq!(search.texts("ของฉัน").await.len(), 1);
}

/// Roles are tags of the index.
#[tokio::test]
async fn roles_are_told_apart() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    let said = domain::event::MessageAppended::new(Role::Assistant, vec![domain::Part::Text("the oak".to_owned())]);
    let items = vec![author.begin(1), author.commit(2, vec![message("an oak"), Fact::MessageAppended(said)])];
    search.both(items).await;
    assert_eq!(search.texts("oak role:assistant").await, ["the oak"]);
    assert_eq!(search.texts("oak role:user").await, ["an oak"]);
}
