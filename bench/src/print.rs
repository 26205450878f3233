//! Prints a report as text.

use std::io::{self, Write};

use hansard::table;

use super::latency::{Measure, real};
use super::report::{Comparison, CpuPerCall, PeerFigures, Report, Round, Threshold, Verdict};

const MIB: f64 = 1_048_576.0;

pub(crate) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(
        out,
        "{} processors, {} rounds of {} s per side, medians of the rounds' ratios",
        report.processors, report.rounds, report.seconds_per_turn
    )?;
    if !report.optimised {
        writeln!(out, "NOT OPTIMISED: build with --release for valid figures")?;
    }
    for comparison in &report.comparisons {
        write_comparison(out, comparison)?;
    }
    write_peers(out, &report.peers)?;
    for memory in &report.memory {
        let (role, mib) = (memory.role, real(memory.peak_bytes) / MIB);
        writeln!(out, "\nmemory of the {role}: peak {mib:.0} MiB")?;
    }
    Ok(())
}

fn write_peers(out: &mut impl Write, peers: &[PeerFigures]) -> io::Result<()> {
    if peers.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nappends of a pair, and reads of the last 20 messages")?;
    let header = ["", "operation", "callers", "per second", "p50 ms", "p99 ms"];
    let rows: Vec<[String; 6]> = peers.iter().map(row_of_peer).collect();
    table::write(out, header, &rows)
}

fn row_of_peer(figures: &PeerFigures) -> [String; 6] {
    [
        format!("{} {}", figures.peer, figures.version),
        figures.operation.clone(),
        figures.concurrency.to_string(),
        format!("{:.0}", figures.per_second),
        format!("{:.2}", figures.p50_ms),
        format!("{:.2}", figures.p99_ms),
    ]
}

fn write_comparison(out: &mut impl Write, comparison: &Comparison) -> io::Result<()> {
    writeln!(out, "\n{}\n  {}", comparison.title, comparison.load)?;
    let per_second = format!("{}/s", comparison.unit);
    let header = ["", per_second.as_str(), "p50 ms", "p99 ms", "p99.9 ms"];
    let rows: Vec<[String; 5]> = comparison.rounds.iter().flat_map(|round| rows_of(round, comparison)).collect();
    let mut lines = Vec::new();
    table::write(&mut lines, header, &rows)?;
    for line in String::from_utf8_lossy(&lines).lines() {
        writeln!(out, "  {line}")?;
    }
    for verdict in &comparison.verdicts {
        writeln!(out, "  {}", sentence(verdict))?;
    }
    if !comparison.cpu.is_empty() {
        writeln!(out, "  {}", cpu_line(&comparison.cpu))?;
    }
    for note in &comparison.notes {
        writeln!(out, "  {note}")?;
    }
    Ok(())
}

/// The processor time of a call in all processes and in each role.
fn cpu_line(cpu: &[CpuPerCall]) -> String {
    let total: f64 = cpu.iter().map(|role| role.micros).sum();
    let roles: Vec<String> = cpu.iter().map(|role| format!("{} {:.0}", role.role, role.micros)).collect();
    format!("processor time per call, µs: {total:.0} ({})", roles.join(", "))
}

fn rows_of(round: &Round, comparison: &Comparison) -> Vec<[String; 5]> {
    let row = |name: &str, measure: &Measure| {
        let latency = &measure.latency;
        let ms = |ms: f64| match latency.count {
            0 => "-".to_owned(),
            _ => format!("{ms:.2}"),
        };
        [
            name.to_owned(),
            format!("{:.0}", measure.per_second),
            ms(latency.p50_ms),
            ms(latency.p99_ms),
            ms(latency.p999_ms),
        ]
    };
    let base = round.base.as_ref().map(|measure| row(comparison.base, measure));
    let beside = comparison.beside.zip(round.beside.as_ref()).map(|(name, measure)| row(name, measure));
    base.into_iter().chain(beside).chain([row(comparison.system, &round.system)]).collect()
}

fn sentence(verdict: &Verdict) -> String {
    let Verdict { figure, value, threshold, kept } = verdict;
    let (word, bound) = match threshold {
        Threshold::AtLeast(bound) => ("at least", bound),
        Threshold::AtMost(bound) => ("at most", bound),
    };
    let result = if *kept { "met" } else { "MISSED" };
    format!("{figure}: {value:.2}, {word} {bound}: {result}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::Latency;
    use crate::report::Memory;

    #[test]
    fn a_report_has_thresholds() {
        let measure = |per_second| Measure {
            per_second,
            latency: Latency { count: 10, p50_ms: 1.25, p99_ms: 20.0, p999_ms: 30.5, max_ms: 31.0 },
        };
        let report = Report {
            processors: 2,
            optimised: false,
            rounds: 1,
            seconds_per_turn: 5.0,
            comparisons: vec![Comparison {
                title: "Acknowledged commits by unary calls".to_owned(),
                load: "256 in flight".to_owned(),
                unit: "commits",
                base: "raw publishes",
                beside: Some("postgres insert"),
                system: "hansard",
                rounds: vec![Round {
                    base: Some(measure(13_000.4)),
                    beside: Some(measure(8_500.0)),
                    system: measure(9_000.0),
                }],
                verdicts: vec![
                    Verdict::of("throughput / baseline", 0.692, Threshold::AtLeast(0.65)),
                    Verdict::of("p99 / baseline", 4.0, Threshold::AtMost(3.0)),
                ],
                cpu: [("nats-server", 45.4), ("writer", 50.0)].map(|(role, micros)| CpuPerCall { role, micros }).into(),
                notes: vec!["the projector caught up within 12 ms".to_owned()],
            }],
            peers: vec![PeerFigures {
                peer: "asyncpg".to_owned(),
                version: "0.31.0".to_owned(),
                operation: "append".to_owned(),
                concurrency: 32,
                per_second: 4_010.4,
                p50_ms: 7.891,
                p99_ms: 12.0,
                note: String::new(),
            }],
            memory: vec![Memory { role: "writer", peak_bytes: 80 * 1_048_576 }],
        };
        let mut out = Vec::new();
        write(&mut out, &report).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
