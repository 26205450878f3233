//! What to move. Pure.

use std::collections::{BTreeMap, BTreeSet};

use event_log::{StreamKind, StreamReplicas};
use thiserror::Error;

/// With fewer replicas, the removal of one leaves no majority.
const REPLICAS_MIN: usize = 3;

/// What the replicas are moved for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal<'a> {
    /// No server has two replicas more than another one, of the streams of each kind.
    Even,
    /// This server has no replica.
    Drain(&'a str),
}

/// What is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    Leader,
    Replica,
}

impl Moved {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Replica => "replica",
        }
    }
}

/// A move between servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) stream: String,
    pub(super) moved: Moved,
    pub(super) from: String,
    pub(super) to: String,
}

/// Why replicas cannot be moved.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum ReplicaPlanError {
    /// A replica less would be a risk.
    #[error(
        "the stream {stream} is not complete: a replica is missing, offline or lags; wait, or drain the server that is lost (see hansard partitions list)"
    )]
    Incomplete { stream: String },
    #[error("the stream {stream} has {replicas} replicas: only streams with at least {REPLICAS_MIN} can lose one")]
    TooFewReplicas { stream: String, replicas: usize },
    #[error(
        "no server can take the replica of the stream {stream}: add the URL of a server that has joined the cluster to --nats-url"
    )]
    NoServer { stream: String },
}

/// The fewest moves after which no server leads two partitions more than another one that has a replica of one of them.
pub(super) fn leaders(streams: &[StreamReplicas]) -> Vec<Move> {
    let commits: Vec<_> = streams.iter().filter(|stream| stream.kind == StreamKind::Commits).collect();
    let mut led = BTreeMap::<&str, u32>::new();
    let mut leaders = BTreeMap::new();
    for stream in &commits {
        for server in &stream.servers {
            led.entry(server).or_default();
        }
        if let Some(leader) = stream.leader.as_deref() {
            *led.entry(leader).or_default() += 1;
            leaders.insert(stream.stream.as_str(), leader);
        }
    }
    let mut moves = Vec::new();
    while let Some(LeaderMove { stream, from, to }) = next_leader(&commits, &led, &leaders) {
        *led.entry(from).or_default() -= 1;
        *led.entry(to).or_default() += 1;
        leaders.insert(stream, to);
        moves.push(move_of(stream, Moved::Leader, from, to));
    }
    moves
}

/// A possible move of a leader.
struct LeaderMove<'a> {
    stream: &'a str,
    from: &'a str,
    to: &'a str,
}

/// The move that reduces the largest difference.
fn next_leader<'a>(
    streams: &[&'a StreamReplicas],
    led: &BTreeMap<&'a str, u32>,
    leaders: &BTreeMap<&'a str, &'a str>,
) -> Option<LeaderMove<'a>> {
    let count = |server: &str| led.get(server).copied().unwrap_or_default();
    let possible = streams.iter().enumerate().flat_map(|(index, stream)| {
        let from = leaders.get(stream.stream.as_str()).copied();
        let others = stream.servers.iter().map(String::as_str);
        others.filter_map(move |to| Some((index, LeaderMove { stream: stream.stream.as_str(), from: from?, to })))
    });
    let reduces = possible.filter(|(_, one)| count(one.from) > count(one.to) + 1);
    let best =
        reduces.max_by_key(|(index, one)| (count(one.from) - count(one.to), std::cmp::Reverse((*index, one.to))));
    best.map(|(_, one)| one)
}

/// The moves of replicas. `servers` are those that may have none yet.
pub(super) fn replicas(
    streams: &[StreamReplicas],
    servers: &BTreeSet<String>,
    goal: Goal<'_>,
) -> Result<Vec<Move>, ReplicaPlanError> {
    let mut known: BTreeSet<&str> = servers.iter().map(String::as_str).collect();
    known.extend(streams.iter().flat_map(|one| one.servers.iter().map(String::as_str)));
    check_complete(streams, goal)?;
    let planned = match goal {
        Goal::Even => [StreamKind::Commits, StreamKind::Parts, StreamKind::Other]
            .into_iter()
            .flat_map(|kind| even(of_kind(streams, kind), &known))
            .collect(),
        Goal::Drain(server) => drain(streams, &known, server)?,
    };
    Ok(planned)
}

