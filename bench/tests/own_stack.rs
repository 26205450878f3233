//! A small run with an own stack: every figure has a threshold, and no file remains.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Small enough for a build without optimisations; the figures are not valid.
const SMALL: &str = "--own-stack --rounds 1 --duration 1 --in-flight 16 --conversations 32 \
                     --backlog-events 4000 --suite stream,projection,lag,contexts,streams --readers 1 --json";

#[test]
fn figures_have_thresholds() {
    let folder = tempfile::Builder::new().prefix("hansard-").tempdir_in("/tmp").expect("a folder");
    // As root, Postgres runs as another user, who must be able to enter.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("mode");
    let output = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(SMALL.split_whitespace())
        .args(["--data-dir".as_ref(), folder.path().as_os_str()])
        .stdin(Stdio::null())
        .output()
        .expect("the program");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let comparisons = report["comparisons"].as_array().expect("comparisons");
    assert_eq!(comparisons.len(), 6);
    for comparison in comparisons {
        let round = &comparison["rounds"][0];
        let rate = |side: &str| round[side]["per_second"].as_f64().unwrap_or_default();
        assert!(rate("system") > 0.0, "{comparison}");
        let has_base = rate("base") > 0.0 || comparison["base"] == "";
        assert!(has_base, "{comparison}");
        let verdicts = comparison["verdicts"].as_array().expect("verdicts");
        assert!(!verdicts.is_empty(), "{comparison}");
    }
    let memory = report["memory"].as_array().expect("memory");
    let roles: Vec<&Value> = memory.iter().map(|memory| &memory["role"]).collect();
    assert_eq!(roles, ["writer", "projector", "gateway"]);
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
}

#[test]
fn a_running_stack_needs_a_token() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench"))
        .env_remove("HANSARD_TOKEN")
        .stdin(Stdio::null())
        .output()
        .expect("the program");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let expected = "bench: give --token of the running stack";
    assert!(stderr.contains(expected), "{stderr}");
}
