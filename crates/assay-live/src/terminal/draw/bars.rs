//! A line along the time as bars, with a line of text above that says what they are and how high the highest is.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Sparkline};

/// Steps of the height of a bar.
const STEPS: f64 = 10_000.0;

/// Values along the time, and how they are shown.
#[derive(Debug)]
pub(super) struct Course {
    /// What it is.
    pub(super) title: String,
    /// Its values; `None` where there was nothing to measure.
    pub(super) values: Vec<Option<f64>>,
    /// How a value is written.
    pub(super) shown: fn(f64) -> String,
}

impl Course {
    /// Its title with the newest and the highest value.
    fn text(&self) -> String {
        let newest = self.values.iter().rev().find_map(|value| *value).map(self.shown);
        let highest = self.values.iter().copied().flatten().reduce(f64::max).map(self.shown);
        match (newest, highest) {
            (Some(newest), Some(highest)) => format!(" {}: newest {newest}, highest {highest}", self.title),
            _ => format!(" {}: nothing yet", self.title),
        }
    }

    /// Draws it.
    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let [head, bars] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
        frame.render_widget(Paragraph::new(Line::from(self.text())), head);
        let [_, bars] = Layout::horizontal([Constraint::Length(1), Constraint::Min(0)]).areas(bars);
        let columns = values_in_columns(&self.values, usize::from(bars.width));
        let highest = columns.iter().copied().flatten().reduce(f64::max).unwrap_or(0.0);
        let scale = if highest > 0.0 { STEPS / highest } else { 0.0 };
        let heights: Vec<Option<u64>> = columns.iter().map(|value| value.map(|value| (value * scale) as u64)).collect();
        frame.render_widget(Sparkline::default().data(heights).max(STEPS as u64), bars);
    }
}

/// The values in so many columns: where there are more of them, the highest of those that share a column.
fn values_in_columns(values: &[Option<f64>], columns: usize) -> Vec<Option<f64>> {
    if values.len() <= columns {
        return values.to_vec();
    }
    let first_of = |column: usize| column * values.len() / columns;
    (0..columns)
        .map(|column| values[first_of(column)..first_of(column + 1)].iter().copied().flatten().reduce(f64::max))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_of_several_values_is_not_lost() {
        let values: Vec<_> = (0..100).map(|n| Some(f64::from(n % 37))).collect();
        for columns in [1, 3, 7, 99, 100, 200] {
            let shown = values_in_columns(&values, columns);
            assert_eq!(shown.len(), columns.min(100));
            assert_eq!(shown.iter().copied().flatten().reduce(f64::max), Some(36.0), "{columns}");
        }
        assert_eq!(values_in_columns(&[None, Some(1.0), None, None], 2), [Some(1.0), None]);
        assert_eq!(values_in_columns(&values, 0), []);
    }
}
