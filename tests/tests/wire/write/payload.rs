//! A commit at the payload limit of the record's server, and past it.

use rand::RngExt as _;
use tests::errors::{Failure, check_failure};
use tests::events::user;
use tests::stack::Setup;
use tonic::Code::InvalidArgument;

/// Small, to keep the test small.
const PAYLOAD_BYTES_MAX: usize = 64 * 1024;
/// The maximum distance of an accepted commit to the limit.
const STEP: usize = 64;

/// The commit's size and the limit, from the error.
fn sizes_in_error(failure: &Failure) -> (usize, usize) {
    let numbers: Vec<usize> = failure
        .message
        .split(|c: char| !c.is_ascii_digit())
        .filter(|n| !n.is_empty())
        .map(|number| number.parse().unwrap())
        .collect();
    (numbers[0], numbers[1])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_at_the_limit_and_past_it() {
    let extra = format!("max_payload: {PAYLOAD_BYTES_MAX}");
    let stack = Setup::tasks().with_nats_lines(&extra).start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    // The head of a commit lists the eight before it: from here on its size is constant.
    for _ in 0..8 {
        agent.append("c", vec![user("x")]).await;
    }
    // Random, so that it does not compress.
    let rng = rand::rng();
    let letters: String =
        rng.sample_iter(rand::distr::Alphanumeric).take(2 * PAYLOAD_BYTES_MAX).map(char::from).collect();
    let (mut taken, mut refused) = (0, letters.len());
    let mut nearest = None;
    while refused - taken > STEP {
        let length = taken.midpoint(refused);
        let before = agent.version("c").await;
        match agent.try_append(agent.append_request("c", vec![user(&letters[..length])])).await {
            Ok(result) => {
                assert_eq!(result.version, before + 1);
                taken = length;
            }
            status => {
                let expected = (InvalidArgument, "COMMIT_TOO_LARGE", "events");
                nearest = Some(sizes_in_error(&check_failure("a large commit", status, expected)));
                assert_eq!(agent.version("c").await, before);
                refused = length;
            }
        }
    }
    let (size, limit) = nearest.expect("a refused commit");
    assert!(size > limit && size - limit <= STEP, "{size} {limit}");
    assert!(limit <= PAYLOAD_BYTES_MAX && limit > PAYLOAD_BYTES_MAX / 2, "{limit}");
}
