//! The core size over time as an SVG file of its own: the curve of the console, with a style, axes and a legend in it.
//! Numbers and dates only (SPEC 5.1).

use maud::{Markup, PreEscaped, html};
use memoir_app::CoreSizeHistory;
use memoir_domain::Timestamp;

use crate::{
    plot::{self, Curve, HEIGHT, LEGEND, WIDTH},
    words,
};

const STYLE: &str = include_str!("../assets/picture.css");

/// The room around the curve, in pixels.
const LEFT: u64 = 90;
const RIGHT: u64 = 80;
const ABOVE: u64 = 64;
const BELOW: u64 = 64;
/// Most lines of the grid above that of 0.
const LINES: u64 = 5;
/// Equal parts of the time, with a date at each end of one.
const PARTS: u64 = 4;

/// The core size over time, with the budget and what is marked on it, as the text of an SVG file.
pub fn core_size_picture(history: &CoreSizeHistory, budget: u64) -> String {
    let mut curve = plot::over_time(history, budget);
    let sizes = curve.points.iter().map(|point| point.highest);
    let highest = sizes.max().unwrap_or(0);
    // A budget far above would flatten the curve.
    curve.line = curve.line.filter(|line| line / 2 <= highest);
    let (width, height) = (LEFT + WIDTH + RIGHT, ABOVE + HEIGHT + BELOW);
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img" width=(width) height=(height)
            viewBox=(format!("0 0 {width} {height}")) {
            title { "Core size over time" }
            style { (PreEscaped(STYLE)) }
            rect.ground width=(width) height=(height) {}
            g transform=(format!("translate({LEFT} {ABOVE})")) {
                (legend(&curve))
                (axes(&curve, history.since))
                (curve.shapes())
            }
        }
    };
    picture.into_string()
}

/// The meanings of the lines and the marks, in a row above the curve.
fn legend(curve: &Curve) -> Markup {
    let [done, back, other] =
        LEGEND.map(|(kind, text)| (format!("mark {}", kind.class()), 1, text));
    let signs = [
        (0, ("line".to_owned(), 18, "core size")),
        (110, ("limit".to_owned(), 18, "budget")),
        (210, done),
        (385, back),
        (660, other),
    ];
    // The budget has its meaning where it is drawn.
    let signs = signs
        .into_iter()
        .filter(|(_, (class, ..))| class != "limit" || curve.line.is_some());
    html! {
        @for (across, (class, length, text)) in signs {
            path class=(class) d=(format!("M{across} -45h{length}")) {}
            text x=(across + 26) y="-40" { (text) }
        }
    }
}

fn axes(curve: &Curve, since: Timestamp) -> Markup {
    let dates = (0..=PARTS).map(|part| {
        let seconds = curve.whole.saturating_mul(part) / PARTS;
        let at = since.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX));
        (WIDTH * part / PARTS, words::minute(at))
    });
    html! {
        text y="-14" { "core memory, tokens" }
        @for size in round_sizes(curve.top()) {
            @let down = curve.down(size);
            path.grid d={ "M0 " (down) "h" (WIDTH) } {}
            text.size x="-10" y=(down + 5) { (words::number(size)) }
        }
        @for (across, date) in dates {
            text.date x=(across) y=(HEIGHT + 24) { (date) }
        }
        text.date x=(WIDTH / 2) y=(HEIGHT + 48) { "date, " (words::zone_name()) }
    }
}

/// The multiples of 1, 2 or 5 with zeros, from 0 on, of which at most [`LINES`] are above 0 and within `top`.
fn round_sizes(top: u64) -> impl Iterator<Item = u64> {
    let powers = (0..19).map(|zeros| 10_u64.pow(zeros));
    let mut steps = powers.flat_map(|power| [1, 2, 5].map(|digit| power * digit));
    let step = steps.find(|step| top / step <= LINES).unwrap_or(u64::MAX);
    (0..=top / step).map(move |times| times * step)
}

#[cfg(test)]
mod tests {
    use memoir_domain::core_size::CoreSizePoint;

    use super::*;

    fn history(sizes: &[(i64, u64)]) -> CoreSizeHistory {
        let at = |seconds: i64| Timestamp::from_microseconds(seconds * 1_000_000).unwrap();
        let point = |(seconds, size): &(i64, u64)| CoreSizePoint {
            at: at(*seconds),
            core_tokens: *size,
            lowest_core_tokens: *size,
            highest_core_tokens: *size,
        };
        CoreSizeHistory {
            since: at(sizes[0].0),
            until: at(sizes[sizes.len() - 1].0),
            points: sizes.iter().map(point).collect(),
            sessions: Vec::new(),
            returns: Vec::new(),
        }
    }

    #[test]
    fn a_life_of_one_moment_and_vast_sizes_can_be_drawn() {
        for (sizes, budget) in [
            ([(1_767_225_600, 0), (1_767_225_600, 0)], 0),
            ([(0, u64::MAX / 2), (4_000_000_000, 1)], u64::MAX),
        ] {
            let drawn = core_size_picture(&history(&sizes), budget);
            assert!(drawn.contains("core memory, tokens"), "{drawn}");
            assert!(drawn.contains(">budget<"), "{drawn}");
        }
    }

    #[test]
    fn a_budget_far_above_is_left_out() {
        let sizes = history(&[(1_767_225_600, 0), (1_767_225_660, 100)]);
        for (budget, is_drawn) in [(201, true), (202, false)] {
            let drawn = core_size_picture(&sizes, budget);
            assert_eq!(drawn.contains("class=\"limit\""), is_drawn, "{budget}");
            assert_eq!(drawn.contains(">budget<"), is_drawn, "{budget}");
            assert!(drawn.contains(">2026-01-01 00:01<"), "{drawn}");
        }
    }

    #[test]
    fn the_sizes_of_the_grid_are_round_and_few() {
        for (top, expected) in [
            (1, vec![0, 1]),
            (99, vec![0, 20, 40, 60, 80]),
            (8_000, vec![0, 2_000, 4_000, 6_000, 8_000]),
        ] {
            assert_eq!(round_sizes(top).collect::<Vec<_>>(), expected);
        }
        assert_eq!(round_sizes(u64::MAX).count(), 4);
    }
}
