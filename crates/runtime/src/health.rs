//! The health of a process: the state of its dependencies.
//!
//! Probes write it. The gRPC health service and `/readyz` read it. This module has no dependency of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;

/// Longer reasons are cut to this size, in bytes.
pub const REASON_BYTES_MAX: usize = 256;

/// The state of one dependency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum State {
    /// The dependency answers.
    Up,
    /// It does not answer, or was not checked yet.
    Down {
        /// The cause, for an operator; never a secret.
        reason: String,
    },
}

/// The timing of a probe.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// The pause between two checks.
    pub interval: Duration,
    /// Maximum duration of one check; a later answer counts as a failure.
    pub deadline: Duration,
}

impl Probe {
    /// Detects a change within about a second.
    pub const DEFAULT: Self = Self { interval: Duration::from_millis(500), deadline: Duration::from_millis(500) };
}

/// The health at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The process is shutting down and accepts no new work.
    pub draining: bool,
    /// The state of each dependency, by name.
    pub dependencies: BTreeMap<&'static str, State>,
    /// Kinds of slots that are all in use, with none released, such as `http.requests`.
    pub saturated: BTreeSet<&'static str>,
    services: BTreeSet<&'static str>,
}

impl Snapshot {
    /// Whether every dependency is up, nothing is saturated, and the process is not draining.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.draining && self.saturated.is_empty() && self.dependencies.values().all(|state| *state == State::Up)
    }

    /// Whether this process serves `service`; the empty name means the whole process.
    #[must_use]
    pub fn serves(&self, service: &str) -> bool {
        service.is_empty() || self.services.contains(service)
    }
}

/// The health of one role; clones share it.
#[derive(Debug, Clone)]
pub struct Health(Arc<watch::Sender<Snapshot>>);

impl Health {
    /// Health that is not ready until each of `dependencies` is up.
    #[must_use]
    pub fn new(dependencies: &[&'static str]) -> Self {
        let unchecked = || State::Down { reason: "not checked yet".to_owned() };
        let snapshot = Snapshot {
            dependencies: dependencies.iter().map(|name| (*name, unchecked())).collect(),
            ..Snapshot::default()
        };
        Self(Arc::new(watch::Sender::new(snapshot)))
    }

    /// Sets the state of `dependency`. A change is logged.
    pub fn set(&self, dependency: &'static str, mut state: State) {
        if let State::Down { reason } = &mut state {
            reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
        }
        self.0.send_if_modified(|now| {
            if now.dependencies.get(dependency) == Some(&state) {
                return false;
            }
            match &state {
                State::Up => tracing::info!(dependency, "dependency is up"),
                State::Down { reason } => tracing::warn!(dependency, reason, "dependency is down"),
            }
            now.dependencies.insert(dependency, state);
            true
        });
    }

    /// Sets whether all slots of a kind are in use and none is released. A change is logged.
    pub fn set_saturated(&self, slots: &'static str, saturated: bool) {
        self.0.send_if_modified(|now| {
            let changed = if saturated { now.saturated.insert(slots) } else { now.saturated.remove(slots) };
            match (changed, saturated) {
                (true, true) => tracing::warn!(slots, "all slots are in use and none is released"),
                (true, false) => tracing::info!(slots, "slots are released again"),
                (false, _) => {}
            }
            changed
        });
    }

    /// Registers a gRPC service. Its health is the health of the process.
    pub fn register(&self, service: &'static str) {
        self.0.send_if_modified(|now| now.services.insert(service));
    }

    /// Marks the process as draining: it is never ready again.
    pub fn drain(&self) {
        self.0.send_modify(|now| now.draining = true);
    }

    /// The health at this moment.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.0.borrow().clone()
    }

    /// Subscribes to changes; the first value is the current health.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Snapshot> {
        self.0.subscribe()
    }

    /// Waits until the process is ready. The caller sets the deadline.
    pub async fn ready(&self) {
        // The sender lives as long as `self`: the wait cannot fail.
        let _ = self.watch().wait_for(Snapshot::is_ready).await;
    }

    /// Runs `check` at each interval, with a deadline, and sets the state of `dependency`. Never returns.
    pub async fn probe<C, F, E>(self, dependency: &'static str, probe: Probe, mut check: C)
    where
        C: FnMut() -> F,
        F: Future<Output = Result<(), E>>,
        E: Display,
    {
        loop {
            let state = match tokio::time::timeout(probe.deadline, check()).await {
                Ok(Ok(())) => State::Up,
                Ok(Err(error)) => State::Down { reason: error.to_string() },
                Err(_) => State::Down { reason: format!("no answer within {} ms", probe.deadline.as_millis()) },
            };
            self.set(dependency, state);
            tokio::time::sleep(probe.interval).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(5);
    /// The resolution of tokio's timers: an interval and a deadline.
    const TOLERANCE: Duration = Duration::from_millis(2);

    fn down(reason: &str) -> State {
        State::Down { reason: reason.to_owned() }
    }

    #[test]
    fn ready_needs_every_dependency_and_no_drain() {
        let health = Health::new(&["nats", "postgres"]);
        let check = |change: &dyn Fn(&Health), ready: bool| {
            change(&health);
            assert_eq!(health.snapshot().is_ready(), ready, "{:?}", health.snapshot());
        };
        check(&|_| {}, false);
        check(&|h| h.set("nats", State::Up), false);
        check(&|h| h.set("postgres", State::Up), true);
        check(&|h| h.set("postgres", down("gone")), false);
        check(&|h| h.set("postgres", State::Up), true);
        check(&|h| h.set_saturated("http.requests", true), false);
        check(&|h| h.set_saturated("http.streams", false), false);
        check(&|h| h.set_saturated("http.requests", false), true);
        check(&|h| h.drain(), false);
        check(&|h| h.set("nats", State::Up), false);
        assert!(Health::new(&[]).snapshot().is_ready());
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let health = Health::new(&[]);
        for (reason, kept) in [("x".repeat(256), 256), ("x".repeat(257), 256), ("é".repeat(200), 256)] {
            health.set("nats", State::Down { reason });
            let State::Down { reason } = &health.snapshot().dependencies["nats"] else { panic!() };
            assert_eq!(reason.len(), kept);
        }
    }

    /// The paused clock advances when all tasks are idle.
    #[tokio::test(start_paused = true)]
    async fn a_probe_reports_failure_timeout_and_recovery_within_a_second() {
        let health = Health::new(&["nats"]);
        let answer = Arc::new(AtomicU8::new(0));
        let check = {
            let answer = Arc::clone(&answer);
            move || {
                let answer = answer.load(Ordering::SeqCst);
                async move {
                    match answer {
                        0 => Ok(()),
                        1 => Err("refused"),
                        _ => std::future::pending().await,
                    }
                }
            }
        };
        let task = tokio::spawn(health.clone().probe("nats", Probe::DEFAULT, check));
        let mut watch = health.watch();
        for (given, expected) in
            [(0, State::Up), (1, down("refused")), (2, down("no answer within 500 ms")), (0, State::Up)]
        {
            answer.store(given, Ordering::SeqCst);
            let seen = watch.wait_for(|now| now.dependencies["nats"] == expected);
            let started = tokio::time::Instant::now();
            assert!(tokio::time::timeout(DEADLINE, seen).await.is_ok(), "{expected:?}");
            assert!(started.elapsed() <= Duration::from_secs(1) + TOLERANCE, "{:?}", started.elapsed());
        }
        health.ready().await;
        task.abort();
    }
}
