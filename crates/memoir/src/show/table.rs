//! Tables without lines: columns two spaces apart, the last one wrapped to the terminal, or a paragraph for each row
//! where the terminal is too narrow.

use std::fmt::Write;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, presets};
use unicode_width::UnicodeWidthStr;

use super::wrap::wrap;
use crate::terminal::{self, BOLD};

/// Spaces between two columns.
const GAP: usize = 2;

#[derive(derive_more::Display)]
#[display("{}", self.drawn(terminal::width().map(usize::from)))]
pub(crate) struct TextTable(comfy_table::Table);

impl TextTable {
    pub(crate) fn new<'a>(headings: impl IntoIterator<Item = &'a str>) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(headings);
        table.set_content_arrangement(ContentArrangement::Disabled);
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP as u16));
        }
        Self(table)
    }

    /// Aligns the columns at these indices, from 0, to the right, as for numbers.
    #[must_use]
    pub(crate) fn right(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        for column in columns {
            if let Some(column) = self.0.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        self
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.add_row(cells);
    }
}

/// The last column is not wrapped to fewer columns than this.
const LAST_COLUMN: usize = 40;
/// The indentation of a row's other cells, where the terminal is too narrow for columns.
const INDENT: usize = 2;

impl TextTable {
    /// Fits a terminal of that width: the last column is wrapped, or each row becomes a paragraph where columns have no
    /// room. `None` keeps each row on one line, for `grep` and similar tools.
    fn drawn(&self, width: Option<usize>) -> String {
        let Some(width) = width else {
            return columns(&self.0);
        };
        let contents = self.0.column_max_content_widths();
        let others = contents.iter().rev().skip(1);
        let taken: usize = others.map(|width| usize::from(*width) + GAP).sum();
        let last = contents.last().copied().map_or(0, usize::from);
        if taken + last.min(LAST_COLUMN) > width {
            return self.paragraphs(width);
        }
        let mut table = self.0.clone();
        for column in table
            .column_iter_mut()
            .take(contents.len().saturating_sub(1))
        {
            // All columns but the last keep their width, and the last one is wrapped.
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
        columns(&table)
    }

    /// Each row's first cell on a line of its own, and below it the other non-empty ones, each with its name.
    fn paragraphs(&self, width: usize) -> String {
        let contents = |row: &comfy_table::Row| -> Vec<String> {
            row.cell_iter().map(comfy_table::Cell::content).collect()
        };
        let headings = self.0.header().map(contents).unwrap_or_default();
        let mut text = String::new();
        for row in self.0.row_iter() {
            let mut cells = contents(row).into_iter();
            let first = headings.iter().zip(cells.by_ref()).next();
            let first = first.map(|(heading, cell)| format!("{heading} {cell}"));
            for line in wrap(&first.unwrap_or_default(), width) {
                let _ = writeln!(text, "{BOLD}{line}{BOLD:#}");
            }
            let named = headings.iter().skip(1).zip(cells);
            let filled = named.filter(|(_, cell)| !cell.is_empty());
            let pieces: Vec<String> = filled
                .map(|(heading, cell)| format!("{heading}: {}", single_spaced(&cell)))
                .collect();
            for line in packed(&pieces, width.saturating_sub(INDENT)) {
                let _ = writeln!(text, "{:INDENT$}{line}", "");
            }
        }
        text
    }
}

/// Without the two spaces that separate cells, so that no text passes for another cell.
fn single_spaced(cell: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    cell.lines().map(words).collect::<Vec<_>>().join("\n")
}

/// Packs the pieces on as few lines as possible; one that is too long for a line takes several. One of several lines
/// begins on its own, and all but its first are indented, so that none passes for a row or for another cell.
fn packed(pieces: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if !piece.contains('\n') && line.width() + GAP + piece.width() <= width => {
                *line = format!("{line}{:GAP$}{piece}", "");
            }
            _ => {
                let mut wrapped = wrap(piece, width.saturating_sub(INDENT)).into_iter();
                lines.extend(wrapped.next());
                lines.extend(wrapped.map(|line| format!("{:INDENT$}{line}", "")));
            }
        }
    }
    lines
}

/// The rows, the headings first.
fn columns(table: &comfy_table::Table) -> String {
    let mut text = String::new();
    for (place, line) in table.lines().enumerate() {
        let line = line.trim_end();
        let _ = match place {
            0 => writeln!(text, "{BOLD}{line}{BOLD:#}"),
            _ => writeln!(text, "{line}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> TextTable {
        let mut table = TextTable::new(["session", "begun", "state", "mode", "note"]);
        for number in 0..2 {
            table.row([
                format!("01a207be-b3b9-75cd-925a-f6714020f56{number}"),
                "2 hours ago".to_owned(),
                "rolled back".to_owned(),
                "all six tools".to_owned(),
                "the breaker tripped: too few tokens were left".to_owned(),
            ]);
        }
        table
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn every_line_fits_the_terminal_and_a_row_is_one_line_elsewhere() {
        for width in [40, 50, 80, 100, 200] {
            let drawn = plain(&sessions().drawn(Some(width)));
            for line in drawn.lines() {
                assert!(line.width() <= width, "{width}: {line}");
            }
            for part in ["f560", "f561", "rolled back", "all six tools", "breaker"] {
                assert!(drawn.contains(part), "{width}: {drawn}");
            }
        }
        assert_eq!(plain(&sessions().drawn(None)).lines().count(), 3);
    }

    #[test]
    fn rows_without_room_for_columns_become_paragraphs() {
        let drawn = plain(&sessions().drawn(Some(50)));
        let first: Vec<&str> = drawn.lines().take(4).collect();
        assert_eq!(
            first,
            [
                "session 01a207be-b3b9-75cd-925a-f6714020f560",
                "  begun: 2 hours ago  state: rolled back",
                "  mode: all six tools",
                "  note: the breaker tripped: too few tokens were",
            ]
        );
    }

    #[test]
    fn no_text_passes_for_a_row_or_for_another_cell() {
        let mut table = TextTable::new(["number", "tags", "text"]);
        table.row(["#1", "tea  text: b", "a\nnumber #2\n  tags: c"].map(str::to_owned));
        let drawn = plain(&table.paragraphs(40));
        let expected = "number #1\n  tags: tea text: b\n  text: a\n    number #2\n    tags: c\n";
        assert_eq!(drawn, expected);
    }
}
