//! Charts of lines over time, drawn as SVG by `plotters`, as [`super::bar_chart()`].

use domain::Timestamp;
use maud::Markup;
use plotters::prelude::{ChartBuilder, IntoDrawingArea as _, LineSeries, SVGBackend};
use plotters::style::Color as _;

use super::bar_chart::{FONT, LABELS_HEIGHT, MARGIN, NUMBERS_WIDTH, SIZE, SeriesColour, figure};
use super::{number, utc};

/// Maximum number of labels of times.
const LABELS_MAX: usize = 6;
const LINE_WIDTH: u32 = 2;

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its colour.
    pub colour: SeriesColour,
    /// Its points, in order of time.
    pub points: Vec<(Timestamp, u64)>,
}

/// A chart with its legend. Nothing is drawn without two times.
#[must_use]
pub fn line_chart(title: &str, lines: &[Line<'_>]) -> Markup {
    let legend: Vec<_> = lines.iter().map(|line| (line.name, line.colour)).collect();
    figure(title, &legend, &draw(lines).unwrap_or_default())
}

fn draw(lines: &[Line<'_>]) -> Option<String> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let first = points().map(|(at, _)| at.seconds()).min()?;
    let last = points().map(|(at, _)| at.seconds()).max()?;
    if first == last {
        return None;
    }
    let highest = points().map(|(_, value)| *value).max()?.max(1);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut context = ChartBuilder::on(&area)
            .margin(MARGIN)
            .x_label_area_size(LABELS_HEIGHT)
            .y_label_area_size(NUMBERS_WIDTH)
            .build_cartesian_2d(first..last, 0..highest)
            .ok()?;
        context
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(LABELS_MAX)
            .x_label_formatter(&|seconds| time_of_day(*seconds))
            .y_labels(5)
            .y_label_formatter(&|value| number(*value))
            .label_style(FONT)
            .draw()
            .ok()?;
        for line in lines {
            let points = line.points.iter().map(|(at, value)| (at.seconds(), *value));
            let style = line.colour.rgb().stroke_width(LINE_WIDTH);
            context.draw_series(LineSeries::new(points, style)).ok()?;
        }
        area.present().ok()?;
    }
    Some(svg)
}

/// `05:00:00`, in UTC.
fn time_of_day(seconds: i64) -> String {
    let at = Timestamp::from_parts(seconds, 0).map(utc);
    let time = at.as_deref().and_then(|text| text.split(' ').nth(1));
    time.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[(i64, u64)]) -> String {
        let points = points.iter().map(|(at, value)| (Timestamp(at * 1_000_000_000), *value));
        let line = Line { name: "rows", colour: SeriesColour::Accent, points: points.collect() };
        line_chart("Lag", &[line]).into_string()
    }

    #[test]
    fn lines_are_drawn_over_time() {
        let start = 1_795_323_600;
        let svg = chart(&[(start, 0), (start + 60, 5), (start + 120, u64::MAX)]);
        assert_eq!(svg.matches("stroke=\"#0B5CAD\"").count(), 1, "{svg}");
        assert!(svg.contains("05:01:"), "{svg}");
        assert!(!svg.contains("style="), "{svg}");
        for points in [&[][..], &[(start, 1)]] {
            assert!(!chart(points).contains("<svg"));
        }
    }
}
