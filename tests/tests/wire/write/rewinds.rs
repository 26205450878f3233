//! Invalid rewinds append nothing, and return a reason.

use tests::errors::check_failure;
use tests::events::{rewind, user};
use tests::stack::Stack;
use tonic::Code::{FailedPrecondition, InvalidArgument};

const TO: &str = "events[1].history_rewound.to_version";

#[tokio::test(flavor = "multi_thread")]
async fn invalid_rewinds() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let version = agent.append("c", vec![user("2")]).await.version;
    // With the message before it: to the last event, and to itself.
    let (last, itself) = (version + 1, version + 2);
    let beyond = (FailedPrecondition, "REWIND_BEYOND_HISTORY", TO);
    for (case, to, expected) in [
        ("to nothing", 0, (InvalidArgument, "FIELD_MISSING", TO)),
        ("to itself", itself, beyond),
        ("to what comes", u64::MAX, beyond),
    ] {
        let request = agent.append_request("c", vec![user("x"), rewind(to)]);
        let failure = check_failure(case, agent.try_append(request).await, expected);
        if expected == beyond {
            let last_version = failure.metadata.get("last_version").map(String::as_str);
            assert_eq!(last_version, Some(last.to_string().as_str()), "{case}");
        }
        assert_eq!(agent.version("c").await, version, "{case}");
    }
    agent.append("c", vec![user("x"), rewind(last)]).await;
}
