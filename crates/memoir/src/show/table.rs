//! Tables without lines: columns two spaces apart, the last one wrapped to the terminal.

use std::fmt;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, presets};

use crate::terminal::{self, BOLD};

/// Spaces between two columns.
const GAP: usize = 2;

/// A table for people.
pub(crate) struct Table(comfy_table::Table);

impl Table {
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(headings);
        table.set_content_arrangement(ContentArrangement::Disabled);
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP as u16));
        }
        Self(table)
    }

    /// Puts the column of that place, from 0, to the right, as numbers are.
    #[must_use]
    pub(crate) fn right(mut self, column: usize) -> Self {
        if let Some(column) = self.0.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        self
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.0.add_row(cells);
    }
}

/// Narrower than this, the last column is not wrapped.
const LAST_COLUMN: usize = 20;

/// The table with its last column wrapped to the terminal. Where no terminal sets a width, a row stays
/// on its line, for `grep` and its like.
fn fitted(table: &comfy_table::Table) -> comfy_table::Table {
    let mut table = table.clone();
    let Some(width) = terminal::width() else {
        return table;
    };
    let contents = table.column_max_content_widths();
    let others = contents.iter().rev().skip(1);
    let taken: usize = others.map(|width| usize::from(*width) + GAP).sum();
    if taken + LAST_COLUMN > usize::from(width) {
        return table;
    }
    let last = contents.len().saturating_sub(1);
    for column in table.column_iter_mut().take(last) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width);
    table
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, line) in fitted(&self.0).lines().enumerate() {
            let line = line.trim_end();
            if place == 0 {
                writeln!(formatter, "{BOLD}{line}{BOLD:#}")?;
            } else {
                writeln!(formatter, "{line}")?;
            }
        }
        Ok(())
    }
}
