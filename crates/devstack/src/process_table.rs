//! Information about processes that are not children of this process, from `/proc` or `ps`.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Pid;

struct Entry {
    parent: Option<Pid>,
    ended: bool,
}

/// Whether the process runs. A zombie does not run.
pub(crate) fn is_alive(pid: Pid) -> bool {
    entry(pid).is_some_and(|entry| !entry.ended)
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
    all()
        .into_iter()
        .filter(|pid| entry(*pid).is_some_and(|entry| !entry.ended && entry.parent == Some(parent)))
        .collect()
}

fn has_proc() -> bool {
    Path::new("/proc/self/stat").exists()
}

fn all() -> Vec<Pid> {
    if !has_proc() {
        return ps(&["-A", "-o", "pid="])
            .unwrap_or_default()
            .lines()
            .filter_map(parse)
            .collect();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| parse(entry.file_name().to_str()?))
        .collect()
}

fn entry(pid: Pid) -> Option<Entry> {
    let text = if has_proc() {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may contain any character.
        stat.rsplit_once(')')?.1.to_owned()
    } else {
        ps(&["-o", "stat=,ppid=", "-p", &pid.to_string()])?
    };
    let mut fields = text.split_whitespace();
    let ended = fields.next()?.starts_with(['Z', 'X']);
    Some(Entry {
        parent: parse(fields.next()?),
        ended,
    })
}

fn ps(arguments: &[&str]) -> Option<String> {
    let output = Command::new("ps").args(arguments).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()).filter(|text| !text.is_empty())
}

pub(crate) fn parse(text: &str) -> Option<Pid> {
    Pid::from_raw(text.trim().parse().ok()?)
}
