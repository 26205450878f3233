//! A parser of shell commands, limited to the syntax in documents.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

/// The commands of a script, each as words without quotes and redirections.
pub(crate) fn commands(script: &str) -> Vec<Vec<String>> {
    let script = without_here_documents(&script.replace("\\\n", " "));
    let mut reader = Reader::default();
    let mut signs = script.chars().peekable();
    while let Some(sign) = signs.next() {
        reader.take(sign, &mut signs);
    }
    reader.end_command();
    reader.commands
}

/// Removes the lines of `<<'END'` documents.
fn without_here_documents(script: &str) -> String {
    let mut kept = String::new();
    let mut end: Option<String> = None;
    for line in script.lines() {
        if let Some(word) = &end {
            if line == word {
                end = None;
            }
            continue;
        }
        let (line, word) = line.split_once("<<").unwrap_or((line, ""));
        let word = word.split_whitespace().next().unwrap_or_default().trim_matches(['\'', '"']);
        end = (!word.is_empty()).then(|| word.to_owned());
        writeln!(kept, "{line}").expect("text");
    }
    kept
}

#[derive(Default)]
struct Reader {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
    /// The next word is the file of a redirection.
    is_redirection: bool,
}

impl Reader {
    fn take(&mut self, sign: char, rest: &mut Peekable<Chars<'_>>) {
        match sign {
            '\'' | '"' => {
                let word = self.word.get_or_insert_default();
                word.extend(rest.by_ref().take_while(|next| *next != sign));
            }
            '#' if self.word.is_none() => while rest.next_if(|next| *next != '\n').is_some() {},
            '<' | '>' => {
                self.end_word();
                self.is_redirection = true;
                while rest.next_if(|next| matches!(next, '>' | '&')).is_some() {}
            }
            '\n' | ';' | '|' | '&' | '(' | ')' => self.end_command(),
            ' ' | '\t' => self.end_word(),
            other => self.word.get_or_insert_default().push(other),
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if self.is_redirection {
            self.is_redirection = false;
        } else {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.is_redirection = false;
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }
}

#[test]
fn commands_and_their_words() {
    let check = |script: &str, expected: &[&[&str]]| assert_eq!(commands(script), expected, "{script}");
    check("a b  # c", &[&["a", "b"]]);
    check("a 'b c' \\\n  \"d\"", &[&["a", "b c", "d"]]);
    check("a | b && c; d", &[&["a"], &["b"], &["c"], &["d"]]);
    check("k=$(a b) c", &[&["k=$"], &["a", "b"], &["c"]]);
    check("a > f b 2>&1", &[&["a", "b", "2"]]);
    check("cat > f <<'E'\na b\nE\nc", &[&["cat"], &["c"]]);
}
