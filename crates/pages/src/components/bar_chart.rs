//! Charts of stacked bars, drawn as SVG by `plotters`. A table beside each has the same numbers.
//!
//! The colours in the SVG are those of the light theme; the style sheet replaces them by its own, for each theme.

use maud::{Markup, PreEscaped, html};
use plotters::coord::combinators::BindKeyPoints as _;
use plotters::prelude::{ChartBuilder, IntoDrawingArea as _, RGBColor, Rectangle, SVGBackend};
use plotters::style::Color as _;

use super::number;

/// Width and height, in pixels.
pub(super) const SIZE: (u32, u32) = (960, 240);
/// Space of the labels beside the axis of numbers, in pixels.
pub(super) const NUMBERS_WIDTH: u32 = 96;
pub(super) const MARGIN: u32 = 8;
pub(super) const LABELS_HEIGHT: u32 = 24;
pub(super) const FONT: (&str, i32) = ("sans-serif", 15);
/// Maximum number of labels below the bars.
const LABELS_MAX: usize = 10;
/// Maximum length of a label.
const LABEL_CHARS_MAX: usize = 12;
/// Units of the axis of each bar, and of the gap at each side.
const BAR_UNITS: u32 = 10;
const GAP_UNITS: u32 = 1;
/// Maximum number of bars.
pub const BARS_MAX: usize = 1_000;

/// The colour of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesColour {
    /// The accent of the dashboard.
    Accent,
    /// Green.
    Good,
    /// Yellow.
    Warn,
    /// Red.
    Bad,
}

impl SeriesColour {
    /// The colour of the light theme. The style sheet selects by it.
    pub(super) fn rgb(self) -> RGBColor {
        match self {
            Self::Accent => RGBColor(0x0b, 0x5c, 0xad),
            Self::Good => RGBColor(0x1a, 0x6f, 0x33),
            Self::Warn => RGBColor(0x7d, 0x52, 0x00),
            Self::Bad => RGBColor(0xab, 0x24, 0x1c),
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Accent => "accent",
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// A part of every bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BarSeries<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its colour.
    pub colour: SeriesColour,
    /// Its value in each bar.
    pub values: Vec<u64>,
}

/// A chart. Bars after the first [`BARS_MAX`] are not drawn.
#[derive(Debug, Clone, Copy)]
pub struct BarChart<'a> {
    /// What it shows.
    pub title: &'a str,
    /// The name of each bar.
    pub bars: &'a [&'a str],
    /// The parts of the bars, from the bottom.
    pub series: &'a [BarSeries<'a>],
}

/// A chart with its legend. Nothing is drawn without bars.
#[must_use]
pub fn bar_chart(chart: BarChart<'_>) -> Markup {
    let bars = chart.bars.get(..BARS_MAX).unwrap_or(chart.bars);
    let drawn = draw(BarChart { bars, ..chart });
    let legend: Vec<_> = chart.series.iter().map(|series| (series.name, series.colour)).collect();
    figure(chart.title, &legend, &drawn.unwrap_or_default())
}

/// The drawn chart below its title and its legend.
pub(super) fn figure(title: &str, legend: &[(&str, SeriesColour)], svg: &str) -> Markup {
    html! {
        figure.chart.card {
            figcaption {
                strong { (title) }
                @for (name, colour) in legend {
                    span class={ "swatch " (colour.class()) } { (name) }
                }
            }
            // `plotters` escapes the texts.
            div role="img" aria-label={ (title) ". The table has the numbers." } { (PreEscaped(svg)) }
        }
    }
}

