//! The files of a message, checked against what the agent accepts of callers with a public key. The content decides about the type
//! of a file: names and declared types are claims.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::content::MediaSource;
use domain::{AttachmentType, Label, Part, Violation, ViolationReason};
use wire::status::{Problem, Reason};

use crate::frontend_settings::AcceptedFiles;

/// Rejects a message with a file that the agent does not accept; `field` is the caller's name of the message.
///
/// # Errors
/// `ATTACHMENT_NOT_ACCEPTED`; `FIELD_TOO_LONG` or `FIELD_OUT_OF_RANGE`.
pub(super) fn check(field: &str, parts: &[Part], accepted: &AcceptedFiles) -> Result<(), Problem> {
    let files: Vec<File<'_>> = parts.iter().filter_map(File::of).collect();
    let files_max = usize::try_from(accepted.files_max).unwrap_or(usize::MAX);
    if !accepted.types.is_empty() && files.len() > files_max {
        let count = files.len();
        let rule = format!("has {count} files, but the agent accepts at most {files_max}: send fewer");
        return Err(Violation::new(ViolationReason::OutOfRange, rule).within(field).into());
    }
    for (index, file) in files.iter().enumerate() {
        let at = format!("file {} of {field}", index.saturating_add(1));
        file.check(field, &at, accepted)?;
    }
    Ok(())
}

/// A file of a message.
struct File<'a> {
    source: &'a MediaSource,
    declared: &'a str,
}

impl<'a> File<'a> {
    fn of(part: &'a Part) -> Option<Self> {
        match part {
            Part::Image { source, media_type, .. } | Part::File { source, media_type, .. } => {
                Some(Self { source, declared: media_type.as_ref().map_or("", Label::as_str) })
            }
            Part::Text(_)
            | Part::Thinking { .. }
            | Part::RedactedThinking(_)
            | Part::Refusal(_)
            | Part::ProviderItem { .. } => None,
        }
    }

    fn check(&self, field: &str, at: &str, accepted: &AcceptedFiles) -> Result<(), Problem> {
        let refused = |what: &str| not_accepted(field, &format!("{at} {what}"), accepted);
        if accepted.types.is_empty() {
            return Err(refused("cannot be sent"));
        }
        let without_content = || refused("is not base64 in a data: URL of its mediaType");
        let encoded = self.encoded().ok_or_else(without_content)?;
        let bytes_max = usize::try_from(accepted.file_bytes_max).unwrap_or(usize::MAX);
        // Four characters are three bytes: a longer text is not decoded.
        if encoded.len() / 4 > bytes_max / 3 + 1 {
            return Err(too_long(field, at, bytes_max));
        }
        let content = STANDARD.decode(encoded).map_err(|_| without_content())?;
        if content.len() > bytes_max {
            return Err(too_long(field, at, bytes_max));
        }
        match AttachmentType::of_content(&content) {
            Some(found) if !accepted.types.contains(&found) => Err(refused(&format!("is {}", found.media_type()))),
            Some(found) if found.media_type() != self.declared => {
                Err(refused(&format!("is {}, but its mediaType is another one", found.media_type())))
            }
            Some(_) => Ok(()),
            None => Err(refused("has a content of another type")),
        }
    }

    /// The base64 of a `data:` URL with the declared type; `None`: the file is elsewhere, or the types differ.
    fn encoded(&self) -> Option<&'a str> {
        let MediaSource::Url(url) = self.source else {
            return None;
        };
        url.strip_prefix("data:")?.strip_prefix(self.declared)?.strip_prefix(";base64,")
    }
}

fn too_long(field: &str, at: &str, bytes_max: usize) -> Problem {
    let detail = format!("{at} is longer than {bytes_max} bytes, which the agent accepts at most: send a smaller file");
    Problem::new(Reason::Field(ViolationReason::TooLong), detail).in_field(field)
}

fn not_accepted(field: &str, what: &str, accepted: &AcceptedFiles) -> Problem {
    let types: Vec<&str> = accepted.types.iter().map(|known| known.media_type()).collect();
    let remedy = if types.is_empty() {
        "the agent accepts no files: send text".to_owned()
    } else {
        format!("the agent accepts {}", types.join(", "))
    };
    Problem::new(Reason::AttachmentNotAccepted, format!("{what}: {remedy}")).in_field(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES_MAX: u32 = 10;
    const FILES_MAX: u32 = 2;

    fn url(declared: &str, content: &[u8]) -> String {
        format!("data:{declared};base64,{}", STANDARD.encode(content))
    }

    fn file(declared: &str, url: String) -> Part {
        Part::File { source: MediaSource::Url(url), media_type: Label::parse(declared).ok(), filename: None }
    }

    fn text(content: &[u8]) -> Part {
        file("text/plain", url("text/plain", content))
    }

    fn check(parts: &[Part], types: &[AttachmentType], expected: &str) {
        let accepted = AcceptedFiles { types: types.to_vec(), file_bytes_max: BYTES_MAX, files_max: FILES_MAX };
        let seen = super::check("parts", parts, &accepted)
            .map_or_else(|problem| problem.message().to_owned(), |()| String::new());
        assert_eq!(seen, expected);
    }

    #[test]
    fn accepted_files_pass() {
        check(&[Part::Text("hi".to_owned())], &[], "");
        check(&[text(b"hi"), text(b"")], &[AttachmentType::Text], "");
        check(&[file("application/pdf", url("application/pdf", b"%PDF-1"))], &[AttachmentType::Pdf], "");
    }

    #[test]
    fn the_content_decides_about_the_type() {
        let types = [AttachmentType::Text, AttachmentType::Png];
        let refused = |what: &str| format!("file 1 of parts {what}: the agent accepts text/plain, image/png");
        check(&[text(b"%PDF-1")], &types, &refused("is application/pdf"));
        check(
            &[file("image/png", url("image/png", b"hi"))],
            &types,
            &refused("is text/plain, but its mediaType is another one"),
        );
        check(&[text(b"\0")], &types, &refused("has a content of another type"));
    }

    #[test]
    fn files_without_a_content_are_refused() {
        let refused = "file 1 of parts is not base64 in a data: URL of its mediaType: the agent accepts text/plain";
        for url in [
            "https://site.example/a.txt",
            "data:text/plain,hi",
            "data:text/plain;charset=utf-8;base64,aGk=",
            "data:text/html;base64,aGk=",
            "data:text/plain;base64,aGk",
        ] {
            check(&[file("text/plain", url.to_owned())], &[AttachmentType::Text], refused);
        }
        let stored = Part::Image { source: MediaSource::FileId("f".to_owned()), media_type: None, detail: None };
        check(&[stored], &[AttachmentType::Text], refused);
        check(&[text(b"hi")], &[], "file 1 of parts cannot be sent: the agent accepts no files: send text");
    }

    #[test]
    fn sizes_and_numbers_at_their_bounds() {
        let types = [AttachmentType::Text];
        check(&[text(&[b'a'; 10])], &types, "");
        let long = "file 2 of parts is longer than 10 bytes, which the agent accepts at most: send a smaller file";
        for length in [11, 12, 13, 100] {
            check(&[text(b"a"), text(&vec![b'a'; length])], &types, long);
        }
        let many = "parts has 3 files, but the agent accepts at most 2: send fewer";
        check(&[text(b"a"), text(b"a"), text(b"a")], &types, many);
    }
}
