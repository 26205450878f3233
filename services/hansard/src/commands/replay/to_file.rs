//! Replays to a file: one line of JSON per commit. The last complete lines are the point at which a replay resumes.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use domain::{Partition, Position, Sequence};
use event_log::{Record, StoredMessage};
use serde::Deserialize;

use crate::exit::UsageError;
use crate::selection::Positions;
use crate::view::commit;

/// The maximum size of a line: far above the largest commit.
const LINE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The mode of the file, which contains message contents: only its owner can read it.
const MODE: u32 = 0o600;

/// The contents of a file up to its last complete line.
#[derive(Debug)]
pub(super) struct ExistingFile {
    file: PathBuf,
    exists: bool,
    bytes: u64,
    last: BTreeMap<Partition, Last>,
}

/// The last line of a partition.
#[derive(Debug)]
struct Last {
    line: u64,
    sequence: Sequence,
    commit: String,
}

/// The parsed fields of a line.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    partition: u16,
    sequence: u64,
    commit_id: String,
}

impl ExistingFile {
    /// A file that does not exist.
    pub(super) fn missing(file: &Path) -> Self {
        Self { file: file.to_owned(), exists: false, bytes: 0, last: BTreeMap::new() }
    }

    pub(super) fn positions(&self) -> Positions {
        let last = self.last.iter();
        last.map(|(partition, last)| (*partition, last.sequence)).collect()
    }

    /// Checks that the file belongs to this record: the last line of each partition must equal the commit in the record, unless
    /// that was erased.
    pub(super) async fn check(&self, record: &Record) -> anyhow::Result<()> {
        for (partition, last) in &self.last {
            let position = Position { partition: *partition, sequence: last.sequence };
            let mut is_own = partition.0 < record.partitions();
            if is_own && let Some(message) = record.message_at(position).await? {
                is_own = message.open()?.opened.commit.id.to_string() == last.commit;
            }
            let (file, line) = (self.file.display(), last.line);
            let message = || format!("line {line} of {file} belongs to another record");
            anyhow::ensure!(is_own, UsageError(message()));
        }
        Ok(())
    }
}

/// Reads a file up to its last complete line. A missing file is empty.
pub(super) fn scan(path: &Path) -> anyhow::Result<ExistingFile> {
    let mut existing = ExistingFile::missing(path);
    let shown = path.display();
    let file = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(existing),
        opened => opened.with_context(|| format!("cannot read {shown}"))?,
    };
    existing.exists = true;
    let mut reader = BufReader::new(file);
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        let mut bounded = (&mut reader).take(LINE_BYTES_MAX);
        bounded.read_until(b'\n', &mut text)?;
        if text.last() != Some(&b'\n') {
            break;
        }
        let invalid = || format!("line {number} of {shown} is not a line of a replay");
        let line: Line = serde_json::from_slice(&text).map_err(|_| UsageError(invalid()))?;
        existing.bytes += u64::try_from(text.len())?;
        let last = Last { line: number, sequence: Sequence(line.sequence), commit: line.commit_id };
        existing.last.insert(Partition(line.partition), last);
    }
    Ok(existing)
}

/// A file that is being written.
#[derive(Debug)]
pub(super) struct FileTarget(BufWriter<File>);

impl FileTarget {
    /// Opens the file after its last complete line and truncates the rest.
    pub(super) fn open(existing: &ExistingFile) -> anyhow::Result<Self> {
        let shown = existing.file.display();
        let mut options = OpenOptions::new();
        // Fails if another process has created the file meanwhile.
        options.write(true).create_new(!existing.exists).mode(MODE);
        let mut file = options.open(&existing.file).with_context(|| format!("cannot write {shown}"))?;
        file.set_len(existing.bytes)?;
        file.seek(SeekFrom::Start(existing.bytes))?;
        Ok(Self(BufWriter::new(file)))
    }

    pub(super) fn write(&mut self, message: &StoredMessage) -> anyhow::Result<()> {
        writeln!(self.0, "{}", commit::json_of(message)?)?;
        Ok(())
    }

    /// Flushes the file to disk.
    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        self.0.flush()?;
        self.0.get_ref().sync_all()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The positions of a file, and the size of its complete lines.
    type Found<'a> = (&'a [(u16, u64)], u64);

    /// Checks what a scan finds, or the error.
    fn check(text: &str, expected: Result<Found<'_>, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.jsonl");
        std::fs::write(&file, text).unwrap();
        match (scan(&file), expected) {
            (Ok(existing), Ok((positions, bytes))) => {
                let found: Vec<_> = existing.positions().into_iter().collect();
                let expected = positions.iter().map(|(p, s)| (Partition(*p), Sequence(*s)));
                assert_eq!(found, expected.collect::<Vec<_>>(), "{text}");
                assert_eq!(existing.bytes, bytes, "{text}");
                let mut target = FileTarget::open(&existing).unwrap();
                target.finish().unwrap();
                assert_eq!(std::fs::metadata(&file).unwrap().len(), bytes, "{text}");
            }
            (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{error}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    fn line(partition: u16, sequence: u64) -> String {
        format!("{{\"partition\":{partition},\"sequence\":{sequence},\"commitId\":\"x\",\"events\":[]}}\n")
    }

    #[test]
    fn a_file_continues_after_its_last_complete_line() {
        let three = [line(0, 4), line(1, 9), line(0, 7)].concat();
        let bytes = u64::try_from(three.len()).unwrap();
        let positions = [(0, 7), (1, 9)];
        check("", Ok((&[], 0)));
        check("{\"part", Ok((&[], 0)));
        check(&three, Ok((&positions, bytes)));
        check(&format!("{three}{{\"partition\":1"), Ok((&positions, bytes)));
        // A line without a line break is incomplete.
        check(&format!("{three}{}", line(1, 10).trim_end()), Ok((&positions, bytes)));
        check(&format!("{three}{{}}\n{three}"), Err("line 4 of "));
        let missing = scan(Path::new("/no/such/file")).unwrap();
        assert_eq!((missing.positions(), missing.bytes), (Positions::new(), 0));
    }
}
