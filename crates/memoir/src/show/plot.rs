//! The core size over time as a chart, in SVG. The library draws; this module owns the chart's content and its style.

use plotters::{
    chart::ChartBuilder,
    coord::Shift,
    drawing::{DrawingArea, IntoDrawingArea},
    element::{Circle, Cross, PathElement, Text},
    prelude::SVGBackend,
    series::LineSeries,
    style::{BLACK, Color, IntoFont, RGBColor, ShapeStyle, WHITE},
};

use memoir_domain::Timestamp;

use super::thousands;

// Colour is not the only difference: a completed session is a circle, an undo a cross.
const CURVE: RGBColor = RGBColor(31, 87, 164);
const UNDONE: RGBColor = RGBColor(192, 57, 43);
const BUDGET: RGBColor = RGBColor(120, 120, 120);
const COMPLETED: RGBColor = RGBColor(39, 134, 79);

/// The size of the chart, in pixels.
const SIZE: (u32, u32) = (960, 480);

/// Room for the legend, in pixels.
const LEGEND: u32 = 36;

/// The content of the chart. Times are seconds since 1970, sizes tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plot {
    /// The core size at each time, ascending by time; at least two.
    pub(crate) curve: Vec<(f64, u64)>,
    /// The lowest and highest core size until each time, where the curve does not reach them.
    pub(crate) swings: Vec<(f64, u64, u64)>,
    pub(crate) budget: u64,
    /// Completed sessions, with the core size after each.
    pub(crate) completed: Vec<(f64, u64)>,
    /// Rollbacks, undos and rewinds.
    pub(crate) undone: Vec<(f64, u64)>,
}

/// Height of a line of text, in pixels.
const LINE: u32 = 16;
const MARGIN: u32 = 12;
/// Room for the numbers at the left, in pixels.
const LEFT: u32 = 80;
/// Most dates under the chart, and most numbers at its left.
const LABELS: usize = 8;

type Failed = Box<dyn std::error::Error>;

impl Plot {
    pub(crate) fn svg(&self) -> Result<String, Failed> {
        let mut text = String::new();
        self.draw(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area())?;
        Ok(text)
    }

