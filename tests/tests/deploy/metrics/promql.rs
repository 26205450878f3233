//! Extracts our metrics from `PromQL` expressions.

/// The prefix of our metrics.
const OURS: [&str; 5] = ["hansard_", "grpc_server_", "http_server_", "process_", "server_"];

/// A metric with conditions on its labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(crate) metric: String,
    pub(crate) labels: Vec<Match>,
}

/// A condition on a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Match {
    /// This value.
    Exact(String, String),
    /// A value that matches a pattern.
    Pattern(String),
}

/// The selectors of an expression, in order.
pub(crate) fn selectors(expression: &str) -> Vec<Selector> {
    let mut found = Vec::new();
    let mut rest = expression;
    while let Some(start) = OURS.iter().filter_map(|prefix| rest.find(prefix)).min() {
        let from = &rest[start..];
        let end = from.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
        let (metric, after) = from.split_at(end.unwrap_or(from.len()));
        let braces = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (labels, after) = braces.unwrap_or(("", after));
        found.push(Selector { metric: metric.to_owned(), labels: labels.split(',').filter_map(label).collect() });
        rest = after;
    }
    found
}

fn label(text: &str) -> Option<Match> {
    let end = text.find(['=', '!'])?;
    let (name, condition) = text.split_at(end);
    let name = name.trim().to_owned();
    let exact = condition.strip_prefix("=\"").and_then(|value| value.strip_suffix('"'));
    Some(match exact {
        Some(value) => Match::Exact(name, value.to_owned()),
        None => Match::Pattern(name),
    })
}

#[test]
fn selectors_of_expressions() {
    let check = |expression: &str, expected: &[(&str, &[Match])]| {
        let expected: Vec<Selector> = expected
            .iter()
            .map(|(metric, labels)| Selector { metric: (*metric).to_owned(), labels: labels.to_vec() })
            .collect();
        assert_eq!(selectors(expression), expected, "{expression}");
    };
    let exact = |name: &str, value: &str| Match::Exact(name.to_owned(), value.to_owned());
    let pattern = |name: &str| Match::Pattern(name.to_owned());
    check("up == 0", &[]);
    check("process_x", &[("process_x", &[])]);
    check(
        r#"sum by (le) (rate(hansard_a_bucket{outcome="ok"}[5m]))"#,
        &[("hansard_a_bucket", &[exact("outcome", "ok")])],
    );
    check(
        r#"http_server_a{x=~"5..", y!="b"} / grpc_server_b > 1"#,
        &[("http_server_a", &[pattern("x"), pattern("y")]), ("grpc_server_b", &[])],
    );
}
