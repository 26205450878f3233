//! The blocks of the search: pages are newest first in any distribution of documents, filters follow changes and erasures, and what is
//! damaged is found and repaired.

use domain::{AgentId, ConversationId, FieldChange, Owner, SessionId};
use read_model::projections::search::request_reindex;
use read_model::projections::search::verification::{Differences, DocumentsState, compare_documents};
use read_model::queries::search::{SEARCH_TIMEOUT_MS, SearchError, documents, term_key};
use search::{BloomFilter, Query, Term};
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};

use crate::fixture::{Author, access, execute, message};
use crate::search::{Search, erased, texts, titled};

/// Enough words for a few documents a block.
fn long(text: &str, salt: u64) -> String {
    let words: Vec<String> = (0..200).map(|n| format!("w{salt}x{n}")).collect();
    format!("{text} {}", words.join(" "))
}

/// The filters of all blocks; `None`: it has none.
async fn filters(url: &str) -> Vec<Option<BloomFilter>> {
    let mut owner = PgConnection::connect(url).await.unwrap();
    let rows = owner.fetch_all("SELECT filter FROM search_v1.block").await.unwrap();
    let filters = rows.iter().map(|row| {
        let bytes: Option<Vec<u8>> = row.get(0);
        bytes.map(|bytes| BloomFilter::from_bytes(&bytes).unwrap())
    });
    filters.collect()
}

/// The block with the most documents, and their number.
async fn largest_block(url: &str) -> (i64, u64) {
    let mut owner = PgConnection::connect(url).await.unwrap();
    let sql = "SELECT block_id, count(*) FROM search_v1.document GROUP BY 1 ORDER BY 2 DESC LIMIT 1";
    let row = owner.fetch_one(sql).await.unwrap();
    let (block, count): (i64, i64) = (row.get(0), row.get(1));
    (block, count.unsigned_abs())
}

/// Twenty words.
fn twenty(word: &str) -> String {
    let words: Vec<String> = (0..20).map(|n| format!("{word}{n}")).collect();
    words.join(" ")
}

/// The terms of words of the tenant `acme`.
async fn terms(search: &Search, words: &str) -> Vec<Term> {
    let key = term_key(&search.rows.model, &access("acme")).await.unwrap().unwrap();
    let terms = words.split(' ').map(|word| {
        let terms = key.of_query(&Query::parse(word).unwrap(), &[]);
        terms.all[0]
    });
    terms.collect()
}

/// The number of filters that were made of twenty terms. A filter reports about one in a hundred of the terms that it does not have, and
/// the key of the terms is random: a filter that has half of them was made of them.
async fn filters_of(search: &Search, terms: &[Term]) -> usize {
    let filters = filters(&search.url).await;
    let has_half = |filter: &&BloomFilter| {
        let reported = terms.iter().filter(|term| filter.has(**term)).count();
        reported >= terms.len() / 2
    };
    filters.iter().flatten().filter(has_half).count()
}

/// Conversations that speak in turns: the first words of their texts, newest first.
async fn in_turns(search: &mut Search, conversations: u64, turns: u64) -> Vec<String> {
    let mut authors: Vec<Author> = (0..conversations).map(|n| Author::new(&format!("c{n}"))).collect();
    let mut said = Vec::new();
    let mut sequence = 0;
    for turn in 0..turns {
        let mut items = Vec::new();
        for (n, author) in authors.iter_mut().enumerate() {
            sequence += 1;
            let text = format!("oak{}", sequence % 2);
            said.push(format!("{text} {turn} {n}"));
            let facts = vec![message(&long(said.last().unwrap(), sequence))];
            let created = (turn == 0).then(|| author.created.clone().into());
            items.push(author.commit(sequence, created.into_iter().chain(facts).collect()));
        }
        search.both(items).await;
    }
    said.reverse();
    said
}

/// All pages of a word: the first three words of each text.
async fn pages(search: &Search, word: &str, limit: u32) -> Vec<String> {
    let mut query = search.query(word).await;
    query.limit = limit;
    let mut found = Vec::new();
    loop {
        let page = search.run(&query).await;
        let first_words = |text: &str| text.splitn(4, ' ').take(3).collect::<Vec<_>>().join(" ");
        found.extend(texts(&page).iter().map(|text| first_words(text)));
        if page.documents.len() < usize::try_from(limit).unwrap() {
            return found;
        }
        query.after = page.documents.last().map(|last| last.cursor.clone());
    }
}

