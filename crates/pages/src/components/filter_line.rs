//! A filter as one line of text, which is the page's URL.

use maud::{Markup, html};

/// A word of the filter's language, for its help.
#[derive(Debug, Clone, Copy)]
pub struct FilterWord {
    /// An example, such as `agent:support`.
    pub example: &'static str,
    /// What it selects.
    pub meaning: &'static str,
}

/// The line and its help.
#[derive(Debug, Clone, Copy)]
pub struct FilterLine<'a> {
    /// The path of the page; the line is its parameter `q`.
    pub action: &'a str,
    /// The text of the line.
    pub value: &'a str,
    /// What is wrong with the line, and how to correct it.
    pub error: Option<&'a str>,
    /// Its language.
    pub words: &'a [FilterWord],
}

/// The filter of a list. `/` focuses it. Works without scripts.
#[must_use]
pub fn filter_line(line: FilterLine<'_>) -> Markup {
    let is_wrong = line.error.is_some();
    html! {
        form.filter method="get" action=(line.action) role="search" {
            label.visually-hidden for="filter" { "Filter" }
            input #filter type="search" name="q" value=(line.value) data-filter autocomplete="off" spellcheck="false"
                maxlength="1024" placeholder="Filter, for example: agent:support errors:>0"
                aria-invalid=[is_wrong.then_some("true")] aria-describedby=[is_wrong.then_some("filter-error")];
            button type="submit" { "Filter" }
            @if !line.value.is_empty() {
                a.button.quiet href=(line.action) { "Clear" }
            }
        }
        @if let Some(error) = line.error {
            div.notice.bad #filter-error role="alert" { (error) }
        }
        details.filter-help {
            summary.muted { "What can a filter contain?" }
            dl {
                @for word in line.words {
                    dt { (word.example) }
                    dd { (word.meaning) }
                }
            }
        }
    }
}
