//! Whether a process can do its work: the state of what it depends on.
//!
//! Probes write it; the gRPC health service and `/readyz` read it. Knows no dependency by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// The most bytes of a reason that are kept.
pub const REASON_BYTES_MAX: usize = 256;

/// The state of one dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It answers.
    Up,
    /// It does not, or has not been asked yet.
    Down {
        /// Why, in words for an operator; never a secret.
        reason: String,
    },
}

/// How often a probe asks, and how long it waits.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// The pause between two checks.
    pub interval: Duration,
    /// The longest wait for one answer; later is as bad as never.
    pub deadline: Duration,
}

impl Probe {
    /// Finds a change within about a second.
    pub const DEFAULT: Self = Self {
        interval: Duration::from_millis(500),
        deadline: Duration::from_millis(500),
    };
}

impl Default for Probe {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What the health was at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The process is ending and takes no new work.
    pub draining: bool,
    /// Each dependency and its state, by name.
    pub dependencies: BTreeMap<&'static str, State>,
    /// The bounds that are in use whole, and of which nothing is freed, by name such as `http.requests`.
    pub saturated: BTreeSet<&'static str>,
    services: BTreeSet<&'static str>,
}

impl Snapshot {
    /// Every dependency is up, nothing is saturated, and the process is not draining.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.draining
            && self.saturated.is_empty()
            && self.dependencies.values().all(|state| *state == State::Up)
    }

    /// Whether `service` is served here; the empty name stands for the whole process.
    #[must_use]
    pub fn knows(&self, service: &str) -> bool {
        service.is_empty() || self.services.contains(service)
    }
}

/// The health of one role; clones share it.
#[derive(Debug, Clone)]
pub struct Health(Arc<watch::Sender<Snapshot>>);

impl Health {
    /// Not ready until each of `dependencies` has been seen up.
    #[must_use]
    pub fn new(dependencies: &[&'static str]) -> Self {
        let unasked = || State::Down {
            reason: "not checked yet".to_owned(),
        };
        let dependencies = dependencies.iter().map(|name| (*name, unasked())).collect();
        let snapshot = Snapshot {
            dependencies,
            ..Snapshot::default()
        };
        Self(Arc::new(watch::Sender::new(snapshot)))
    }

    /// Sets the state of `dependency`, and logs a change.
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

    /// Sets whether all of a bound is in use and nothing of it is freed, and logs a change.
    pub fn saturated(&self, bound: &'static str, saturated: bool) {
        self.0.send_if_modified(|now| {
            if saturated {
                let changed = now.saturated.insert(bound);
                if changed {
                    tracing::warn!(bound, "all slots are in use, and none is freed");
                }
                return changed;
            }
            let changed = now.saturated.remove(bound);
            if changed {
                tracing::info!(bound, "slots are freed again");
            }
            changed
        });
    }

    /// Names a gRPC service whose health is that of the process.
    pub fn register(&self, service: &'static str) {
        self.0.send_if_modified(|now| now.services.insert(service));
    }

    /// Never ready again: the process is ending.
    pub fn drain(&self) {
        self.0.send_modify(|now| now.draining = true);
    }

    /// The health at this moment.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.0.borrow().clone()
    }

    /// Follows the health; the first value is the present one.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Snapshot> {
        self.0.subscribe()
    }

    /// Waits until the process is ready. Give it a deadline of your own.
    pub async fn ready(&self) {
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = self.watch().wait_for(Snapshot::is_ready).await;
    }

    /// Runs `check` every interval with a deadline, and sets the state of `dependency`; never ends.
    pub async fn probe<C, F, E>(self, dependency: &'static str, probe: Probe, mut check: C)
    where
        C: FnMut() -> F,
        F: Future<Output = Result<(), E>>,
        E: Display,
    {
        loop {
            let state = match tokio::time::timeout(probe.deadline, check()).await {
                Ok(Ok(())) => State::Up,
                Ok(Err(error)) => State::Down {
                    reason: error.to_string(),
                },
                Err(_) => State::Down {
                    reason: format!("no answer within {} ms", probe.deadline.as_millis()),
                },
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

    fn down(reason: &str) -> State {
        State::Down {
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn ready_needs_every_dependency_and_no_drain() {
        let health = Health::new(&["nats", "postgres"]);
        let check = |change: &dyn Fn(&Health), ready: bool| {
            change(&health);
            assert_eq!(
                health.snapshot().is_ready(),
                ready,
                "{:?}",
                health.snapshot()
            );
        };
        check(&|_| {}, false);
        check(&|h| h.set("nats", State::Up), false);
        check(&|h| h.set("postgres", State::Up), true);
        check(&|h| h.set("postgres", down("gone")), false);
        check(&|h| h.set("postgres", State::Up), true);
        check(&|h| h.saturated("http.requests", true), false);
        check(&|h| h.saturated("http.streams", false), false);
        check(&|h| h.saturated("http.requests", false), true);
        check(&|h| h.drain(), false);
        check(&|h| h.set("nats", State::Up), false);
        assert!(Health::new(&[]).snapshot().is_ready());
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let health = Health::new(&[]);
        for (reason, kept) in [
            ("x".repeat(256), 256),
            ("x".repeat(257), 256),
            ("é".repeat(200), 256),
        ] {
            health.set("nats", State::Down { reason });
            let State::Down { reason } = &health.snapshot().dependencies["nats"] else {
                panic!()
            };
            assert_eq!(reason.len(), kept);
        }
    }

    #[tokio::test]
    async fn a_probe_tells_failure_silence_and_recovery_within_a_second() {
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
        for (given, expected) in [
            (0, State::Up),
            (1, down("refused")),
            (2, down("no answer within 500 ms")),
            (0, State::Up),
        ] {
            answer.store(given, Ordering::SeqCst);
            let seen = watch.wait_for(|now| now.dependencies["nats"] == expected);
            let started = tokio::time::Instant::now();
            assert!(
                tokio::time::timeout(DEADLINE, seen).await.is_ok(),
                "{expected:?}"
            );
            assert!(
                started.elapsed() < Duration::from_millis(1600),
                "{:?}",
                started.elapsed()
            );
        }
        health.ready().await;
        task.abort();
    }
}