#[tokio::test]
async fn pages_are_newest_first_across_blocks() {
    let mut search = Search::new().await;
    let said = in_turns(&mut search, 3, 40).await;
    let some = |word: &str| -> Vec<String> {
        let said = said.iter().filter(|text| text.starts_with(word));
        said.cloned().collect()
    };
    let closed = filters(&search.url).await;
    assert!(closed.iter().flatten().count() >= 20, "{}", closed.len());
    for limit in [1, 7, 100] {
        for word in ["oak0", "oak1"] {
            assert_eq!(pages(&search, word, limit).await, some(word), "{word} {limit}");
        }
    }
    // Blocks that were made by conversation have times that overlap.
    execute(&search.url, "DELETE FROM search_v1.document WHERE version % 3 > 0").await;
    request_reindex(&search.model, None).await.unwrap();
    search.reindex().await;
    for word in ["oak0", "oak1"] {
        assert_eq!(pages(&search, word, 7).await, some(word), "{word}");
    }
    assert!(search.fill().await > 0);
    assert_eq!(filters(&search.url).await.iter().filter(|one| one.is_none()).count(), 1);
    for word in ["oak0", "oak1"] {
        assert_eq!(pages(&search, word, 7).await, some(word), "{word}");
    }
}

/// An agent may be indexed again from rows that the projection has not reached.
#[tokio::test]
async fn documents_that_were_indexed_ahead_stay() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    let first = vec![author.begin(1), author.say(2, &long("one oak", 2))];
    search.both(first).await;
    let rest: Vec<_> = (3..20).map(|at| author.say(at, &long("an oak", at))).collect();
    search.rows.apply(rest.clone()).await;
    request_reindex(&search.model, None).await.unwrap();
    search.reindex().await;
    assert_eq!(pages(&search, "oak", 7).await.len(), 18);
    search.index(rest).await;
    search.index(vec![author.say(20, "no oak")]).await;
    assert_eq!(pages(&search, "oak", 7).await.len(), 18, "the last one has no row");
    let compared = compare_documents(&search.model, &author.key, Differences::Count).await;
    assert_eq!(compared.unwrap().unwrap().correct, 18);
}

#[tokio::test]
async fn filters_follow_changed_titles() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    let (elms, oaks) = (twenty("elm"), twenty("oak"));
    author.created.title = Some(elms.clone());
    let mut items = vec![author.begin(1)];
    items.extend((2..20).map(|at| author.say(at, &long("text", at))));
    search.both(items).await;
    let elm_terms = terms(&search, &elms).await;
    let oak_terms = terms(&search, &oaks).await;
    assert!(filters_of(&search, &elm_terms).await >= 1);
    let title = FieldChange::Set(oaks.as_str());
    let updated = author.commit(20, vec![titled(&title)]);
    search.both(vec![updated]).await;
    for _ in 0..2 {
        assert_eq!(search.texts("oak0").await, [format!("title: {oaks}")]);
        assert_eq!(search.texts("elm0").await, [""; 0]);
        search.fill().await;
    }
    assert!(filters_of(&search, &oak_terms).await >= 1);
    assert_eq!(filters_of(&search, &elm_terms).await, 0, "a filter of few documents has an earlier title");
}

/// A conversation that says twenty secrets in several blocks, beside another one; returns its author and the terms of the secrets.
async fn say_secrets(search: &mut Search) -> (Author, Vec<Term>) {
    let (mut kept, mut gone) = (Author::new("kept"), Author::new("gone"));
    let secrets = twenty("secret");
    let mut items = vec![kept.begin(1), gone.begin(2)];
    for at in 2..30 {
        items.push(kept.say(at * 2, &long("oak", at)));
        items.push(gone.say(at * 2 + 1, &secrets));
    }
    search.both(items).await;
    let terms = terms(search, &secrets).await;
    (gone, terms)
}

#[tokio::test]
async fn erased_terms_are_in_no_filter() {
    let mut search = Search::new().await;
    let (mut gone, terms) = say_secrets(&mut search).await;
    assert!(filters_of(&search, &terms).await >= 5);
    // The transaction of the tombstone removes the filters, before anything is made again.
    search.rows.apply(vec![gone.commit(100, vec![erased()])]).await;
    assert_eq!(filters_of(&search, &terms).await, 0);
    assert!(search.fill().await >= 5);
    assert_eq!(filters_of(&search, &terms).await, 0);
    assert_eq!(search.texts("secret0").await, [""; 0]);
    assert_eq!(pages(&search, "oak", 10).await.len(), 28);
}

