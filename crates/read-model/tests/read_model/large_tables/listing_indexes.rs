//! The indexes of conversations after a life of ten commits each, vacuumed early, and after they are built again. A page of an index
//! by time keeps an entry of each conversation that became idle then, so pages never become empty.

use domain::{AgentId, Owner, SessionId, TenantId};
use read_model::projections::conversations::Item;
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};

use super::{server, setting};
use crate::fixture::{Author, Projection};

const COMMITS: usize = 10;
/// Conversations that begin in a batch.
const BATCH: usize = 500;
const BATCHES_BETWEEN_VACUUMS: usize = 5;

const SIZES: &str = "
    SELECT indexrelid::regclass::text, pg_relation_size(indexrelid)
    FROM pg_index
    WHERE indrelid = 'conversations_v1.conversation'::regclass AND pg_relation_size(indexrelid) > 100000
    ORDER BY 1";

#[tokio::test]
#[ignore = "a measurement"]
async fn listing_indexes() {
    let conversations = setting("LARGE_TABLES_EVENTS", 500_000) / 10;
    let batches = usize::try_from(conversations).unwrap() / BATCH;
    let (server, url) = server().await;
    let mut projection = Projection::at(&url).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    // The conversations that are active, by the batch in which they began.
    let mut active: Vec<Vec<Author>> = Vec::new();
    let mut sequence = 0;
    for batch in 0..batches + COMMITS {
        active.insert(0, if batch < batches { authors(batch) } else { Vec::new() });
        active.truncate(COMMITS);
        for authors in &mut active {
            let commit = |author: &mut Author| {
                sequence += 1;
                next(author, sequence)
            };
            let items: Vec<Item> = authors.iter_mut().map(commit).collect();
            projection.apply(items).await;
        }
        if batch % BATCHES_BETWEEN_VACUUMS == 0 {
            let vacuum = "VACUUM conversations_v1.conversation";
            connection.execute(vacuum).await.unwrap();
        }
    }
    print(&mut connection, "after all commits").await;
    let reindex = "REINDEX TABLE CONCURRENTLY conversations_v1.conversation";
    connection.execute(reindex).await.unwrap();
    print(&mut connection, "built again").await;
    server.stop().await;
}

fn next(author: &mut Author, sequence: u64) -> Item {
    if author.has_begun() { author.say(sequence, "x") } else { author.begin(sequence) }
}

/// Of 20 tenants with 3 agents each, and of 5,000 sessions.
fn authors(batch: usize) -> Vec<Author> {
    let author = |n: usize| {
        let number = batch * BATCH + n;
        let mut author = Author::new(&format!("0190c3b2-0000-7000-8000-{number:012}"));
        author.key.tenant = TenantId::parse(format!("t{}", number % 20)).unwrap();
        author.created.agent = AgentId::parse(format!("a{}", number % 3)).unwrap();
        let session = SessionId::parse(format!("session-{}", number % 5_000)).unwrap();
        author.created.owner = Owner::Session(session);
        author
    };
    (0..BATCH).map(author).collect()
}

async fn print(connection: &mut PgConnection, when: &str) {
    for row in connection.fetch_all(SIZES).await.unwrap() {
        let (name, bytes): (String, i64) = (row.get(0), row.get(1));
        println!("{when}: {name} {} kB", bytes / 1_000);
    }
}