fn draw(chart: BarChart<'_>) -> Option<String> {
    let count = u32::try_from(chart.bars.len()).ok()?;
    if count == 0 {
        return None;
    }
    let step = chart.bars.len().div_ceil(LABELS_MAX);
    let middles = (0..count).map(|bar| bar * BAR_UNITS + BAR_UNITS / 2);
    let labelled: Vec<u32> = middles.step_by(step).collect();
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut context = ChartBuilder::on(&area)
            .margin(MARGIN)
            .x_label_area_size(LABELS_HEIGHT)
            .y_label_area_size(NUMBERS_WIDTH)
            .build_cartesian_2d((0..count * BAR_UNITS).with_key_points(labelled), 0..highest(chart))
            .ok()?;
        context
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(LABELS_MAX)
            .x_label_formatter(&|unit| label(chart, *unit))
            .y_labels(5)
            .y_label_formatter(&|value| number(*value))
            .label_style(FONT)
            .draw()
            .ok()?;
        context.draw_series(rectangles(chart)).ok()?;
        area.present().ok()?;
    }
    Some(svg)
}

/// The highest bar, at least 1.
fn highest(chart: BarChart<'_>) -> u64 {
    let sums = (0..chart.bars.len()).map(|bar| {
        let values = chart.series.iter().map(|series| value(series, bar));
        values.fold(0, u64::saturating_add)
    });
    sums.max().unwrap_or_default().max(1)
}

fn value(series: &BarSeries<'_>, bar: usize) -> u64 {
    series.values.get(bar).copied().unwrap_or_default()
}

fn label(chart: BarChart<'_>, unit: u32) -> String {
    let bar = usize::try_from(unit / BAR_UNITS).ok();
    let name = bar.and_then(|bar| chart.bars.get(bar)).copied().unwrap_or_default();
    if name.chars().count() <= LABEL_CHARS_MAX {
        return name.to_owned();
    }
    let start: String = name.chars().take(LABEL_CHARS_MAX - 1).collect();
    format!("{start}…")
}

fn rectangles(chart: BarChart<'_>) -> Vec<Rectangle<(u32, u64)>> {
    let mut rectangles = Vec::new();
    for (bar, start) in (0..chart.bars.len()).zip((0..).step_by(10)) {
        let mut bottom = 0_u64;
        for series in chart.series {
            let top = bottom.saturating_add(value(series, bar));
            if top > bottom {
                let corners = [(start + GAP_UNITS, top), (start + BAR_UNITS - GAP_UNITS, bottom)];
                rectangles.push(Rectangle::new(corners, series.colour.rgb().filled()));
            }
            bottom = top;
        }
    }
    rectangles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(bars: &[&str], values: [Vec<u64>; 2]) -> String {
        let [first, second] = values;
        let series = [
            BarSeries { name: "read", colour: SeriesColour::Accent, values: first },
            BarSeries { name: "written", colour: SeriesColour::Warn, values: second },
        ];
        let title = "Tokens by day";
        bar_chart(BarChart { title, bars, series: &series }).into_string()
    }

    #[test]
    fn bars_have_a_part_for_each_value() {
        let svg = chart(&["a", "b"], [vec![1, 2], vec![3, 0]]);
        assert_eq!(svg.matches("fill=\"#0B5CAD\"").count(), 2, "{svg}");
        assert_eq!(svg.matches("fill=\"#7D5200\"").count(), 1, "{svg}");
        assert!(!svg.contains("style="), "{svg}");
        assert!(svg.contains("aria-label=\"Tokens by day. The table has the numbers.\""));
    }

    #[test]
    fn hostile_names_are_text() {
        let svg = chart(&["<script>x"], [vec![1], vec![1]]);
        assert!(svg.contains("&lt;script&gt;x"), "{svg}");
        assert!(!svg.contains("<script"), "{svg}");
    }

    #[test]
    fn extremes_are_drawn() {
        assert!(!chart(&[], [vec![], vec![]]).contains("<svg"));
        assert!(chart(&["a"], [vec![0], vec![0]]).contains("<svg"));
        let most = chart(&["a"], [vec![u64::MAX], vec![u64::MAX]]);
        assert!(most.contains("<svg"));
        let day = "2026-11-22";
        let many = vec![day; BARS_MAX + 1];
        let svg = chart(&many, [vec![1; many.len()], vec![]]);
        assert_eq!(svg.matches("fill=\"#0B5CAD\"").count(), BARS_MAX);
        assert_eq!(svg.matches(day).count(), LABELS_MAX);
    }
}