/// The number of closed blocks without documents.
async fn empty_blocks(url: &str) -> i64 {
    let mut owner = PgConnection::connect(url).await.unwrap();
    let sql = "SELECT count(*) FROM search_v1.block LEFT JOIN search_v1.document USING (block_id)
               WHERE NOT is_open AND document.block_id IS NULL";
    owner.fetch_one(sql).await.unwrap().get(0)
}

/// Documents stay in their blocks, and those that were lost get new ones.
#[tokio::test]
async fn erased_terms_are_in_no_filter_of_what_was_indexed_again() {
    let mut search = Search::new().await;
    let (mut gone, terms) = say_secrets(&mut search).await;
    for lost in [
        "SELECT",
        "DELETE FROM search_v1.document WHERE conversation_id = 'kept' AND version % 3 > 0",
        "DELETE FROM search_v1.document WHERE conversation_id = 'gone' AND version % 3 > 0",
    ] {
        execute(&search.url, lost).await;
        request_reindex(&search.model, None).await.unwrap();
        search.reindex().await;
        assert_eq!(pages(&search, "oak", 10).await.len(), 28, "{lost}");
        search.fill().await;
        assert_eq!(empty_blocks(&search.url).await, 0, "{lost}");
        assert!(filters_of(&search, &terms).await >= 1, "{lost}");
    }
    search.rows.apply(vec![gone.commit(100, vec![erased()])]).await;
    assert_eq!(filters_of(&search, &terms).await, 0);
    search.fill().await;
    assert_eq!(filters_of(&search, &terms).await, 0);
    assert_eq!(empty_blocks(&search.url).await, 0);
    assert_eq!(pages(&search, "oak", 10).await.len(), 28);
}

/// A title stays in its block when it changes, also if the documents of its batch fill blocks.
#[tokio::test]
async fn changed_titles_are_in_no_filter_of_another_block() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    author.created.title = Some("an elm".to_owned());
    search.both(vec![author.begin(1)]).await;
    let oaks = twenty("oak");
    let mut items: Vec<_> = (2..20).map(|at| author.say(at, &long("text", at))).collect();
    items.push(author.commit(20, vec![titled(&FieldChange::Set(oaks.as_str()))]));
    items.extend((21..40).map(|at| author.say(at, &long("text", at))));
    search.both(items).await;
    let oak_terms = terms(&search, &oaks).await;
    search.fill().await;
    assert!(filters_of(&search, &oak_terms).await <= 1);
    assert_eq!(search.texts("oak0").await, [format!("title: {oaks}")]);
}

/// What earlier programs have written when they indexed documents again.
#[tokio::test]
async fn a_migration_removes_filters_of_other_documents() {
    const MIGRATION: &str = include_str!("../../migrations/0023_blocks_indexed_again.sql");
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    let mut items = vec![author.begin(1)];
    items.extend((2..22).map(|at| author.say(at, &long("oak", at))));
    search.both(items).await;
    let damage = "
        UPDATE search_v1.block SET partition = NULL WHERE block_id % 2 = 0 AND NOT is_open;
        INSERT INTO search_v1.block (block_id, first_at, last_at, term_count, is_open, tenant_id, filter)
        SELECT nextval('search_v1.block_id'), first_at, last_at, term_count, false, tenant_id, filter
        FROM search_v1.block WHERE NOT is_open";
    execute(&search.url, damage).await;
    let closed = filters(&search.url).await.iter().flatten().count();
    assert!(empty_blocks(&search.url).await >= 2);
    execute(&search.url, MIGRATION).await;
    assert_eq!(empty_blocks(&search.url).await, 0);
    let left = filters(&search.url).await.iter().flatten().count();
    assert!(0 < left && left < closed / 2, "{left} of {closed}");
    assert!(search.fill().await > 0);
    let filled = filters(&search.url).await.iter().flatten().count();
    assert_eq!(filled, closed / 2);
    assert_eq!(pages(&search, "oak", 10).await.len(), 20);
}

#[tokio::test]
async fn a_filter_without_its_documents_disappears() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    let mut items = vec![author.begin(1)];
    items.extend((2..20).map(|at| author.say(at, &long("oak", at))));
    search.both(items).await;
    search.both(vec![author.commit(20, vec![erased()])]).await;
    search.fill().await;
    let filters = filters(&search.url).await;
    assert_eq!(filters, [None], "only the open block is left");
}

