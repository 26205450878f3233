//! Every NATS user against every subject of the `JetStream` API, on every stream, and every stored subject. Permissions
//! that are not listed must be denied.

use event_log::{Record, RecordConfig};
use tests::nats_accounts;
use tests::raw_nats::RawNats;

const REGISTRY: &str = "KV_HANSARD_registry";
const RESTRICTED: &str = "KV_HANSARD_restricted";
const ARCHIVE: &str = "HANSARD_ARCHIVE";
/// The generations of partitions.
const LAYOUT: &str = "HANSARD_LAYOUT";
/// The list of pending erasures.
const ERASURES: &str = "HANSARD_ERASURES";
const STREAMS: [&str; 9] =
    ["HANSARD_0", "HANSARD_PARTS_0", "HANSARD_LOGS", ERASURES, ARCHIVE, LAYOUT, REGISTRY, RESTRICTED, "ANOTHER"];
/// The API requests with a stream.
const OF_STREAM: [&str; 28] = [
    "STREAM.CREATE.@",
    "STREAM.UPDATE.@",
    "STREAM.INFO.@",
    "STREAM.DELETE.@",
    "STREAM.PURGE.@",
    "STREAM.SNAPSHOT.@",
    "STREAM.RESTORE.@",
    "STREAM.MSG.GET.@",
    "STREAM.MSG.DELETE.@",
    "STREAM.PEER.REMOVE.@",
    "STREAM.LEADER.STEPDOWN.@",
    "DIRECT.GET.@",
    "DIRECT.GET.@.a.subject",
    "CONSUMER.CREATE.@",
    "CONSUMER.CREATE.@.c",
    "CONSUMER.CREATE.@.c.a.filter",
    "CONSUMER.DURABLE.CREATE.@.c",
    "CONSUMER.NAMES.@",
    "CONSUMER.LIST.@",
    "CONSUMER.INFO.@.c",
    "CONSUMER.DELETE.@.c",
    "CONSUMER.PAUSE.@.c",
    "CONSUMER.RESET.@.c",
    "CONSUMER.UNPIN.@.c",
    "CONSUMER.LEADER.STEPDOWN.@.c",
    "CONSUMER.MSG.NEXT.@.c",
    "ACCOUNT.STREAM.MOVE.RECORD.@",
    "ACCOUNT.STREAM.CANCEL_MOVE.RECORD.@",
];
/// The API requests without a stream.
const OF_SERVER: [&str; 7] = [
    "INFO",
    "STREAM.NAMES",
    "STREAM.LIST",
    "SERVER.REMOVE",
    "META.LEADER.STEPDOWN",
    "ACCOUNT.PURGE.RECORD",
    "SERVER.PEER.EVACUATE",
];
const PREFIXES: [&str; 2] = ["$JS.API", "RECORD.API"];
/// Subjects that are stored, republished, replies or of the system.
const SUBJECTS: [&str; 15] = [
    "hansard.0.acme.c",
    "hansard_parts.0.acme.c.r",
    "hansard_logs.acme.c",
    "hansard_erasures.acme.c",
    "hansard-archive.0.x",
    "hansard-layout.partitions",
    "hansard-restoring",
    "$KV.HANSARD_registry.tenant.acme",
    "$KV.HANSARD_restricted.receipt.keys",
    "live.hansard.0.acme.c",
    "_INBOX.of.another",
    "$SYS.REQ.SERVER.PING",
    "$JS.ACK.HANSARD_0.c.1.1.1.1.1",
    "$JS.FC.HANSARD_0.c.x",
    "something.else",
];
const SUBSCRIPTIONS: [&str; 9] =
    [">", "hansard.>", "hansard_parts.>", "hansard_logs.>", "$KV.>", "$JS.>", "$SYS.>", "live.>", "_INBOX.>"];

