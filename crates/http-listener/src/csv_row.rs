//! Rows of CSV (RFC 4180), safe to open in a spreadsheet: a cell that would be a formula starts with an apostrophe.

use csv::{Terminator, WriterBuilder};
use domain::is_printable;

/// The content type of files whose first row has the names of the columns.
pub const CSV: &str = "text/csv; charset=utf-8; header=present";

/// Spreadsheets read a cell that starts with one of these as a formula, some also after characters that they do not show. Some
/// read their wide forms alike.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Appends a row. Cells are quoted only where RFC 4180 requires it.
pub fn row<const COUNT: usize>(cells: &[String; COUNT], chunk: &mut Vec<u8>) {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(chunk);
    // Dropping the writer flushes it; a buffer in memory takes every row.
    if let Err(error) = writer.write_record(cells.iter().map(|cell| without_formula(cell))) {
        tracing::error!(%error, "a row cannot be written as CSV");
    }
}

fn without_formula(cell: &str) -> String {
    let shown = cell.trim_start_matches(|sign: char| !is_printable(sign) || sign.is_whitespace() || is_hidden(sign));
    let is_formula = shown.starts_with(FORMULA) || cell.starts_with(char::is_control);
    if is_formula { format!("'{cell}") } else { cell.to_owned() }
}

/// Characters without width that are no blanks by Unicode: zero-width ones and the byte order mark.
fn is_hidden(sign: char) -> bool {
    matches!(sign, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cell: &str, expected: &str) {
        let mut chunk = Vec::new();
        row(&[cell.to_owned(), String::new()], &mut chunk);
        let written = String::from_utf8(chunk).unwrap();
        assert_eq!(written, format!("{expected},\r\n"));
    }

    #[test]
    fn no_cell_is_a_formula_or_ends_its_row() {
        check("", "");
        check("plain", "plain");
        check("a,b", "\"a,b\"");
        check("say \"hi\"", "\"say \"\"hi\"\"\"");
        check("two\nlines", "\"two\nlines\"");
        check(" a b ; # \\ 'c' é", " a b ; # \\ 'c' é");
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", " =1"] {
            check(formula, &format!("'{formula}"));
        }
        check("\r=1", "\"'\r=1\"");
        check("\n=1", "\"'\n=1\"");
        check("\n1", "\"'\n1\"");
        for hidden in ["\u{a0}", "\u{feff}", "\u{200b}", "\u{2028}", "\u{202e}", "\u{3000}", "\0", " \u{a0}\u{feff} "] {
            for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "＝1", "＋1", "－1", "＠x"] {
                let cell = format!("{hidden}{formula}");
                check(&cell, &format!("'{cell}"));
            }
            if !hidden.starts_with(char::is_control) {
                check(&format!("{hidden}a=1"), &format!("{hidden}a=1"));
            }
        }
        check("=cmd|' /C calc'!A0,", "\"'=cmd|' /C calc'!A0,\"");
        check("a=1", "a=1");
    }
}
