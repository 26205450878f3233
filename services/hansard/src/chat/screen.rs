//! Writes answers and results: as rendered Markdown on a terminal, otherwise as plain text.

use std::io::{self, Write as _};

use termimad::{MadSkin, terminal_size};

use super::answer::Call;
use super::blocks::Blocks;
use crate::console;
use crate::printable::{line, printable};

/// The widest text: longer lines are hard to read.
const COLUMNS_MAX: usize = 100;
/// Most characters of a call's input that are shown.
const INPUT_CHARS_MAX: usize = 300;

/// How texts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Texts as they are. Standard output has answers and results of commands only; notes are on standard error.
    Plain,
    /// Rendered, in colours.
    Coloured,
    /// Rendered, without colours.
    Uncoloured,
}

/// The output of a chat.
#[derive(Debug)]
pub(super) struct Screen {
    style: Style,
    skin: MadSkin,
    blocks: Blocks,
    /// Whether plain text has been written after the last line break.
    is_in_line: bool,
}

impl Screen {
    pub(super) fn new(style: Style) -> Self {
        let skin = match style {
            Style::Coloured => MadSkin::default(),
            Style::Plain | Style::Uncoloured => MadSkin::no_style(),
        };
        Self { style, skin, blocks: Blocks::default(), is_in_line: false }
    }

    /// Writes more of an answer. On a terminal, text appears when its block is complete.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        if self.style == Style::Plain {
            self.is_in_line = !text.ends_with('\n') && (self.is_in_line || !text.is_empty());
            let mut out = console::out();
            out.write_all(text.as_bytes())?;
            return out.flush();
        }
        let blocks = self.blocks.push(&printable(text));
        blocks.iter().try_for_each(|block| self.block(block))
    }

    /// Ends a text.
    pub(super) fn text_end(&mut self) -> io::Result<()> {
        if self.style == Style::Plain {
            if std::mem::take(&mut self.is_in_line) {
                writeln!(console::out())?;
            }
            return Ok(());
        }
        match self.blocks.finish() {
            Some(block) => self.block(&block),
            None => Ok(()),
        }
    }

    /// Writes a line beside the answers.
    pub(super) fn note(&self, text: &str) -> io::Result<()> {
        if self.style == Style::Plain {
            return writeln!(console::err(), "{text}");
        }
        writeln!(console::out(), "{text}")
    }

    /// Writes a call of a tool.
    pub(super) fn call(&self, call: &Call) -> io::Result<()> {
        let tool = line(&call.tool, INPUT_CHARS_MAX);
        let input = line(&call.input, INPUT_CHARS_MAX);
        self.note(&format!("-> {tool}({input})"))
    }

    fn block(&self, markdown: &str) -> io::Result<()> {
        let width = usize::from(terminal_size().0).min(COLUMNS_MAX);
        let mut out = console::styled();
        writeln!(out, "{}", self.rendered(markdown, width))?;
        out.flush()
    }

    fn rendered(&self, markdown: &str, width: usize) -> String {
        self.skin.text(markdown, Some(width)).to_string()
    }
}

/// Writes a result of a command: lines without Markdown.
pub(super) fn write_result(text: &str) -> io::Result<()> {
    let mut out = console::out();
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer that tries to move the cursor, set the title, and write the clipboard.
    const HOSTILE: &str = "# a\u{1b}[2J\n\n- \u{1b}]0;title\u{7}\n\n`\u{1b}]52;c;YQ==\u{7}`\n\n| \u{9b}1m | b |\n|-|-|\n| c | d |\n\n```\n\u{1b}c\n```\n";

    #[test]
    fn markdown_is_rendered_without_sequences_of_the_answer() {
        let plain = Screen::new(Style::Uncoloured);
        let rendered = plain.rendered(&printable(HOSTILE), 80);
        let is_control = |sign: char| sign.is_control() && sign != '\n';
        assert!(!rendered.contains(is_control), "{rendered:?}");
        for text in ["a", "title", "52;c", "d"] {
            assert!(rendered.contains(text), "{rendered}");
        }
        let coloured = Screen::new(Style::Coloured);
        let rendered = coloured.rendered(&printable(HOSTILE), 80);
        let mut sequences = rendered
            .split('\u{1b}')
            .skip(1)
            .map(|rest| rest.trim_start_matches(|sign: char| sign == '[' || sign == ';' || sign.is_ascii_digit()));
        assert!(sequences.all(|rest| rest.starts_with('m')), "{rendered:?}");
    }

    #[test]
    fn markdown_fits_the_width() {
        let screen = Screen::new(Style::Uncoloured);
        let rendered = screen.rendered("**bold** and `code` in a line that is long", 20);
        assert!(rendered.lines().all(|line| line.chars().count() <= 20), "{rendered}");
        assert!(!rendered.contains("**"), "{rendered}");
    }
}