fn check_complete(streams: &[StreamReplicas], goal: Goal<'_>) -> Result<(), ReplicaPlanError> {
    let drained = match goal {
        Goal::Even => None,
        Goal::Drain(server) => Some(server),
    };
    let mut replicated = streams.iter().filter(|stream| stream.configured > 1);
    match replicated.find(|stream| !stream.is_complete_except(drained)) {
        None => Ok(()),
        Some(stream) => Err(ReplicaPlanError::Incomplete { stream: stream.stream.clone() }),
    }
}

/// The streams of a kind with their servers, which planning changes.
fn of_kind(streams: &[StreamReplicas], kind: StreamKind) -> Vec<Placed<'_>> {
    let streams = streams.iter().filter(|stream| stream.kind == kind);
    let movable = streams.filter(|stream| stream.configured >= REPLICAS_MIN);
    movable.map(Placed::of).collect()
}

/// A stream and its planned servers.
struct Placed<'a> {
    stream: &'a StreamReplicas,
    servers: BTreeSet<&'a str>,
}

impl<'a> Placed<'a> {
    fn of(stream: &'a StreamReplicas) -> Self {
        let servers = stream.servers.iter().map(String::as_str);
        Self { stream, servers: servers.collect() }
    }
}

fn even<'a>(mut placed: Vec<Placed<'a>>, known: &BTreeSet<&'a str>) -> Vec<Move> {
    let mut moves = Vec::new();
    while let Some(ReplicaMove { index, from, to }) = next_replica(&placed, known) {
        if let Some(one) = placed.get_mut(index) {
            one.servers.remove(from);
            one.servers.insert(to);
            moves.push(move_of(&one.stream.stream, Moved::Replica, from, to));
        }
    }
    moves
}

/// A possible move of a replica.
struct ReplicaMove<'a> {
    /// The index of its stream.
    index: usize,
    from: &'a str,
    to: &'a str,
}

/// The move that reduces the largest difference, of a follower if possible.
fn next_replica<'a>(placed: &[Placed<'a>], known: &BTreeSet<&'a str>) -> Option<ReplicaMove<'a>> {
    let counts = counts_of(placed);
    let count = |server: &str| counts.get(server).copied().unwrap_or_default();
    let possible = placed.iter().enumerate().flat_map(|(index, one)| {
        let others = known.iter().filter(|to| !one.servers.contains(*to));
        others.flat_map(move |to| one.servers.iter().map(move |from| ReplicaMove { index, from, to }))
    });
    let reduces = possible.filter(|one| count(one.from) > count(one.to) + 1);
    reduces.max_by_key(|ReplicaMove { index, from, to }| {
        let leader = placed.get(*index).and_then(|one| one.stream.leader.as_deref());
        let is_follower = leader != Some(*from);
        let first = std::cmp::Reverse((*index, *from, *to));
        (count(from) - count(to), is_follower, first)
    })
}

/// The number of replicas of each server.
fn counts_of<'a>(placed: &[Placed<'a>]) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for server in placed.iter().flat_map(|one| &one.servers) {
        *counts.entry(*server).or_default() += 1;
    }
    counts
}

fn drain(streams: &[StreamReplicas], known: &BTreeSet<&str>, drained: &str) -> Result<Vec<Move>, ReplicaPlanError> {
    let mut placed: Vec<_> = streams.iter().map(Placed::of).collect();
    let mut moves = Vec::new();
    for index in 0..placed.len() {
        let counts = counts_of(&placed);
        let Some(one) = placed.get_mut(index).filter(|one| one.servers.contains(drained)) else {
            continue;
        };
        let (stream, replicas) = (one.stream.stream.clone(), one.stream.configured);
        if replicas < REPLICAS_MIN {
            return Err(ReplicaPlanError::TooFewReplicas { stream, replicas });
        }
        let free = known.iter().filter(|server| !one.servers.contains(*server));
        let Some(to) = free.min_by_key(|server| counts.get(*server).copied().unwrap_or_default()) else {
            return Err(ReplicaPlanError::NoServer { stream });
        };
        one.servers.remove(drained);
        one.servers.insert(to);
        moves.push(move_of(&stream, Moved::Replica, drained, to));
    }
    Ok(moves)
}

fn move_of(stream: &str, moved: Moved, from: &str, to: &str) -> Move {
    Move { stream: stream.to_owned(), moved, from: from.to_owned(), to: to.to_owned() }
}

#[cfg(test)]
mod tests;
