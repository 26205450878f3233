//! Tables that scroll by themselves in narrow windows.

use maud::{Markup, html};

/// The head of a column.
#[derive(Debug, Clone)]
pub struct Column<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether its cells are numbers, which are aligned at the right.
    pub is_number: bool,
}

impl<'a> Column<'a> {
    /// A column of texts.
    #[must_use]
    pub fn text(name: &'a str) -> Self {
        Self { name, is_number: false }
    }

    /// A column of numbers.
    #[must_use]
    pub fn number(name: &'a str) -> Self {
        Self { name, is_number: true }
    }
}

/// A table with a caption for screen readers. Each row is a `tr`.
#[must_use]
pub fn table(caption: &str, columns: &[Column<'_>], rows: &[Markup]) -> Markup {
    html! {
        div.table tabindex="0" role="region" aria-label=(caption) {
            table {
                caption.visually-hidden { (caption) }
                thead {
                    tr {
                        @for column in columns {
                            th.number[column.is_number] scope="col" { (column.name) }
                        }
                    }
                }
                tbody { @for row in rows { (row) } }
            }
        }
    }
}
