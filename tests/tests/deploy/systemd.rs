//! Validates the units with systemd, if it is installed.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use devstack::test::nats_program;
use hansard::commands::role::END_DEADLINE;
use tests::program;

use tests::deploy_files as files;

/// The last value of a unit's setting.
fn setting(unit: &str, name: &str) -> String {
    let text = files::text(unit);
    let mut values = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let value = values.next_back().unwrap_or_else(|| panic!("{name} in {unit}"));
    value.to_owned()
}

fn seconds(unit: &str, name: &str) -> Duration {
    let value = setting(unit, name);
    let seconds = value.strip_suffix('s').and_then(|number| number.parse().ok());
    Duration::from_secs(seconds.unwrap_or_else(|| panic!("{name}={value}")))
}

#[test]
fn stop_timeouts_exceed_shutdown_deadlines() {
    assert!(seconds("systemd/hansard@.service", "TimeoutStopSec") > END_DEADLINE);
    let nats = files::text("nats/record.conf");
    let lame = nats
        .lines()
        .find_map(|line| line.strip_prefix("lame_duck_duration: "))
        .and_then(|value| value.strip_suffix('s')?.parse().ok());
    let lame = Duration::from_secs(lame.expect("lame_duck_duration"));
    assert!(seconds("systemd/nats-server.service", "TimeoutStopSec") > lame);
}

fn verify(unit: &Path) -> Option<(bool, String)> {
    let output = Command::new("systemd-analyze").arg("verify").arg(unit).output().ok()?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((output.status.success(), stderr))
}

#[tokio::test]
async fn systemd_accepts_the_units() {
    let folder = tempfile::tempdir().expect("a folder");
    let programs = [
        ("systemd/hansard@.service", "hansard@writer.service", "/usr/local/bin/hansard", program!().path().to_owned()),
        (
            "systemd/hansard-verify.service",
            "hansard-verify.service",
            "/usr/local/bin/hansard",
            program!().path().to_owned(),
        ),
        (
            "systemd/hansard-migrate.service",
            "hansard-migrate.service",
            "/usr/local/bin/hansard",
            program!().path().to_owned(),
        ),
        ("systemd/nats-server.service", "nats-server.service", "/usr/local/bin/nats-server", nats_program().await),
    ];
    for (file, unit, installed, here) in programs {
        let here = here.to_str().expect("a plain name");
        let text = files::text(file).replace(installed, here);
        let path = folder.path().join(unit);
        fs::write(&path, &text).expect("a unit");
        // Without systemd, nothing can be validated.
        let Some((taken, stderr)) = verify(&path) else {
            return;
        };
        assert!(taken && !stderr.contains(unit), "{unit}: {stderr}");
        let type_of = format!("Type={}", setting(file, "Type"));
        fs::write(&path, text.replace(&type_of, "Type=sometimes")).expect("a unit");
        let (_, stderr) = verify(&path).expect("systemd");
        assert!(stderr.contains("sometimes"), "an error is reported: {stderr}");
    }
}
