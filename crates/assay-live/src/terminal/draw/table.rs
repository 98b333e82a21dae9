//! A table of as many columns as the terminal has room for.

use crate::terminal::words::{cut_to_width, width_of};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

/// Spaces between two columns.
const GAP: usize = 2;
/// The first column is not made narrower than this.
const NARROWEST: usize = 18;

/// A column.
#[derive(Debug)]
pub(super) struct Column {
    title: String,
    cells: Vec<String>,
    /// The larger, the earlier it is left out.
    rank: u8,
    is_number: bool,
}

impl Column {
    /// A column of texts.
    pub(super) fn of_texts(title: &str, rank: u8, cells: Vec<String>) -> Column {
        Column { title: title.to_owned(), cells, rank, is_number: false }
    }

    /// A column of figures, which stand at its right.
    pub(super) fn of_figures(title: &str, rank: u8, cells: Vec<String>) -> Column {
        Column { title: title.to_owned(), cells, rank, is_number: true }
    }

    fn width(&self) -> usize {
        self.cells.iter().map(|cell| width_of(cell)).max().unwrap_or(0).max(width_of(&self.title))
    }

    /// A cell of it in so many columns of the terminal.
    fn padded_cell(&self, text: &str, width: usize) -> String {
        let text = cut_to_width(text, width);
        let padding = " ".repeat(width - width_of(&text));
        if self.is_number { padding + &text } else { text + &padding }
    }
}

/// Columns with the same number of cells; the first one gets what the others leave.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    /// The row that is marked.
    pub(super) marked: Option<usize>,
    /// Colours of whole rows, where they have any.
    pub(super) styles: Vec<Style>,
}

impl Table {
    /// A table without marks and colours.
    pub(super) fn of_columns(columns: Vec<Column>) -> Table {
        Table { columns, marked: None, styles: Vec::new() }
    }

    /// The number of its rows.
    pub(super) fn row_count(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// Its head, and so many of its rows from `first` on, in so many columns of the terminal.
    pub(super) fn lines(mut self, width: usize, first: usize, rows: usize) -> Vec<Line<'static>> {
        self.leave_out_what_does_not_fit(width);
        let taken = self.width_behind_first();
        let least = self.columns.first().map_or(0, Column::width);
        let mut widths: Vec<usize> = self.columns.iter().map(Column::width).collect();
        if let Some(width_of_first) = widths.first_mut() {
            *width_of_first = least.min(width.saturating_sub(taken + 1));
        }
        let head = self.columns.iter().zip(&widths).map(|(column, width)| column.padded_cell(&column.title, *width));
        let head = format!(" {}", head.collect::<Vec<_>>().join(&" ".repeat(GAP)));
        let mut lines = vec![Line::from(Span::styled(head, Style::new().add_modifier(Modifier::DIM)))];
        for row in (first..self.row_count()).take(rows) {
            let cells = self.columns.iter().zip(&widths);
            let cells = cells.map(|(column, width)| column.padded_cell(&column.cells[row], *width));
            let sign = if self.marked == Some(row) { '>' } else { ' ' };
            let text = format!("{sign}{}", cells.collect::<Vec<_>>().join(&" ".repeat(GAP)));
            lines.push(Line::from(Span::styled(text, self.styles.get(row).copied().unwrap_or_default())));
        }
        lines
    }

    fn width_behind_first(&self) -> usize {
        self.columns.iter().skip(1).map(|column| column.width() + GAP).sum()
    }

    fn leave_out_what_does_not_fit(&mut self, width: usize) {
        while self.columns.len() > 1 {
            let first = self.columns[0].width().min(NARROWEST);
            if 1 + first + self.width_behind_first() <= width {
                return;
            }
            let last = self.columns.iter().enumerate().skip(1).max_by_key(|(at, column)| (column.rank, *at));
            if let Some((at, _)) = last {
                self.columns.remove(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: usize) -> Vec<String> {
        let mut table = Table::of_columns(vec![
            Column::of_texts("stream", 0, vec!["reads of the whole index".into(), "漢字".into()]),
            Column::of_figures("asked", 1, vec!["2,000/s".into(), "5/s".into()]),
            Column::of_figures("moved", 3, vec!["15 MiB/s".into(), "1 B/s".into()]),
            Column::of_figures("failed", 2, vec!["0".into(), "1".into()]),
        ]);
        table.marked = Some(1);
        table.lines(width, 0, 10).iter().map(|line| line.to_string()).collect()
    }

    #[test]
    fn a_narrow_table_leaves_out_columns_and_then_cuts_names() {
        assert_eq!(
            shown(60),
            [
                " stream                      asked     moved  failed",
                " reads of the whole index  2,000/s  15 MiB/s       0",
                ">漢字                          5/s     1 B/s       1",
            ]
        );
        assert_eq!(shown(46)[1], " reads of the whol…  2,000/s  15 MiB/s       0");
        assert_eq!(shown(40)[1], " reads of the whole in…  2,000/s       0");
        assert_eq!(shown(30)[1], " reads of the whole …  2,000/s");
        assert_eq!(shown(20)[1], " reads of the whole…");
        for width in 1..70 {
            let widest = shown(width).iter().map(|line| width_of(line)).max().unwrap();
            assert!(widest <= width.max(2), "{width}: {:?}", shown(width));
        }
    }
}
