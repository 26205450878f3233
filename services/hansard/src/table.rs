//! Text tables: each column is as wide as its widest cell; columns are two spaces apart.

use std::io::{self, Write};

use serde_json::Value;

use crate::console;
use crate::printable::cell;

const GAP: &str = "  ";

/// Writes `rows` under `header`; each row has as many cells as the header.
///
/// # Errors
/// The output is closed.
pub fn write<const N: usize>(out: &mut impl Write, header: [&str; N], rows: &[[String; N]]) -> io::Result<()> {
    let rows: Vec<_> = rows.iter().map(|row| row.each_ref().map(|text| cell(text))).collect();
    let cells = || std::iter::once(header).chain(rows.iter().map(|row| row.each_ref().map(String::as_str)));
    let mut widths = [0; N];
    for row in cells() {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in cells() {
        let padded = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = padded.collect::<Vec<_>>().join(GAP);
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Prints each item as a line of JSON if `json` is given, else all items as a table.
pub(crate) fn print_list<T, const N: usize>(
    items: &[T],
    json: Option<impl Fn(&T) -> Value>,
    header: [&str; N],
    row: impl Fn(&T) -> [String; N],
) -> io::Result<()> {
    let mut out = console::out();
    let Some(json) = json else {
        let rows: Vec<_> = items.iter().map(row).collect();
        return write(&mut out, header, &rows);
    };
    for item in items {
        writeln!(out, "{}", json(item))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut out = Vec::new();
        let rows = [["é".to_owned(), "x".to_owned()], ["long".to_owned(), String::new()]];
        write(&mut out, ["ID", "NAME"], &rows).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "ID    NAME\né     x\nlong\n");
        let mut out = Vec::new();
        let forged = [["a\nb".to_owned(), "x".to_owned()], ["c".to_owned(), "\u{9b}2J".to_owned()]];
        write(&mut out, ["ID", "NAME"], &forged).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "ID        NAME\na\\u000ab  x\nc         \\u009b2J\n");
    }
}
