use super::*;

const SERVER: Server = Server { cores: 8, memory_gib: 32, disk_gib: 2_000 };

fn load(conversations: u64, commits_per_second: u64) -> Load {
    Load {
        conversations,
        hibernated: 0,
        events_per_conversation: 40,
        event_bytes: 350,
        commits_per_second,
        contexts_per_second: commits_per_second,
        replicas: 3,
    }
}

fn servers(load: &Load) -> Vec<u64> {
    let plan = Plan::of(load, &SERVER);
    plan.needs.iter().map(|need| need.servers).collect()
}

#[test]
fn servers_follow_the_scarcest_resource() {
    // As many NATS servers as replicas, one of each other role.
    assert_eq!(servers(&load(1_000, 1)), [3, 1, 1, 1, 1]);
    // Processors: 10,000 commits and contexts per second.
    assert_eq!(servers(&load(1_000, 10_000)), [3, 1, 1, 1, 1]);
    assert_eq!(servers(&load(1_000, 100_000)), [10, 3, 2, 4, 4]);
    // Memory and disk of 100 million conversations.
    assert_eq!(servers(&load(100_000_000, 1)), [4, 1, 1, 2, 1]);
}

#[test]
fn hibernated_conversations_cost_nats_nothing() {
    let needs = |hibernated| {
        let load = Load { hibernated, ..load(100_000_000, 1) };
        let needs = Plan::of(&load, &SERVER).needs;
        let of = |role: usize| (needs[role].memory_bytes, needs[role].disk_bytes);
        (of(0), of(1), of(3))
    };
    let process = 512 * 1_024 * 1_024;
    let (nats, writer, postgres) = needs(100_000_000);
    assert_eq!((nats, writer), ((process, 0), (process + 1_600_000_000, 0)));
    let (nats, writer, before) = needs(0);
    assert_eq!(nats.0, process + 93_000_000_000);
    assert_eq!((writer.0, before), (process, postgres));
}

#[test]
fn the_bounds_of_a_server() {
    let half = |millicores: u64| need(Role::Writer, &load(1, millicores * 1_000 / 90), &SERVER);
    // Half of 8 processors.
    assert_eq!((half(3_999).servers, half(4_002).servers), (1, 2));
}

#[test]
fn the_first_bottleneck_is_named() {
    let check = |load: &Load, resource: &str, at_percent: u64| {
        let bottleneck = Plan::of(load, &SERVER).bottleneck;
        let expected = Bottleneck { resource: bottleneck.resource, at_percent };
        assert_eq!((bottleneck, bottleneck.resource), (expected, resource));
    };
    check(&load(1_000, 1_000), "processors of Postgres", 2_985);
    check(&load(10_000_000, 1_000), "disk of Postgres", 555);
    let only_commits = Load { contexts_per_second: 0, ..load(1_000, 1_000) };
    check(&only_commits, "processors of Postgres", 4_761);
}

#[test]
fn no_load_overflows() {
    let most = Load {
        conversations: u64::MAX,
        hibernated: 0,
        events_per_conversation: u64::MAX,
        event_bytes: u64::MAX,
        commits_per_second: u64::MAX,
        contexts_per_second: u64::MAX,
        replicas: 5,
    };
    let plan = Plan::of(&most, &SERVER);
    assert!(plan.needs.iter().all(|need| need.servers > 0));
    assert_eq!(plan.bottleneck.at_percent, 0);
}
