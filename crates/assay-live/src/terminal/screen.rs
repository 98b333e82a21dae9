//! Which part of a run is on the screen, and what keys change about that.

use super::keys::Key;

/// A part of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tab {
    /// How the run stands, and what goes on now.
    #[default]
    Overview,
    /// Percentiles of a stream.
    Time,
    /// Targets, what was counted beneath them, and hosts.
    Targets,
    /// Slices.
    Slices,
    /// Events.
    Events,
}

impl Tab {
    /// All of them, in the order of their keys.
    pub(super) const ALL: [Tab; 5] = [Tab::Overview, Tab::Time, Tab::Targets, Tab::Slices, Tab::Events];

    /// Its name.
    pub(super) fn title(self) -> &'static str {
        match self {
            Tab::Overview => "overview",
            Tab::Time => "time",
            Tab::Targets => "targets",
            Tab::Slices => "slices",
            Tab::Events => "events",
        }
    }

    /// The one that stands so many places behind this one; behind the last comes the first.
    fn moved_by(self, places: usize) -> Tab {
        Tab::ALL[(self as usize + places) % Tab::ALL.len()]
    }
}

/// What is on the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Screen {
    pub(super) tab: Tab,
    /// The index of the stream that is shown.
    pub(super) stream: usize,
    /// The first row of the list of the tab.
    pub(super) first_row: usize,
    /// Whether the keys are explained instead.
    pub(super) shows_keys: bool,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    /// Nothing.
    Ignore,
    /// Another picture.
    Draw,
    /// The whole picture once more: something else wrote on the terminal.
    DrawAnew,
    /// The end of the view.
    Leave,
}

/// So many rows are a page.
const PAGE: usize = 10;

impl Screen {
    /// Does what a key asks for; there are so many streams.
    pub(super) fn take_key(&mut self, key: Key, streams: usize) -> Reaction {
        let before = self.clone();
        match key {
            Key::Interrupt | Key::Character('q' | 'Q') => return Reaction::Leave,
            Key::Refresh => return Reaction::DrawAnew,
            Key::Character('?' | 'h') => self.shows_keys = !self.shows_keys,
            Key::Escape => self.shows_keys = false,
            Key::Character(digit @ '1'..='5') => self.open_tab(Tab::ALL[digit as usize - '1' as usize]),
            Key::Tab => self.open_tab(self.tab.moved_by(1)),
            Key::BackTab => self.open_tab(self.tab.moved_by(Tab::ALL.len() - 1)),
            Key::Left => self.stream = (self.stream + streams.saturating_sub(1)) % streams.max(1),
            Key::Right => self.stream = (self.stream + 1) % streams.max(1),
            Key::Up => self.first_row = self.first_row.saturating_sub(1),
            Key::Down => self.first_row += 1,
            Key::PageUp => self.first_row = self.first_row.saturating_sub(PAGE),
            Key::PageDown | Key::Character(' ') => self.first_row += PAGE,
            Key::Home => self.first_row = 0,
            Key::End => self.first_row = usize::MAX / 2,
            Key::Character(_) => {}
        }
        if *self == before { Reaction::Ignore } else { Reaction::Draw }
    }

    fn open_tab(&mut self, tab: Tab) {
        self.shows_keys = false;
        if self.tab != tab {
            (self.tab, self.first_row) = (tab, 0);
        }
    }

    /// The list of the tab has no sense in beginning behind this row.
    pub(super) fn keep_within(&mut self, last_first_row: usize) {
        self.first_row = self.first_row.min(last_first_row);
    }

    /// Another run may have fewer streams.
    pub(super) fn keep_stream_within(&mut self, streams: usize) {
        self.stream = self.stream.min(streams.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lead_to_every_part_and_away() {
        let mut screen = Screen::default();
        for (key, reaction, tab, stream, first_row) in [
            (Key::Character('2'), Reaction::Draw, Tab::Time, 0, 0),
            (Key::Right, Reaction::Draw, Tab::Time, 1, 0),
            (Key::Right, Reaction::Draw, Tab::Time, 2, 0),
            (Key::Right, Reaction::Draw, Tab::Time, 0, 0),
            (Key::Left, Reaction::Draw, Tab::Time, 2, 0),
            (Key::Character('4'), Reaction::Draw, Tab::Slices, 2, 0),
            (Key::Down, Reaction::Draw, Tab::Slices, 2, 1),
            (Key::PageUp, Reaction::Draw, Tab::Slices, 2, 0),
            (Key::Up, Reaction::Ignore, Tab::Slices, 2, 0),
            (Key::Tab, Reaction::Draw, Tab::Events, 2, 0),
            (Key::Tab, Reaction::Draw, Tab::Overview, 2, 0),
            (Key::BackTab, Reaction::Draw, Tab::Events, 2, 0),
            (Key::Character('6'), Reaction::Ignore, Tab::Events, 2, 0),
            (Key::Refresh, Reaction::DrawAnew, Tab::Events, 2, 0),
            (Key::Interrupt, Reaction::Leave, Tab::Events, 2, 0),
            (Key::Character('q'), Reaction::Leave, Tab::Events, 2, 0),
        ] {
            assert_eq!(screen.take_key(key, 3), reaction, "{key:?}");
            assert_eq!((screen.tab, screen.stream, screen.first_row), (tab, stream, first_row), "{key:?}");
        }
    }

    #[test]
    fn without_streams_there_is_none_to_choose() {
        let mut screen = Screen::default();
        assert_eq!(screen.take_key(Key::Left, 0), Reaction::Ignore);
        assert_eq!(screen.take_key(Key::Right, 0), Reaction::Ignore);
        screen.take_key(Key::End, 0);
        screen.keep_within(7);
        assert_eq!((screen.stream, screen.first_row), (0, 7));
    }
}
