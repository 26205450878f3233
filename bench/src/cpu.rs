//! Processor time of the roles, the servers and the load generator, from `/proc`.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::time::Instant;

use super::latency::{Measure, real};
use super::report::CpuPerCall;

/// Processes with their children, by role; and this process without them.
#[derive(Debug, Clone)]
pub(crate) struct CpuMeter(Vec<(&'static str, u32)>);

/// The name of this process.
const LOAD_GENERATOR: &str = "load generator";

/// A running measurement.
#[derive(Debug)]
struct Metered<'a> {
    meter: &'a CpuMeter,
    started: Instant,
    before: Vec<f64>,
}

/// The processor time of each role per second.
type CpuShares = Vec<(&'static str, f64)>;

/// Sums over the rounds of a comparison.
#[derive(Debug, Default)]
pub(crate) struct CpuTotals(BTreeMap<&'static str, Vec<f64>>);

impl CpuMeter {
    pub(crate) fn of(roles: impl IntoIterator<Item = (&'static str, Option<u32>)>) -> Self {
        let running = roles.into_iter().filter_map(|(role, pid)| Some((role, pid?)));
        Self(running.collect())
    }

    fn start(&self) -> Metered<'_> {
        Metered { meter: self, started: Instant::now(), before: self.read() }
    }

    /// Seconds of each role since the start of its processes.
    fn read(&self) -> Vec<f64> {
        let table = processes();
        let pids = self.0.iter().map(|(_, pid)| *pid);
        let own = table.get(&std::process::id());
        pids.map(|pid| seconds_of(&table, pid)).chain(own.map(|own| own.seconds)).collect()
    }
}

impl Metered<'_> {
    fn stop(self) -> CpuShares {
        let seconds = self.started.elapsed().as_secs_f64();
        let roles = self.meter.0.iter().map(|(role, _)| *role).chain([LOAD_GENERATOR]);
        let used = self.before.iter().zip(self.meter.read());
        roles.zip(used.map(|(before, after)| (after - before) / seconds)).collect()
    }
}

impl CpuTotals {
    /// Measures a round; without a meter only its calls.
    pub(crate) async fn measure(
        &mut self,
        meter: Option<&CpuMeter>,
        round: impl Future<Output = anyhow::Result<Measure>>,
    ) -> anyhow::Result<Measure> {
        let metered = meter.map(CpuMeter::start);
        let measure = round.await?;
        if let Some(metered) = metered {
            self.add(&metered.stop(), measure.per_second);
        }
        Ok(measure)
    }

    /// Adds a round with so many calls per second.
    fn add(&mut self, shares: &CpuShares, calls_per_second: f64) {
        for (role, share) in shares {
            let micros = share / calls_per_second * 1e6;
            self.0.entry(role).or_default().push(micros);
        }
    }

    /// The median of the rounds; empty if the roles were not measured.
    pub(crate) fn per_call(self) -> Vec<CpuPerCall> {
        let roles = self.0.into_iter().filter_map(|(role, rounds)| {
            let micros = super::rounds::median(rounds)?;
            Some(CpuPerCall { role, micros })
        });
        roles.collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Process {
    parent: u32,
    seconds: f64,
}

/// The running processes; empty if the system has no `/proc`.
fn processes() -> HashMap<u32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        Some((pid, parse(&stat)?))
    });
    entries.collect()
}

/// The processor time of a process.
fn parse(stat: &str) -> Option<Process> {
    // The name in parentheses may contain any character.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = fields.get(11..13)?.iter().map(|ticks| ticks.parse::<u64>()).sum::<Result<u64, _>>().ok()?;
    Some(Process {
        parent: fields.get(1)?.parse().ok()?,
        seconds: real(ticks) / real(rustix::param::clock_ticks_per_second()),
    })
}

/// The seconds of a process and of all below it.
fn seconds_of(table: &HashMap<u32, Process>, root: u32) -> f64 {
    let is_below = |pid: u32| {
        let mut ancestors = std::iter::successors(Some(pid), |pid| Some(table.get(pid)?.parent));
        ancestors.any(|pid| pid == root)
    };
    let below = table.iter().filter(|(pid, _)| is_below(**pid));
    below.map(|(_, process)| process.seconds).sum()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_read_from_linux() {
        let stat = "7 (a) b) S 3 7 7 0 -1 4194304 1 0 0 0 100 50 25 25 20 0 1 0";
        let expected = Process { parent: 3, seconds: 150.0 / real(rustix::param::clock_ticks_per_second()) };
        assert_eq!(parse(stat), Some(expected));
        assert_eq!(parse("7 (a) S 3 7"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn children_count_for_their_role() {
        let process = |parent, seconds| Process { parent, seconds };
        let table =
            HashMap::from([(1, process(0, 1.0)), (2, process(1, 2.0)), (3, process(2, 4.0)), (4, process(1, 8.0))]);
        for (root, expected) in [(1, 15.0), (2, 6.0), (3, 4.0), (9, 0.0)] {
            let seconds = seconds_of(&table, root);
            assert!((seconds - expected).abs() < 1e-9, "{root}: {seconds}");
        }
    }

    #[test]
    fn a_busy_process_is_measured() {
        let meter = CpuMeter::of([("self", Some(std::process::id())), ("none", None)]);
        let metered = meter.start();
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(200) {
            std::hint::spin_loop();
        }
        let shares = metered.stop();
        assert_eq!(shares.len(), 2);
        assert!(shares.iter().all(|(_, share)| *share > 0.1), "{shares:?}");
    }
}
