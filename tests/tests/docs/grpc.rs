//! `docs/reference/grpc.md`: every service and method, as the protos have them.

use tests::generated;

use super::source;
use std::fmt::Write as _;

/// The protos with services, in the order of the document.
const FILES: [(&str, &str); 7] = [
    ("write", "proto/hansard/write/v1/write.proto"),
    ("read", "proto/hansard/read/v1/read.proto"),
    ("run", "proto/hansard/run/v1/run.proto"),
    ("history", "proto/hansard/history/v1/history.proto"),
    ("document", "proto/hansard/document/v1/document.proto"),
    ("operate", "proto/hansard/operate/v1/registry.proto"),
    ("audit", "proto/hansard/operate/v1/audit.proto"),
];

/// The services of a proto, each with a table of its methods.
fn services(text: &str) -> String {
    let (mut found, mut comment) = (String::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("//") {
            comment.push(words.trim());
            continue;
        }
        if let Some(rest) = line.strip_prefix("service ") {
            let name = rest.trim_end_matches(" {");
            writeln!(found, "\n**{name}.** {}\n\n| method | meaning |\n|---|---|", comment.join(" ")).expect("text");
        } else if let Some(rest) = line.strip_prefix("rpc ") {
            let (name, signature) = rest.split_once('(').expect("a signature");
            let (request, response) = signature.split_once(')').expect("a response");
            let streams = match (request.starts_with("stream "), response.contains("(stream ")) {
                (true, _) => " (stream of requests and answers)",
                (false, true) => " (stream of answers)",
                (false, false) => "",
            };
            writeln!(found, "| `{name}`{streams} | {} |", source::cell(&comment)).expect("text");
        }
        comment.clear();
    }
    found
}

#[test]
fn the_reference_has_every_method() {
    for (name, file) in FILES {
        let text = format!("{}\n", services(&source::read(file)));
        generated::check("docs/reference/grpc.md", name, &text);
    }
}
