//! The parts that pages share. Each is a function from values to markup.

mod bar_chart;
mod empty;
mod filter_line;
mod form;
mod indented_json;
mod json_block;
mod line_chart;
mod notice;
mod numbers;
mod pagination;
mod table;
mod times;

pub use bar_chart::{BARS_MAX, BarChart, BarSeries, SeriesColour, bar_chart};
pub use empty::{EmptyState, empty};
pub use filter_line::{FilterLine, FilterWord, filter_line};
pub use form::{FORM_TOKEN_FIELD, copy_button, form};
pub use indented_json::indented_json;
pub use json_block::{JSON_HEAD_BYTES, JsonBlock, json_block};
pub use line_chart::{Line, line_chart};
pub use notice::{Tone, badge, notice};
pub use numbers::{bytes, number, tokens};
pub use pagination::{PageLinks, pagination};
pub use table::{Column, table};
pub use times::{duration, time, utc};
