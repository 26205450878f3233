//! Erasure: no personal content remains in any table.

use domain::event::{ConversationUpdated, ErrorOccurred};
use domain::{ClientContext, Fact, FieldChange, JsonText, Label, Lifecycle, Owner, Status, UserId};
use read_model::projections::conversations::{ERASED_EVENTS_PER_TRANSACTION_MAX, Item, parking};
use read_model::{Direction, ListFilter, find_commit, head_and_events, list_conversations};
use sqlx::{Connection as _, PgConnection, Row as _};

use crate::fixture::{Author, Projection, access, execute, list_query, message};
use crate::rows::all;

const SECRET: &str = "sesame";

/// The commits of a conversation that contains the secret in every field; the tombstone is the last.
fn with_secret() -> (Author, Vec<Item>) {
    let mut author = Author::new("c");
    let label = || Label::parse(SECRET).unwrap();
    let json = || JsonText::parse(format!("{{\"a\":\"{SECRET}\"}}")).unwrap();
    author.created.owner = Owner::User(UserId::parse(SECRET).unwrap());
    author.created.title = Some(SECRET.to_owned());
    author.created.metadata = Some(json());
    author.created.client_context =
        ClientContext { page_url: Some(SECRET.to_owned()), custom_metadata: Some(json()), ..ClientContext::default() };
    author.created.provider_conversation_id = Some(label());
    let update = ConversationUpdated {
        title: Some(FieldChange::Set(SECRET.to_owned())),
        last_response_id: Some(FieldChange::Set(label())),
        ..ConversationUpdated::default()
    };
    let error = ErrorOccurred { error_type: label(), message: SECRET.to_owned() };
    let items = vec![
        author.begin(1),
        author.say(2, SECRET),
        author.commit(3, vec![message(SECRET), Fact::from(error)]),
        author.commit(4, vec![Fact::from(update)]),
        author.commit(5, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]),
    ];
    (author, items)
}

fn hex_digits(byte: u8) -> impl Iterator<Item = char> {
    [byte >> 4, byte & 15].into_iter().filter_map(|digit| char::from_digit(u32::from(digit), 16))
}

/// The number of rows of all tables and of the statistics of the planner that contain the text, as text or as bytes.
async fn rows_with(url: &str, text: &str) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let tables = sqlx::query(
        "SELECT table_schema || '.' || table_name FROM information_schema.tables
         WHERE table_schema IN ('hansard', 'conversations_v1')",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert!(tables.len() >= 8, "{}", tables.len());
    let tables = tables.iter().map(|table| table.get(0)).chain(["pg_catalog.pg_stats".to_owned()]);
    let hex: String = text.bytes().flat_map(hex_digits).collect();
    let mut found = 0;
    for table in tables {
        let sql = format!("SELECT count(*) FROM {table} AS t WHERE t::text LIKE '%{text}%' OR t::text LIKE '%{hex}%'");
        let query = sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(sql));
        found += query.fetch_one(&mut connection).await.unwrap();
    }
    found
}

async fn check_erased(projection: &Projection, url: &str, author: &Author) {
    let (model, id) = (&projection.model, &author.key.conversation);
    let row = projection.row(author).await.unwrap();
    assert_eq!((&row.head, row.head.status), (author.head(), Status::Erased));
    assert_eq!((row.title, row.metadata), (None, None));
    assert_eq!(row.client_context, ClientContext::default());
    let query = all(Direction::Forward);
    let found = head_and_events(model, &access("acme"), id, &query).await;
    assert_eq!(found.unwrap().unwrap().1, []);
    let commit = find_commit(model, &access("acme"), id, author.commit_id(2)).await;
    assert_eq!(commit, Ok(None));
    let list = list_query(ListFilter::Tenant);
    let page = list_conversations(model, &access("acme"), &list).await;
    assert_eq!(page.unwrap(), []);
    assert_eq!(parking::count(model).await.unwrap(), 0);
    assert_eq!(rows_with(url, SECRET).await, 0);
}

#[tokio::test]
async fn no_content_remains_for_any_batches() {
    // Each list contains the ends of batches among the five commits.
    for ends in [&[4, 5][..], &[5], &[1, 2, 3, 4, 5], &[3, 5]] {
        let url = devstack::test::database().await.url;
        let mut projection = Projection::at(&url).await;
        let (author, items) = with_secret();
        let mut from = 0;
        for end in ends {
            if *end == 5 && from > 0 {
                assert!(rows_with(&url, SECRET).await > 0);
                execute(&url, "ANALYZE").await;
            }
            projection.apply(items[from..*end].to_vec()).await;
            from = *end;
        }
        check_erased(&projection, &url, &author).await;
    }
}

#[tokio::test]
async fn a_purged_conversation_has_only_its_tombstone() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let (author, mut items) = with_secret();
    projection.apply(vec![items.remove(4)]).await;
    check_erased(&projection, &url, &author).await;

    let url = devstack::test::database().await.url;
    let mut whole = Projection::at(&url).await;
    whole.apply(with_secret().1).await;
    assert_eq!(projection.row(&author).await, whole.row(&author).await);
}

#[tokio::test]
async fn an_erasure_unparks_a_conversation() {
    for together in [true, false] {
        let url = devstack::test::database().await.url;
        let mut projection = Projection::at(&url).await;
        let (author, mut items) = with_secret();
        items[2] = author.garbage(3);
        if together {
            projection.apply(items).await;
        } else {
            projection.apply(items[..4].to_vec()).await;
            assert_eq!(parking::count(&projection.model).await.unwrap(), 1);
            projection.apply(items[4..].to_vec()).await;
        }
        check_erased(&projection, &url, &author).await;
    }
}

/// Fails statements that delete more events than one transaction may.
const BOUNDED: &str = "
    CREATE FUNCTION conversations_v1.bounded() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF (SELECT count(*) FROM gone) > 5000 THEN
            RAISE EXCEPTION 'one statement deletes too many events';
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER bounded AFTER DELETE ON conversations_v1.event REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION conversations_v1.bounded()";

#[tokio::test]
async fn a_long_conversation_is_erased_in_bounded_transactions() {
    const COMMITS: u64 = 21;
    const EVENTS: usize = 500;
    assert_eq!(ERASED_EVENTS_PER_TRANSACTION_MAX, 5_000);
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let mut author = Author::new("c");
    let mut items = vec![author.begin(1)];
    for number in 0..COMMITS {
        items.push(author.commit(2 + number, vec![message(SECRET); EVENTS]));
    }
    projection.apply(items).await;
    execute(&url, BOUNDED).await;
    // The state after a projector stopped after its first transaction.
    let partial = "DELETE FROM conversations_v1.event WHERE version <= 5000";
    execute(&url, partial).await;
    let erased = author.commit(2 + COMMITS, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]);
    projection.apply(vec![erased]).await;
    check_erased(&projection, &url, &author).await;
}
