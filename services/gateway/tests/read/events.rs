//! Pages of events.

use wire::proto::read::v1 as proto;

use crate::author::Author;
use crate::client::{events_request, eventual, target};
use crate::facts::{assistant, call, note, result, user};
use crate::stack::{run, shared};

#[test]
fn ranges_directions_and_kinds() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        author.append(vec![user("1"), note(), assistant("2"), call("a")]).await;
        author.append(vec![result("a"), user("3")]).await;
        for projected in [0, 1, 2, 3] {
            author.project(projected).await;
            for (from, to, direction, kinds, expected) in [
                (0, 0, 1, &[][..], &[1, 2, 3, 4, 5, 6, 7][..]),
                (0, 0, 0, &[], &[1, 2, 3, 4, 5, 6, 7]),
                (0, 0, 2, &[], &[7, 6, 5, 4, 3, 2, 1]),
                (3, 6, 1, &[], &[3, 4, 5, 6]),
                (3, 6, 2, &[], &[6, 5, 4, 3]),
                (0, 0, 1, &[1], &[2, 4, 7]),
                (0, 0, 2, &[3, 2, 3], &[6, 5]),
                (7, 99, 1, &[], &[7]),
                (8, 0, 1, &[], &[]),
                (8, 0, 2, &[], &[]),
            ] {
                let query = query(&author, from, to, direction, kinds);
                check(&author, &query, expected).await;
            }
        }
    });
}

#[test]
fn a_page_ends_before_it_passes_its_bytes() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        let large = "x".repeat(500 * 1024);
        for _ in 0..9 {
            author.append(vec![user(&large)]).await;
        }
        for projected in [0, 5, 10] {
            author.project(projected).await;
            // 3 MiB hold six such events.
            for (direction, expected) in [(1, [7, 3]), (2, [6, 4])] {
                let sizes = page_sizes(&author, direction).await;
                assert_eq!(sizes, expected, "{projected} projected");
            }
        }
    });
}

#[test]
fn an_eventual_page_comes_from_the_rows_alone() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        author.append(vec![user("1")]).await;
        author.append(vec![user("2")]).await;
        author.project(2).await;
        let page = author.stack.client.events(events_request(eventual(&author))).await.unwrap();
        assert_eq!((page.events.len(), page.version), (2, 2));
    });
}

#[test]
fn pages_continue_without_gaps_while_rows_catch_up() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        for text in 0..20 {
            author.append(vec![user(&text.to_string()), note()]).await;
        }
        let mut query = query(&author, 0, 0, 1, &[]);
        query.page_size = 3;
        let mut versions = Vec::new();
        for projected in [0, 2, 2, 9, 20, 21, 21, 21, 21, 21, 21, 21, 21, 21] {
            author.project(projected).await;
            let page = author.stack.client.events(query.clone()).await.unwrap();
            versions.extend(page.events.iter().map(|event| event.version));
            query.page_token = page.next_page_token;
        }
        assert_eq!(versions, (1..=41).collect::<Vec<u64>>());
        assert!(query.page_token.is_empty());
    });
}

fn query(
    author: &Author<'_>,
    from_version: u64,
    to_version: u64,
    direction: i32,
    kinds: &[i32],
) -> proto::ListEventsRequest {
    proto::ListEventsRequest {
        from_version,
        to_version,
        direction,
        kinds: kinds.to_vec(),
        ..events_request(target(author))
    }
}

/// Checks the versions of a query, in one page and in pages of two.
async fn check(author: &Author<'_>, query: &proto::ListEventsRequest, expected: &[u64]) {
    for page_size in [0, 2] {
        let mut query = proto::ListEventsRequest { page_size, ..query.clone() };
        let mut versions = Vec::new();
        loop {
            let page = author.stack.client.events(query.clone()).await.unwrap();
            assert_eq!(page.version, author.version());
            assert!(page_size == 0 || page.events.len() <= 2);
            versions.extend(page.events.iter().map(|event| event.version));
            query.page_token = page.next_page_token;
            if query.page_token.is_empty() {
                break;
            }
        }
        assert_eq!(versions, expected, "{query:?}");
    }
}

async fn page_sizes(author: &Author<'_>, direction: i32) -> Vec<usize> {
    let mut query = query(author, 0, 0, direction, &[]);
    let mut sizes = Vec::new();
    loop {
        let page = author.stack.client.events(query.clone()).await.unwrap();
        sizes.push(page.events.len());
        query.page_token = page.next_page_token;
        if query.page_token.is_empty() {
            return sizes;
        }
    }
}