/// Whether a user may send an API request for a stream.
fn may_request(user: &str, prefix: &str, request: &str, stream: &str) -> bool {
    let is_secret = [REGISTRY, RESTRICTED].contains(&stream);
    // Only writers and operators.
    let is_theirs = [RESTRICTED, ERASURES].contains(&stream);
    let follows = ["CONSUMER.CREATE.@", "CONSUMER.INFO.@.c", "CONSUMER.MSG.NEXT.@.c"];
    match (user, prefix, request) {
        (
            "writer",
            "$JS.API",
            "STREAM.CREATE.@" | "STREAM.MSG.GET.@" | "STREAM.INFO.@" | "DIRECT.GET.@" | "DIRECT.GET.@.a.subject",
        )
        | ("projector" | "gateway", "RECORD.API", "STREAM.INFO.@") => true,
        ("writer", "$JS.API", "STREAM.MSG.DELETE.@") => !is_secret && ![ARCHIVE, LAYOUT].contains(&stream),
        ("projector", "RECORD.API", "DIRECT.GET.@" | "STREAM.MSG.GET.@") => !is_secret && !is_theirs,
        ("projector", "RECORD.API", request) => !is_secret && !is_theirs && follows.contains(&request),
        ("gateway", "RECORD.API", "STREAM.MSG.GET.@" | "DIRECT.GET.@" | "DIRECT.GET.@.a.subject") => !is_theirs,
        ("writer", "$JS.API", request) | ("gateway", "RECORD.API", request) => {
            stream == REGISTRY && follows.contains(&request)
        }
        _ => false,
    }
}

fn may_publish(user: &str, subject: &str) -> bool {
    let stored = [
        "hansard.",
        "hansard_parts.",
        "hansard_logs.",
        "hansard_erasures.",
        "$KV.HANSARD_registry.",
        "$KV.HANSARD_restricted.",
    ];
    user == "writer" && stored.iter().any(|root| subject.starts_with(root))
}

fn may_subscribe(user: &str, subject: &str) -> bool {
    subject == "_INBOX.>" || (user == "gateway" && subject == "live.>")
}

/// Every subject, and whether the user may publish to it.
fn expected(user: &str) -> Vec<(String, bool)> {
    let mut subjects: Vec<(String, bool)> =
        SUBJECTS.map(|subject| (subject.to_owned(), may_publish(user, subject))).into();
    for prefix in PREFIXES {
        let of_server = OF_SERVER.map(|request| (format!("{prefix}.{request}"), false));
        subjects.extend(of_server);
        for stream in STREAMS {
            let of_stream = OF_STREAM.map(|request| {
                let subject = format!("{prefix}.{}", request.replace('@', stream));
                (subject, may_request(user, prefix, request, stream))
            });
            subjects.extend(of_stream);
        }
    }
    subjects
}

#[tokio::test(flavor = "multi_thread")]
async fn users_have_exactly_the_listed_permissions() {
    let lines = nats_accounts::nats_lines();
    let server = devstack::test::nats_with(move |config| config.extra = lines).await;
    let config = RecordConfig {
        partitions: 1,
        monitor_url: Some(server.monitor_url()),
        ..nats_accounts::record_config(&server.url(), "operator")
    };
    Record::create(config).await.expect("a record");
    for user in ["writer", "projector", "gateway"] {
        let url = server.url();
        let mut connection = RawNats::connect(&url, user, &nats_accounts::password(user)).await;
        let mut wrong = Vec::new();
        for (subject, is_granted) in expected(user) {
            let errors = connection.publish(&subject, "_INBOX.x", "{}").await;
            if errors.is_empty() != is_granted {
                wrong.push((subject, is_granted));
            }
        }
        for subject in SUBSCRIPTIONS {
            let errors = connection.subscribe(subject).await;
            if errors.is_empty() != may_subscribe(user, subject) {
                wrong.push((subject.to_owned(), may_subscribe(user, subject)));
            }
        }
        assert_eq!(wrong, [], "{user}: subjects, and whether they are granted");
    }
}
