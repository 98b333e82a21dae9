//! The pages of the kernel's ring buffer, as `trace_pipe_raw` gives them: a time, a length, and events one behind the other
//! (`include/linux/ring_buffer.h`, and the file `events/header_event` of tracefs).
//!
//! | kind | what follows its 4 bytes |
//! |---|---|
//! | 1 to 28 | that many times four bytes of data |
//! | 0 | the length, then the data |
//! | 29 | nothing: the rest of the page, or so many bytes |
//! | 30 | the upper bits of a longer time since the event before |
//! | 31 | the upper bits of the time itself |

/// Where the events of a page begin.
const HEADER: usize = 16;
/// The bits of the length in a header; those above say that events are missing.
const LENGTH: u64 = (1 << 20) - 1;
const MISSING: u64 = 1 << 31;
/// The bits of a time that an event has; the page has those above.
const TIME_BITS: u32 = 59;

/// The events of a page.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    rest: &'a [u8],
    now: u64,
    /// Whether events were lost before those of this page.
    pub is_behind_lost_ones: bool,
}

/// An event with its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event<'a> {
    /// When, in nanoseconds of the instance's clock.
    pub at: u64,
    /// What is behind its header; its first two bytes are the number of its kind.
    pub data: &'a [u8],
}

impl Event<'_> {
    /// The number of its kind.
    pub fn id(&self) -> Option<u16> {
        let (first, _) = self.data.split_first_chunk::<2>()?;
        Some(u16::from_ne_bytes(*first))
    }
}

/// A number of four bytes at a place.
fn word_at(bytes: &[u8], at: usize) -> Option<u32> {
    let (word, _) = bytes.get(at..)?.split_first_chunk::<4>()?;
    Some(u32::from_ne_bytes(*word))
}

impl<'a> Events<'a> {
    /// The events of a page; `None` where it has no whole header.
    pub fn parse(page: &'a [u8]) -> Option<Events<'a>> {
        let (time, rest) = page.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<8>()?;
        let length = u64::from_ne_bytes(*length);
        let used = ((length & LENGTH) as usize).min(page.len() - HEADER);
        Some(Events { rest: &rest[..used], now: u64::from_ne_bytes(*time), is_behind_lost_ones: length & MISSING != 0 })
    }

    /// Takes so many bytes; all of the rest where there are fewer.
    fn skip_bytes(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes.max(4)..).unwrap_or_default();
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        loop {
            let head = word_at(self.rest, 0)?;
            let (kind, delta) = (head & 31, u64::from(head >> 5));
            let behind = word_at(self.rest, 4);
            match kind {
                29 if delta == 0 => return None,
                29 => {
                    self.now = self.now.wrapping_add(delta);
                    self.skip_bytes(4usize.saturating_add(behind? as usize));
                }
                30 => {
                    self.now = self.now.wrapping_add(delta | u64::from(behind?) << 27);
                    self.skip_bytes(8);
                }
                31 => {
                    let above = self.now >> TIME_BITS << TIME_BITS;
                    self.now = above | (delta | u64::from(behind?) << 27) & ((1 << TIME_BITS) - 1);
                    self.skip_bytes(8);
                }
                _ => {
                    self.now = self.now.wrapping_add(delta);
                    let (from, until) = match kind {
                        0 => (8, 4usize.saturating_add(behind? as usize)),
                        words => (4, 4 + words as usize * 4),
                    };
                    let data = self.rest.get(from..until)?;
                    let event = Event { at: self.now, data };
                    self.skip_bytes(until);
                    return Some(event);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(words: &[u32], more: u64) -> Vec<u8> {
        let mut page = 1000u64.to_ne_bytes().to_vec();
        page.extend(((words.len() as u64 * 4) | more).to_ne_bytes());
        words.iter().for_each(|word| page.extend(word.to_ne_bytes()));
        page.resize(4096, 0xAA);
        page
    }

    fn head(kind: u32, delta: u32) -> u32 {
        kind | delta << 5
    }

    #[test]
    fn times_and_data_of_each_kind() {
        let words = [
            head(2, 5),
            7,
            8,
            head(30, 1),
            1, // 2^27 and one more
            head(1, 3),
            9,
            head(29, 2),
            4, // the length, of which 4 bytes are its own
            head(0, 1),
            12, // itself and 8 bytes
            10,
            11,
            head(31, 6),
            0,
            head(1, 1),
            12,
            head(29, 0),
            99,
        ];
        let page = page(&words, 0);
        let events: Vec<(u64, Option<u16>, usize)> =
            Events::parse(&page).unwrap().map(|event| (event.at, event.id(), event.data.len())).collect();
        let later = 1005 + (1 << 27) + 1;
        assert_eq!(events, [(1005, Some(7), 8), (later + 3, Some(9), 4), (later + 6, Some(10), 8), (7, Some(12), 4)]);
    }

    #[test]
    fn lost_events_are_said_and_damaged_pages_end() {
        assert!(Events::parse(&page(&[], MISSING)).unwrap().is_behind_lost_ones);
        assert!(Events::parse(&[0; 15]).is_none());
        let mut prng = assay_base::Prng::from_seed(1);
        for _ in 0..2000 {
            let noise: Vec<u8> = (0..prng.uniform_below(200)).map(|_| prng.next_u64() as u8).collect();
            let events = Events::parse(&noise).map_or(0, Iterator::count);
            assert!(events <= noise.len() / 4);
        }
    }
}