    fn top(&self) -> u64 {
        let curve = self.curve.iter().map(|(_, size)| *size);
        let swings = self.swings.iter().map(|(_, _, highest)| *highest);
        let most = curve.chain(swings).max().unwrap_or(0);
        // A budget far above would flatten the curve.
        let shows_budget = self.budget / 2 <= most;
        let most = if shows_budget {
            most.max(self.budget)
        } else {
            most
        };
        // A chart of an empty memory still needs a height.
        most.saturating_add(most / 20).max(4)
    }

    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Failed> {
        area.fill(&WHITE)?;
        let begin = self.curve.first().map_or(0.0, |(at, _)| *at);
        // A chart of a single moment still needs a width.
        let end = self.curve.last().map_or(1.0, |(at, _)| *at);
        let end = end.max(begin + 1.0);
        let top = self.top() as f64;
        let mut builder = ChartBuilder::on(area);
        builder
            .margin(MARGIN)
            .margin_right(MARGIN + LINE)
            .margin_top(LEGEND)
            .x_label_area_size(LINE * 3)
            .y_label_area_size(LEFT);
        let mut chart = builder.build_cartesian_2d(begin..end, 0.0..top)?;
        let has_days = end - begin > 3.0 * 86_400.0;
        let date = |at: &f64| moment(*at, has_days);
        let number = |size: &f64| thousands(*size as u64);
        let mut mesh = chart.configure_mesh();
        mesh.x_labels(LABELS)
            .y_labels(LABELS)
            .x_label_formatter(&date)
            .y_label_formatter(&number)
            .set_all_tick_mark_size(4)
            .label_style(("sans-serif", 14))
            .axis_style(BLACK)
            .x_desc("date, UTC")
            .y_desc("core memory, tokens")
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.1));
        mesh.draw()?;
        // The budget's line, where it is within the chart.
        let height = self.budget as f64;
        if height <= top {
            let dash = (end - begin) / 120.0;
            let dashes = (0..)
                .map(|n| begin + f64::from(n) * 2.0 * dash)
                .take_while(|at| *at < end);
            let lines = dashes.map(|at| {
                let points = vec![(at, height), ((at + dash).min(end), height)];
                PathElement::new(points, ShapeStyle::from(BUDGET).stroke_width(1))
            });
            chart.draw_series(lines)?;
        }
        let swings = self.swings.iter().map(|(at, lowest, highest)| {
            PathElement::new(vec![(*at, *lowest as f64), (*at, *highest as f64)], CURVE)
        });
        chart.draw_series(swings)?;
        chart.draw_series(LineSeries::new(self.steps(), CURVE.stroke_width(2)))?;
        chart.draw_series(
            self.completed
                .iter()
                .map(|(at, size)| Circle::new((*at, *size as f64), 4, COMPLETED.filled())),
        )?;
        chart.draw_series(
            self.undone
                .iter()
                .map(|(at, size)| Cross::new((*at, *size as f64), 5, UNDONE.stroke_width(2))),
        )?;
        self.legend(area, top)?;
        drop(chart);
        area.present()?;
        Ok(())
    }

    /// The curve, which stays level until the core size changes.
    fn steps(&self) -> Vec<(f64, f64)> {
        let mut steps: Vec<(f64, f64)> = Vec::with_capacity(2 * self.curve.len());
        for (at, size) in &self.curve {
            if let Some((_, before)) = steps.last().copied() {
                steps.push((*at, before));
            }
            steps.push((*at, *size as f64));
        }
        steps
    }

    /// The legend of colours and shapes, in a row at the top.
    fn legend(&self, area: &DrawingArea<SVGBackend<'_>, Shift>, top: f64) -> Result<(), Failed> {
        let font = || ("sans-serif", 14).into_font();
        let mut at = 90;
        let y = 10;
        let line = |at: i32, color: RGBColor| {
            PathElement::new(vec![(at, y + 7), (at + 18, y + 7)], color.stroke_width(2))
        };
        area.draw(&line(at, CURVE))?;
        area.draw(&Text::new("core size", (at + 24, y), font()))?;
        at += 90;
        if self.budget as f64 <= top {
            area.draw(&line(at, BUDGET))?;
            area.draw(&Text::new("budget", (at + 24, y), font()))?;
            at += 110;
        }
        area.draw(&Circle::new((at + 9, y + 7), 4, COMPLETED.filled()))?;
        area.draw(&Text::new("session completed", (at + 24, y), font()))?;
        at += 195;
        area.draw(&Cross::new((at + 9, y + 7), 5, UNDONE.stroke_width(2)))?;
        area.draw(&Text::new("undone", (at + 24, y), font()))?;
        Ok(())
    }
}

/// A date, or a time of day where the chart covers few days.
fn moment(at: f64, has_days: bool) -> String {
    let time = Timestamp::from_microseconds((at * 1e6) as i64).map(|time| time.to_string());
    let time = time.unwrap_or_default();
    let part = if has_days { 0..10 } else { 5..16 };
    time.get(part).unwrap_or_default().replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_of_one_moment_and_one_without_memories_can_be_drawn() {
        let moment = Plot {
            curve: vec![(1.7e9, 0), (1.7e9, 0)],
            ..Plot::default()
        };
        let vast = Plot {
            curve: vec![(0.0, u64::MAX / 2), (4e9, 1)],
            budget: u64::MAX,
            ..Plot::default()
        };
        for plot in [moment, vast, Plot::default()] {
            assert!(plot.svg().unwrap().contains("core memory, tokens"));
        }
    }

    #[test]
    fn days_are_shown_by_date_and_hours_by_time() {
        assert_eq!(moment(1_767_225_600.0, true), "2026-01-01");
        assert_eq!(moment(1_767_225_660.0, false), "01-01 00:01");
    }
}
