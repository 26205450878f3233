//! Invalid position tokens and page tokens.

use wire::proto::read::v1 as proto;
use wire::token::{PositionToken, RecordId};

use crate::author::Author;
use crate::client::{events_request, get_request, target};
use crate::errors::{invalid, whole_agent};
use crate::facts::user;
use crate::stack::{run, shared};

#[test]
fn invalid_position_tokens() {
    run(async {
        let stack = shared().await;
        let author = Author::begin(stack).await;
        let mut other_conversation = Author::begin(stack).await;
        let layout = stack.record.layout();
        while layout.only_candidate(&other_conversation.key) == layout.only_candidate(&author.key) {
            other_conversation = Author::begin(stack).await;
        }
        let last = author.commits.last().unwrap();
        let other_record = PositionToken {
            record: RecordId([9; 8]),
            position: last.position,
            version: last.opened.commit.head.version,
        };
        let cases = [
            ("garbage!".to_owned(), "POSITION_TOKEN_MALFORMED"),
            (other_conversation.token(), "POSITION_TOKEN_MALFORMED"),
            (other_record.encode(), "POSITION_TOKEN_OF_OTHER_RECORD"),
        ];
        for (position_token, reason) in cases {
            let target = proto::ReadTarget { position_token, ..target(&author) };
            let outcome = stack.client.get(get_request(target)).await;
            invalid(outcome, reason, "target.position_token");
        }
    });
}

#[test]
fn page_tokens_of_other_queries() {
    run(async {
        let stack = shared().await;
        let mut author = Author::begin(stack).await;
        author.append(vec![user("1"), user("2"), user("3")]).await;
        let mut other = Author::begin(stack).await;
        other.append(vec![user("1"), user("2"), user("3")]).await;
        let query = |author: &Author<'_>| proto::ListEventsRequest { page_size: 2, ..events_request(target(author)) };
        let page = stack.client.events(query(&author)).await.unwrap();
        let token = page.next_page_token;
        assert!(!token.is_empty());
        let mine = proto::ListEventsRequest { page_token: token.clone(), ..query(&author) };
        let changes: [fn(&mut proto::ListEventsRequest); 4] =
            [|it| it.direction = 2, |it| it.kinds = vec![1], |it| it.from_version = 2, |it| it.to_version = 9];
        let mut cases = vec![proto::ListEventsRequest { page_token: token.clone(), ..query(&other) }];
        cases.extend(changes.map(|change| {
            let mut case = mine.clone();
            change(&mut case);
            case
        }));
        for case in cases {
            let outcome = stack.client.events(case).await;
            invalid(outcome, "PAGE_TOKEN_OF_OTHER_QUERY", "page_token");
        }
        let listing = proto::ListConversationsRequest { page_token: token, ..whole_agent() };
        let outcome = stack.client.list(listing).await;
        invalid(outcome, "PAGE_TOKEN_OF_OTHER_QUERY", "page_token");
        let larger = proto::ListEventsRequest { page_size: 9, ..mine };
        let rest = stack.client.events(larger).await.unwrap();
        let versions: Vec<u64> = rest.events.iter().map(|event| event.version).collect();
        assert_eq!(versions, [3, 4]);
    });
}