#[tokio::test]
async fn damaged_blocks_are_found_and_repaired() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    let mut items = vec![author.begin(1)];
    items.extend((2..22).map(|at| author.say(at, &long("oak", at))));
    search.both(items).await;
    let compare = async |search: &Search, differences| {
        compare_documents(&search.model, &author.key, differences).await.unwrap().unwrap()
    };
    let state = |correct, wrong| DocumentsState { correct, wrong, unfounded: 0 };
    assert_eq!(compare(&search, Differences::Count).await, state(20, 0));
    for (damage, correct_of_block) in [
        ("UPDATE search_v1.block SET filter = '\\x00'", 0),
        ("UPDATE search_v1.block SET last_at = first_at", 1),
        ("DELETE FROM search_v1.block", 0),
    ] {
        let (block, count) = largest_block(&search.url).await;
        let wrong = count - correct_of_block;
        let sql: &'static str = format!("{damage} WHERE block_id = {block}").leak();
        execute(&search.url, sql).await;
        let found = pages(&search, "oak", 100).await.len();
        let counted = compare(&search, Differences::Count).await;
        assert_eq!(counted, state(20 - wrong, wrong), "{damage}");
        assert!(found < 20 || damage.contains("last_at"), "{damage}");
        // An operator's request repairs it, and so does a comparison.
        if damage.starts_with("DELETE") {
            request_reindex(&search.model, None).await.unwrap();
            search.reindex().await;
        } else {
            compare(&search, Differences::Repair).await;
        }
        assert_eq!(compare(&search, Differences::Count).await, state(20, 0), "{damage}");
        search.fill().await;
        assert_eq!(pages(&search, "oak", 100).await.len(), 20, "{damage}");
    }
}

#[tokio::test]
async fn audit_logs_have_no_documents() {
    let mut search = Search::new().await;
    let mut log = Author::new(&format!("{}2026-11", ConversationId::AUDIT_PREFIX));
    log.created.agent = AgentId::parse(AgentId::AUDIT_LOG).unwrap();
    log.created.title = Some("The oak".to_owned());
    let mut other = Author::new("c");
    let items = vec![log.begin(1), log.say(2, "an oak"), other.begin(3), other.say(4, "one oak")];
    search.both(items).await;
    let mut query = search.query("oak").await;
    query.scope.agents.push(log.created.agent.clone());
    let found = search.run(&query).await;
    assert_eq!((texts(&found), found.candidates.count), (vec!["one oak".to_owned()], 1));
    assert_eq!(request_reindex(&search.model, None).await.unwrap(), 1);
    search.reindex().await;
    assert_eq!(search.run(&query).await.candidates.count, 1);
    // What an earlier version has indexed is unfounded.
    execute(
        &search.url,
        "INSERT INTO search_v1.document SELECT block_id, version, recorded_at, tenant_id, 'history:audit:2026-11', terms
         FROM search_v1.document",
    )
    .await;
    let compare = async |differences| compare_documents(&search.model, &log.key, differences).await.unwrap().unwrap();
    let unfounded = |unfounded| DocumentsState { unfounded, ..DocumentsState::default() };
    assert_eq!(compare(Differences::Repair).await, unfounded(1));
    assert_eq!(compare(Differences::Count).await, unfounded(0));
}

/// A statement that waits for a lock takes as long as its timeout.
#[tokio::test]
async fn a_search_ends_at_its_timeout() {
    let mut search = Search::new().await;
    let mut author = Author::new("c");
    search.both(vec![author.begin(1), author.say(2, "an oak")]).await;
    let mut query = search.query("oak").await;
    let mut owner = PgConnection::connect(&search.url).await.unwrap();
    owner.execute("BEGIN; LOCK TABLE search_v1.document").await.unwrap();
    for session in [None, Some("session-1")] {
        query.scope.owner = session.map(|session| Owner::Session(SessionId::parse(session).unwrap()));
        let began = std::time::Instant::now();
        let found = documents(&search.rows.model, &access("acme"), &query).await;
        assert_eq!(found, Err(SearchError::TooSlow), "{session:?}");
        let took = u64::try_from(began.elapsed().as_millis()).unwrap();
        assert!((SEARCH_TIMEOUT_MS - 100..SEARCH_TIMEOUT_MS + 2_000).contains(&took), "{took} ms");
    }
    owner.execute("ROLLBACK").await.unwrap();
    assert_eq!(search.run(&query).await.documents.len(), 1);
}
