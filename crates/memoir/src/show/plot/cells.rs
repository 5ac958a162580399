//! A terminal as a drawing backend: two dots by four in each cell, as Braille characters.

use std::convert::Infallible;

use plotters_backend::{
    BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    text_anchor::{HPos, VPos},
};

pub(super) struct TerminalCells {
    columns: usize,
    rows: usize,
    /// The dots of each cell, row by row, as Unicode numbers them.
    dots: Vec<u8>,
    /// Characters that replace dots.
    signs: Vec<Option<char>>,
}

type CellsResult = Result<(), DrawingErrorKind<Infallible>>;

impl TerminalCells {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self {
            columns,
            rows,
            dots: vec![0; columns * rows],
            signs: vec![None; columns * rows],
        }
    }

    pub(super) fn text(&self) -> String {
        let character = |(dots, sign): (&u8, &Option<char>)| match (dots, sign) {
            (_, Some(sign)) => *sign,
            (0, None) => ' ',
            // Unicode has the 256 patterns of Braille in this order, beginning with U+2800.
            (dots, None) => char::from_u32(0x2800 + u32::from(*dots)).unwrap_or(' '),
        };
        let mut text = String::new();
        for (dots, signs) in self
            .dots
            .chunks(self.columns)
            .zip(self.signs.chunks(self.columns))
        {
            let line: String = dots.iter().zip(signs).map(character).collect();
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// The index of a cell; `None` outside.
    fn place(&self, column: i32, row: i32) -> Option<usize> {
        let (column, row) = (usize::try_from(column).ok()?, usize::try_from(row).ok()?);
        (column < self.columns && row < self.rows).then(|| row * self.columns + column)
    }
}

impl DrawingBackend for &mut TerminalCells {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (2 * self.columns as u32, 4 * self.rows as u32)
    }

    fn ensure_prepared(&mut self) -> CellsResult {
        Ok(())
    }

    fn present(&mut self) -> CellsResult {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> CellsResult {
        // Braille numbers the first three rows column by column, and then the fourth row.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let place = self.place(x.div_euclid(2), y.div_euclid(4));
        if let Some(place) = place.filter(|_| color.alpha > 0.0) {
            self.dots[place] |= BITS[y.rem_euclid(4) as usize][x.rem_euclid(2) as usize];
        }
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> CellsResult {
        let length = text.chars().count() as i32;
        let anchor = style.anchor();
        let column = x.div_euclid(2)
            - match anchor.h_pos {
                HPos::Left => 0,
                HPos::Center => length / 2,
                HPos::Right => length,
            };
        let row = match anchor.v_pos {
            // Below an axis, and not on it.
            VPos::Top => (y + 3).div_euclid(4),
            VPos::Center => y.div_euclid(4),
            VPos::Bottom => (y - 4).div_euclid(4),
        };
        // A label at the right edge is moved in rather than cut.
        let column = column.min(self.columns as i32 - length).max(0);
        for (sign, column) in text.chars().zip(column..) {
            if let Some(place) = self.place(column, row) {
                self.signs[place] = Some(sign);
            }
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        _: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        Ok((2 * text.chars().count() as u32, 4))
    }
}
