//! Splits Markdown that arrives in pieces into blocks that are complete, so that each can be rendered once.

/// Most bytes of a block: a longer one is split at the end of a line, so that nothing waits without end.
pub(super) const BLOCK_BYTES_MAX: usize = 16 * 1024;

/// The Markdown that has arrived and is not printed.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// Complete lines of the open block.
    block: String,
    /// The incomplete line.
    line: String,
    /// The fence of an open code block: its sign and length.
    fence: Option<(char, usize)>,
}

impl Blocks {
    /// Adds text and returns the blocks that it completes.
    pub(super) fn push(&mut self, text: &str) -> Vec<String> {
        let mut complete = Vec::new();
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                complete.extend(self.add_line(&line));
            }
        }
        complete
    }

    /// Ends the Markdown. Returns its last block, if it is not empty.
    pub(super) fn finish(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        self.block.push_str(&line);
        self.fence = None;
        self.take()
    }

    fn add_line(&mut self, line: &str) -> Option<String> {
        let fence = fence_of(line);
        match (self.fence, fence) {
            (None, Some(opening)) => {
                let before = self.take();
                self.block.push_str(line);
                self.fence = Some(opening);
                return before;
            }
            (Some((sign, length)), Some((closing, count)))
                if sign == closing && count >= length && is_bare(line, sign) =>
            {
                self.block.push_str(line);
                self.fence = None;
                return self.take();
            }
            (None, None) if line.trim().is_empty() => return self.take(),
            (None | Some(_), None | Some(_)) => {}
        }
        self.block.push_str(line);
        if self.block.len() < BLOCK_BYTES_MAX {
            return None;
        }
        self.split_block()
    }

    /// Ends a block that is too long. The rest of a code block gets a fence of its own.
    fn split_block(&mut self) -> Option<String> {
        if let Some((sign, length)) = self.fence {
            let fence: String = std::iter::repeat_n(sign, length).collect();
            self.block.push_str(&fence);
            let block = self.take();
            self.block = format!("{fence}\n");
            return block;
        }
        self.take()
    }

    fn take(&mut self) -> Option<String> {
        let block = std::mem::take(&mut self.block);
        (!block.trim().is_empty()).then_some(block)
    }
}

/// The sign and length of the fence that a line begins with.
fn fence_of(line: &str) -> Option<(char, usize)> {
    let text = line.trim_start_matches(' ');
    let sign = text.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = text.chars().take_while(|next| *next == sign).count();
    (length >= 3).then_some((sign, length))
}

/// Whether a line has nothing but its fence.
fn is_bare(line: &str, sign: char) -> bool {
    line.trim().chars().all(|next| next == sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the blocks of a text, in one piece and sign by sign.
    fn check(text: &str, expected: &[&str]) {
        let mut blocks = Blocks::default();
        let mut whole = blocks.push(text);
        whole.extend(blocks.finish());
        assert_eq!(whole, expected, "{text:?}");
        let mut by_sign = Vec::new();
        for sign in text.chars() {
            by_sign.extend(blocks.push(&sign.to_string()));
        }
        by_sign.extend(blocks.finish());
        assert_eq!(by_sign, expected, "{text:?}");
    }

    #[test]
    fn blocks_end_at_blank_lines_and_fences() {
        check("", &[]);
        check("\n\n", &[]);
        check("a", &["a"]);
        check("a\nb\n\nc", &["a\nb\n", "c"]);
        check("- a\n- b\n\n\n# c\n", &["- a\n- b\n", "# c\n"]);
        check("a\n```rust\nb\n\nc\n```\nd", &["a\n", "```rust\nb\n\nc\n```\n", "d"]);
        check("````\n```\n\n````\n", &["````\n```\n\n````\n"]);
        check("~~~\n```\n~~~\n", &["~~~\n```\n~~~\n"]);
        check("```\n``` x\n```", &["```\n``` x\n```"]);
        check("``inline``\n", &["``inline``\n"]);
    }

    #[test]
    fn blocks_have_a_bound() {
        let line = format!("{}\n", "x".repeat(BLOCK_BYTES_MAX / 4 - 1));
        let mut blocks = Blocks::default();
        assert!(blocks.push(&line.repeat(3)).is_empty());
        assert_eq!(blocks.push(&line), [line.repeat(4)]);
        assert!(blocks.push("```\n").is_empty());
        let split = blocks.push(&line.repeat(4));
        assert_eq!(split, [format!("```\n{}```", line.repeat(4))]);
        assert_eq!(blocks.push("y\n```\n"), ["```\ny\n```\n"]);
        assert_eq!(blocks.finish(), None);
    }
}
