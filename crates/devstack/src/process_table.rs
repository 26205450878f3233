//! Information about processes that are not children of this process, from `/proc` or `ps`.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Pid;

struct Entry {
    parent: Option<Pid>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// By a signal.
    Stopped,
    Ended,
}

/// Whether the process runs. A zombie does not run.
pub(crate) fn is_alive(pid: Pid) -> bool {
    entry(pid).is_some_and(|entry| entry.state != State::Ended)
}

/// Whether no thread of the process runs. After a signal to stop, threads run for a moment.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    let is_running = |entry: Option<Entry>| entry.is_some_and(|one| one.state == State::Running);
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return !is_running(entry(pid));
    };
    let mut threads = threads.flatten();
    !threads.any(|thread| is_running(stat(&thread.path())))
}

/// The program and its arguments, separated by single spaces.
pub(crate) fn command_line(pid: Pid) -> Option<String> {
    if !has_proc() {
        return ps(&["-o", "command=", "-p", &pid.to_string()]);
    }
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(String::from_utf8_lossy(&line).replace('\0', " "))
}

pub(crate) fn children(parent: Pid) -> Vec<Pid> {
    all().into_iter().filter(|pid| is_child(*pid, parent)).collect()
}

fn has_proc() -> bool {
    Path::new("/proc/self/stat").exists()
}

fn all() -> Vec<Pid> {
    if !has_proc() {
        return ps(&["-A", "-o", "pid="]).unwrap_or_default().lines().filter_map(parse).collect();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| parse(entry.file_name().to_str()?)).collect()
}

fn is_child(pid: Pid, parent: Pid) -> bool {
    entry(pid).is_some_and(|entry| entry.state != State::Ended && entry.parent == Some(parent))
}

fn entry(pid: Pid) -> Option<Entry> {
    if has_proc() {
        return stat(Path::new(&format!("/proc/{pid}")));
    }
    parse_entry(&ps(&["-o", "stat=,ppid=", "-p", &pid.to_string()])?)
}

/// A process or thread by its folder in `/proc`.
fn stat(folder: &Path) -> Option<Entry> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // The name in parentheses may contain any character.
    parse_entry(stat.rsplit_once(')')?.1)
}

fn parse_entry(text: &str) -> Option<Entry> {
    let mut fields = text.split_whitespace();
    let state = match fields.next()?.chars().next()? {
        'Z' | 'X' => State::Ended,
        'T' => State::Stopped,
        _ => State::Running,
    };
    Some(Entry { parent: parse(fields.next()?), state })
}

fn ps(arguments: &[&str]) -> Option<String> {
    let output = Command::new("ps").args(arguments).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()).filter(|text| !text.is_empty())
}

pub(crate) fn parse(text: &str) -> Option<Pid> {
    Pid::from_raw(text.trim().parse().ok()?)
}
