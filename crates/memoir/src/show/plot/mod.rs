//! The core size over time as a chart: in a terminal, or as SVG. The library draws, in the terminal through a small
//! backend of cells of dots (`cells.rs`); this module owns the chart's content and its style in both.

mod cells;

use plotters::{
    chart::ChartBuilder,
    coord::Shift,
    drawing::{DrawingArea, IntoDrawingArea},
    element::{Circle, Cross, EmptyElement, PathElement, Text},
    prelude::{DrawingBackend, SVGBackend},
    series::LineSeries,
    style::{BLACK, Color, IntoFont, RGBColor, ShapeStyle, WHITE},
};

use cells::TerminalCells;
use memoir_domain::Timestamp;

use super::thousands;

// Colour is not the only difference: a completed session is a circle, an undo a cross.
const CURVE: RGBColor = RGBColor(31, 87, 164);
const UNDONE: RGBColor = RGBColor(192, 57, 43);
const BUDGET: RGBColor = RGBColor(120, 120, 120);
const COMPLETED: RGBColor = RGBColor(39, 134, 79);

/// The size of a chart in a file, in pixels.
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

/// The style of the chart for one output. Sizes are pixels.
struct PlotStyle {
    /// Height of a line of text.
    line: u32,
    /// Room for the numbers at the left.
    left: u32,
    margin: u32,
    /// Most dates under the chart.
    dates: usize,
    /// Most numbers at the left.
    numbers: usize,
    tick: i32,
    /// Whether the resolution suffices for shapes, colours and a grid.
    is_fine: bool,
}

type Failed = Box<dyn std::error::Error>;

impl Plot {
    /// As text, so many columns wide.
    pub(crate) fn text(&self, columns: usize, rows: usize) -> Result<String, Failed> {
        let mut cells = TerminalCells::new(columns, rows);
        let numbers = thousands(self.top()).chars().count() as u32;
        let look = PlotStyle {
            line: 4,
            left: 2 * (numbers + 1),
            margin: 0,
            dates: columns.saturating_sub(numbers as usize) / 14,
            numbers: rows / 3,
            tick: 1,
            is_fine: false,
        };
        self.draw(&(&mut cells).into_drawing_area(), &look)?;
        Ok(cells.text())
    }

    pub(crate) fn svg(&self) -> Result<String, Failed> {
        let mut text = String::new();
        self.draw(
            &SVGBackend::with_string(&mut text, SIZE).into_drawing_area(),
            &FINE,
        )?;
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

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        look: &PlotStyle,
    ) -> Result<(), Failed>
    where
        B::ErrorType: 'static,
    {
        if look.is_fine {
            area.fill(&WHITE)?;
        }
        let begin = self.curve.first().map_or(0.0, |(at, _)| *at);
        // A chart of a single moment still needs a width.
        let end = self.curve.last().map_or(1.0, |(at, _)| *at);
        let end = end.max(begin + 1.0);
        let top = self.top() as f64;
        let mut builder = ChartBuilder::on(area);
        builder
            .margin(look.margin)
            .margin_right(look.margin + look.line)
            .x_label_area_size(look.line * if look.is_fine { 3 } else { 2 })
            .y_label_area_size(look.left);
        if look.is_fine {
            builder.margin_top(LEGEND);
        }
        let mut chart = builder.build_cartesian_2d(begin..end, 0.0..top)?;
        let has_days = end - begin > 3.0 * 86_400.0;
        let date = |at: &f64| moment(*at, has_days);
        let number = |size: &f64| thousands(*size as u64);
        let mut mesh = chart.configure_mesh();
        mesh.x_labels(look.dates.max(2))
            .y_labels(look.numbers.max(2))
            .x_label_formatter(&date)
            .y_label_formatter(&number)
            .set_all_tick_mark_size(look.tick)
            .label_style(("sans-serif", 14))
            .axis_style(BLACK);
        if look.is_fine {
            mesh.x_desc("date, UTC")
                .y_desc("core memory, tokens")
                .light_line_style(WHITE)
                .bold_line_style(BLACK.mix(0.1));
        } else {
            mesh.disable_mesh();
        }
        mesh.draw()?;
        // The budget's line, where it is within the chart.
        let color = BUDGET;
        let height = self.budget as f64;
        if height <= top && (look.is_fine || height > 0.0) {
            let dash = (end - begin) / if look.is_fine { 120.0 } else { 24.0 };
            let dashes = (0..)
                .map(|n| begin + f64::from(n) * 2.0 * dash)
                .take_while(|at| *at < end);
            let lines = dashes.map(|at| {
                let points = vec![(at, height), ((at + dash).min(end), height)];
                PathElement::new(points, ShapeStyle::from(color).stroke_width(1))
            });
            chart.draw_series(lines)?;
        }
        let swings = self.swings.iter().map(|(at, lowest, highest)| {
            PathElement::new(vec![(*at, *lowest as f64), (*at, *highest as f64)], CURVE)
        });
        chart.draw_series(swings)?;
        let width = if look.is_fine { 2 } else { 1 };
        chart.draw_series(LineSeries::new(self.steps(), CURVE.stroke_width(width)))?;
        if look.is_fine {
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
        } else {
            let sign = |sign: &'static str, places: &[(f64, u64)]| {
                let places = places.to_vec();
                places.into_iter().map(move |(at, size)| {
                    let style = ("sans-serif", 14).into_font();
                    EmptyElement::at((at, size as f64)) + Text::new(sign, (-1, -2), style)
                })
            };
            chart.draw_series(sign("o", &self.completed))?;
            chart.draw_series(sign("x", &self.undone))?;
        }
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
    fn legend<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        top: f64,
    ) -> Result<(), Failed>
    where
        B::ErrorType: 'static,
    {
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

const FINE: PlotStyle = PlotStyle {
    line: 16,
    left: 80,
    margin: 12,
    dates: 8,
    numbers: 8,
    tick: 4,
    is_fine: true,
};

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

    fn year() -> Plot {
        let begin = 1_767_225_600.0;
        let mut size = 100;
        let mut curve = Vec::new();
        for day in 0..365 {
            curve.push((begin + f64::from(day) * 86_400.0, size));
            size += 12;
            if day % 50 == 49 {
                size -= 500;
            }
        }
        Plot {
            swings: vec![(curve[200].0, 900, 1_500)],
            budget: 2_000,
            completed: vec![curve[50], curve[100]],
            undone: vec![curve[200]],
            curve,
        }
    }

    #[test]
    fn a_year_fits_a_wide_terminal_and_a_narrow_one() {
        insta::assert_snapshot!(year().text(80, 16).unwrap());
        insta::assert_snapshot!(year().text(40, 12).unwrap());
        for columns in 30..130 {
            for line in year().text(columns, 10).unwrap().lines() {
                assert!(line.chars().count() <= columns);
            }
        }
    }

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
            assert!(plot.text(40, 10).unwrap().lines().count() == 10);
            assert!(plot.svg().unwrap().contains("core memory, tokens"));
        }
    }

    #[test]
    fn days_are_shown_by_date_and_hours_by_time() {
        assert_eq!(moment(1_767_225_600.0, true), "2026-01-01");
        assert_eq!(moment(1_767_225_660.0, false), "01-01 00:01");
    }
}
