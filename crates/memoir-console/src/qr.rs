//! A text as a picture that a camera reads.

use std::fmt::Write;

use maud::{Markup, html};
use qrcodegen::{QrCode, QrCodeEcc};

/// Light squares around the picture, without which cameras do not find it.
const EDGE: i32 = 4;

/// The picture, black on white whatever the page looks like; `None` for a text that is too long for one.
pub(crate) fn picture(text: &str, label: &str) -> Option<Markup> {
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let size = code.size() + 2 * EDGE;
    Some(html! {
        // Smoothed edges would blur squares of few pixels.
        svg.qr viewBox={ "0 0 " (size) " " (size) } role="img" aria-label=(label) focusable="false"
            shape-rendering="crispEdges" {
            rect width=(size) height=(size) fill="#fff" {}
            path d=(dark(&code)) fill="#000" {}
        }
    })
}

/// The dark squares, each row's neighbours as one.
fn dark(code: &QrCode) -> String {
    let mut path = String::new();
    for y in 0..code.size() {
        let mut x = 0;
        while x < code.size() {
            let run = (x..code.size()).take_while(|at| code.get_module(*at, y));
            // This cannot fail: a row is no longer than `size`, which is an `i32`.
            let length = i32::try_from(run.count()).unwrap_or_default();
            if length > 0 {
                let _ = write!(path, "M{} {}h{length}v1h-{length}z", x + EDGE, y + EDGE);
            }
            // A run of length 0 means a light square, which is skipped.
            x += length.max(1);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dark_square_is_drawn_once() {
        let code = QrCode::encode_text("otpauth://totp/Memoir:Ada", QrCodeEcc::Medium).unwrap();
        let squares = (0..code.size())
            .flat_map(|y| (0..code.size()).map(move |x| (x, y)))
            .filter(|(x, y)| code.get_module(*x, *y));
        let path = dark(&code);
        let drawn = path.split('h').skip(1).step_by(2);
        let drawn: usize = drawn
            .map(|run| run.split('v').next().unwrap().parse::<usize>().unwrap())
            .sum();
        assert_eq!(drawn, squares.count());
        // The corner of the first of the three marks.
        assert!(path.starts_with("M4 4h7v1h-7z"), "{path}");
        assert!(picture(&"a".repeat(5_000), "").is_none());
    }
}
