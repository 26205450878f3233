use super::*;

const ABC: &[&str] = &["a", "b", "c"];

fn stream(index: usize, leader: Option<&str>, servers: &[&str]) -> StreamReplicas {
    StreamReplicas {
        stream: format!("HANSARD_{index}"),
        kind: StreamKind::Commits,
        configured: servers.len(),
        leader: leader.map(str::to_owned),
        servers: servers.iter().map(|server| (*server).to_owned()).collect(),
        behind: Vec::new(),
    }
}

fn streams(all: &[(Option<&str>, &[&str])]) -> Vec<StreamReplicas> {
    let numbered = all.iter().enumerate();
    numbered.map(|(index, (leader, servers))| stream(index, *leader, servers)).collect()
}

fn text(one: &Move) -> String {
    let number = one.stream.trim_start_matches("HANSARD_");
    format!("{number} {} {}", one.from, one.to)
}

fn check_leaders(all: &[(Option<&str>, &[&str])], expected: &[&str]) {
    let moves = leaders(&streams(all));
    assert_eq!(moves.iter().map(text).collect::<Vec<_>>(), expected);
}

#[test]
fn leaders_are_spread_over_the_servers_of_their_partitions() {
    check_leaders(&[], &[]);
    check_leaders(&[(None, ABC)], &[]);
    check_leaders(&[(Some("a"), ABC), (Some("a"), ABC)], &["0 a b"]);
    check_leaders(&[(Some("a"), ABC), (Some("b"), ABC)], &[]);
    let all_on_one = [(Some("a"), ABC); 6];
    check_leaders(&all_on_one, &["0 a b", "1 a c", "2 a b", "3 a c"]);
    // A server without a replica cannot lead.
    let pairs: [(Option<&str>, &[&str]); 3] = [(Some("a"), &["a", "b"]), (Some("a"), &["a", "b"]), (Some("c"), &["c"])];
    check_leaders(&pairs, &["0 a b"]);
}

fn plan(all: &[StreamReplicas], servers: &[&str], goal: Goal<'_>) -> Result<Vec<String>, String> {
    let servers = servers.iter().map(|server| (*server).to_owned()).collect();
    let moves = replicas(all, &servers, goal);
    moves.map(|moves| moves.iter().map(text).collect()).map_err(|error| error.to_string())
}

#[test]
fn replicas_are_spread_over_all_servers() {
    let check = |all: &[StreamReplicas], servers: &[&str], expected: &[&str]| {
        assert_eq!(plan(all, servers, Goal::Even).unwrap(), expected);
    };
    let four = streams(&[(Some("a"), ABC); 4]);
    check(&four, &[], &[]);
    check(&four, &["a", "c"], &[]);
    // Followers are moved before leaders; 12 replicas on 4 servers are 3 each.
    check(&four, &["d"], &["0 b d", "1 c d", "2 a d"]);
    // Each kind is spread by itself.
    let mut kinds = streams(&[(Some("a"), ABC); 2]);
    kinds[1].kind = StreamKind::Parts;
    check(&kinds, &["d"], &[]);
    // One replica cannot be moved.
    let single: [(Option<&str>, &[&str]); 4] = [(Some("a"), &["a"]); 4];
    check(&streams(&single), &["d"], &[]);
}

#[test]
fn a_drained_server_keeps_no_replica() {
    let check =
        |all: &[StreamReplicas], expected: Result<&[&str], &str>| match (plan(all, &["d"], Goal::Drain("a")), expected)
        {
            (Ok(moves), Ok(expected)) => assert_eq!(moves, expected),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            other => panic!("{other:?}"),
        };
    let mut all = streams(&[(Some("a"), ABC), (Some("b"), ABC)]);
    check(&all, Ok(&["0 a d", "1 a d"]));
    // The drained server may be lost.
    all[1].behind = vec!["a".to_owned()];
    check(&all, Ok(&["0 a d", "1 a d"]));
    all[1].behind = vec!["b".to_owned()];
    check(&all, Err("HANSARD_1 is not complete"));
    check(&streams(&[(Some("b"), &["b", "c", "d"])]), Ok(&[]));
    check(
        &streams(&[(Some("a"), &["a", "b", "c", "d"])]),
        Err("no server can take the replica of the stream HANSARD_0"),
    );
    check(&streams(&[(Some("a"), &["a", "b"])]), Err("HANSARD_0 has 2 replicas"));
    check(&streams(&[(Some("a"), &["a"])]), Err("HANSARD_0 has 1 replicas"));
}
