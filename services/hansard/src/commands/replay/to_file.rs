//! A replay into a file: a line of JSON a commit. The file itself says how far it is.

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
use crate::selection::Places;
use crate::view::commit;

/// Most bytes of a line: far more than a commit of the largest message that a server takes.
const LINE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Only its owner reads what conversations say.
const MODE: u32 = 0o600;

/// What a file holds already, up to its last whole line.
#[derive(Debug)]
pub(super) struct Whole {
    file: PathBuf,
    is_there: bool,
    bytes: u64,
    last: BTreeMap<Partition, Last>,
}

/// A partition's last line.
#[derive(Debug)]
struct Last {
    line: u64,
    sequence: Sequence,
    commit: String,
}

/// What is read of a line.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    partition: u16,
    sequence: u64,
    commit_id: String,
}

impl Whole {
    /// A file that is not there.
    pub(super) fn nothing(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            is_there: false,
            bytes: 0,
            last: BTreeMap::new(),
        }
    }

    pub(super) fn places(&self) -> Places {
        let last = self.last.iter();
        last.map(|(partition, last)| (*partition, last.sequence))
            .collect()
    }

    /// Checks that the file is of this record: each partition's last line is what the record holds there, unless that was
    /// erased.
    pub(super) async fn check(&self, record: &Record) -> anyhow::Result<()> {
        for (partition, last) in &self.last {
            let position = Position {
                partition: *partition,
                sequence: last.sequence,
            };
            let is_there = partition.0 < record.partitions();
            let message = if is_there {
                record.message_at(position).await?
            } else {
                None
            };
            let is_other = match message {
                Some(message) => message.open()?.opened.commit.id.to_string() != last.commit,
                None => !is_there,
            };
            if is_other {
                let (file, line) = (self.file.display(), last.line);
                let told = format!("{file} is of another record: see its line {line}");
                return Err(UsageError(told).into());
            }
        }
        Ok(())
    }
}

/// Reads a file to its last whole line; one that is not there is empty.
pub(super) fn scan(path: &Path) -> anyhow::Result<Whole> {
    let mut whole = Whole::nothing(path);
    let shown = path.display();
    let file = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(whole),
        opened => opened.with_context(|| format!("cannot read {shown}"))?,
    };
    whole.is_there = true;
    let mut reader = BufReader::new(file);
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        let mut bounded = (&mut reader).take(LINE_BYTES_MAX);
        bounded.read_until(b'\n', &mut text)?;
        if text.last() != Some(&b'\n') {
            break;
        }
        let line: Line = serde_json::from_slice(&text)
            .map_err(|_| UsageError(format!("line {number} of {shown} is none of a replay")))?;
        whole.bytes += u64::try_from(text.len())?;
        let last = Last {
            line: number,
            sequence: Sequence(line.sequence),
            commit: line.commit_id,
        };
        whole.last.insert(Partition(line.partition), last);
    }
    Ok(whole)
}

/// A file that is written.
#[derive(Debug)]
pub(super) struct Lines(BufWriter<File>);

impl Lines {
    /// Goes on behind what is whole; what is behind that is cut off.
    pub(super) fn open(whole: &Whole) -> anyhow::Result<Self> {
        let shown = whole.file.display();
        let mut options = OpenOptions::new();
        // A file that somebody else has made meanwhile is theirs.
        options.write(true).create_new(!whole.is_there).mode(MODE);
        let opened = options.open(&whole.file);
        let mut file = opened.with_context(|| format!("cannot write {shown}"))?;
        file.set_len(whole.bytes)?;
        file.seek(SeekFrom::Start(whole.bytes))?;
        Ok(Self(BufWriter::new(file)))
    }

    pub(super) fn write(&mut self, message: &StoredMessage) -> anyhow::Result<()> {
        writeln!(self.0, "{}", commit::json_of(message)?)?;
        Ok(())
    }

    /// All is on disk when this comes out well.
    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        self.0.flush()?;
        self.0.get_ref().sync_all()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of a file, and its whole bytes.
    type Found<'a> = (&'a [(u16, u64)], u64);

    /// What is found in a file, or said of it.
    fn check(text: &str, expected: Result<Found<'_>, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.jsonl");
        std::fs::write(&file, text).unwrap();
        match (scan(&file), expected) {
            (Ok(whole), Ok((places, bytes))) => {
                let found: Vec<_> = whole.places().into_iter().collect();
                let expected = places.iter().map(|(p, s)| (Partition(*p), Sequence(*s)));
                assert_eq!(found, expected.collect::<Vec<_>>(), "{text}");
                assert_eq!(whole.bytes, bytes, "{text}");
                let mut lines = Lines::open(&whole).unwrap();
                lines.finish().unwrap();
                assert_eq!(std::fs::metadata(&file).unwrap().len(), bytes, "{text}");
            }
            (Err(error), Err(told)) => assert!(error.to_string().contains(told), "{error}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    fn line(partition: u16, sequence: u64) -> String {
        format!(
            "{{\"partition\":{partition},\"sequence\":{sequence},\"commitId\":\"x\",\"events\":[]}}\n"
        )
    }

    #[test]
    fn a_file_is_gone_on_with_behind_its_last_whole_line() {
        let three = [line(0, 4), line(1, 9), line(0, 7)].concat();
        let bytes = u64::try_from(three.len()).unwrap();
        let places = [(0, 7), (1, 9)];
        check("", Ok((&[], 0)));
        check("{\"part", Ok((&[], 0)));
        check(&three, Ok((&places, bytes)));
        check(&format!("{three}{{\"partition\":1"), Ok((&places, bytes)));
        // The line is whole once its end is.
        check(
            &format!("{three}{}", line(1, 10).trim_end()),
            Ok((&places, bytes)),
        );
        check(&format!("{three}{{}}\n{three}"), Err("line 4 of "));
        let missing = scan(Path::new("/no/such/file")).unwrap();
        assert_eq!((missing.places(), missing.bytes), (Places::new(), 0));
    }
}
