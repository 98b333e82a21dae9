//! Closed loops over several streams. The streams share a number of operations in flight; whenever one of them may be
//! issued, it is drawn which stream it belongs to.
//!
//! Without lines the stream is drawn for each operation, by its share. With lines a line is drawn for each burst of
//! operations, and within the burst the stream of each operation is drawn among the streams of that line. So the part
//! of the operations that belongs to a line is share · burst, divided by the sum of share · burst over all lines.

use crate::life::Life;
use crate::turns::Turns;
use assay_base::{Instant, Prng, Span, math};
use serde::{Deserialize, Serialize};

/// A closed loop over several streams, as configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loop {
    /// Its streams name it.
    pub name: String,
    /// The number of operations in flight of each copy, on each target; if the loop takes turns, on all targets
    /// together.
    pub in_flight: u32,
    /// How many copies of it run at the same time, each with its own cursors and random numbers.
    pub copies: u32,
    /// The pauses of its slots, if they pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Think>,
    /// The lines that bursts are drawn from. Without lines each operation is drawn by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
    /// How it takes turns over several targets; without turns each target has a loop of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
    /// When it begins and ends.
    #[serde(flatten)]
    pub life: Life,
}

/// A pause of a slot after some of its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// The length of the pause; the mean length if lengths are drawn.
    pub time: Span,
    /// After how many completions of a slot it pauses.
    #[serde(default = "one")]
    pub every: u32,
    /// How the lengths of pauses are distributed.
    #[serde(default)]
    pub spread: Spread,
    /// Whether all slots pause together: after `every` completions, of any slots, nothing is issued until all
    /// operations in flight have completed, and then for the pause.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
}

/// How the lengths of pauses are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// All pauses have the same length.
    #[default]
    None,
    /// Lengths are exponentially distributed.
    Exponential,
}

fn one() -> u32 {
    1
}

impl Think {
    /// The length of the next pause.
    #[inline]
    pub fn next_pause(&self, prng: &mut Prng) -> Span {
        match self.spread {
            Spread::None => self.time,
            Spread::Exponential => Span::from_ns((-math::ln(prng.uniform_unit()) * self.time.as_ns() as f64) as u64),
        }
    }
}

/// A group of streams of a loop. A burst of operations belongs to one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Its streams name it.
    pub name: String,
    /// How often it is drawn, relative to the other lines.
    pub weight: u64,
    /// The number of operations in a burst.
    pub burst: u32,
    /// How long nothing is issued before each burst.
    pub delay: Span,
}

impl Loop {
    /// The number of operations in flight of all copies, on each target; if the loop takes turns, on all targets
    /// together.
    pub fn slot_count(&self) -> u32 {
        self.in_flight.saturating_mul(self.copies)
    }

    /// The longest pause or delay of the loop; zero if it has none. With a pause, operations have an intended time that
    /// differs from the completion before them.
    pub fn longest_pause(&self) -> Span {
        let delays = self.lines.iter().map(|line| line.delay);
        delays.chain(self.think.map(|think| think.time)).max().unwrap_or(Span::ZERO)
    }
}

/// Draws the stream of each next operation.
#[derive(Clone, Debug)]
pub struct Mix {
    lines: Box<[LineStreams]>,
    line: usize,
    left: u32,
    /// The sum of the weights of all lines.
    weights: u64,
}

/// A line with its streams.
#[derive(Clone, Debug)]
struct LineStreams {
    below: u64,
    burst: u32,
    delay: Span,
    /// The streams as indices into the loop, each after the sum of its weight and the weights before it.
    members: Box<[(u64, usize)]>,
}

impl LineStreams {
    fn draw_stream(&self, prng: &mut Prng) -> usize {
        let [(all, member)] = *self.members else {
            let drawn = prng.uniform_below(self.members.last().map_or(1, |(below, _)| *below));
            return self.members.iter().find(|(below, _)| drawn < *below).map_or(0, |(_, member)| *member);
        };
        debug_assert!(all > 0, "a stream has a share");
        member
    }
}

impl Mix {
    /// The mix of a loop. `members` has the weight of each stream and the index of its line, which is 0 if the loop has
    /// no lines.
    pub fn new(it: &Loop, members: &[(u64, usize)]) -> Mix {
        let lines = if it.lines.is_empty() {
            &[Line { name: String::new(), weight: 1, burst: u32::MAX, delay: Span::ZERO }][..]
        } else {
            &it.lines
        };
        let mut below = 0;
        let mut all = Vec::with_capacity(lines.len());
        for (at, line) in lines.iter().enumerate() {
            below += line.weight;
            let mut sum = 0;
            let own = members.iter().enumerate().filter(|(_, (_, line))| *line == at);
            let own = own.map(|(member, (weight, _))| {
                sum += weight;
                (sum, member)
            });
            all.push(LineStreams { below, burst: line.burst, delay: line.delay, members: own.collect() });
        }
        Mix { lines: all.into(), line: 0, left: 0, weights: below }
    }

    /// The time before which the next operation must not be issued: `now`, or later if a burst begins with the delay of
    /// its line.
    #[inline]
    pub fn earliest_issue(&mut self, now: Instant, prng: &mut Prng) -> Instant {
        if self.left > 0 { now } else { self.begin_turn(now, prng) }
    }

    #[cold]
    fn begin_turn(&mut self, now: Instant, prng: &mut Prng) -> Instant {
        if self.lines.len() > 1 {
            let drawn = prng.uniform_below(self.weights);
            self.line = self.lines.iter().position(|line| drawn < line.below).unwrap_or(0);
        }
        self.left = self.lines[self.line].burst;
        now + self.lines[self.line].delay
    }

    /// The stream of the next operation, as an index into the loop. [`Mix::earliest_issue`] must be called before each call.
    #[inline]
    pub fn next_stream(&mut self, prng: &mut Prng) -> usize {
        self.left = self.left.saturating_sub(1);
        self.lines[self.line].draw_stream(prng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(weight: u64, burst: u32, delay: u64) -> Line {
        Line { name: format!("l{weight}"), weight, burst, delay: Span::from_ms(delay) }
    }

    fn looped(lines: Vec<Line>) -> Loop {
        Loop { name: "l".into(), in_flight: 1, copies: 1, think: None, lines, turns: None, life: Life::default() }
    }

    #[test]
    fn shares_are_within_four_standard_deviations() {
        for (lines, members, shares) in [
            (vec![], &[(70, 0), (20, 0), (10, 0)][..], &[0.7, 0.2, 0.1][..]),
            (vec![], &[(1, 0)], &[1.0]),
            // The lines have 60 · 10 and 40 · 5 of 800 parts.
            (vec![line(60, 10, 0), line(40, 5, 0)], &[(1, 0), (3, 0), (1, 1)], &[0.1875, 0.5625, 0.25]),
        ] {
            let (mut mix, mut prng, mut counts) =
                (Mix::new(&looped(lines), members), Prng::from_seed(1), vec![0f64; members.len()]);
            let n = 400_000;
            for _ in 0..n {
                assert_eq!(mix.earliest_issue(Instant::ZERO, &mut prng), Instant::ZERO);
                counts[mix.next_stream(&mut prng)] += 1.0;
            }
            for (count, share) in counts.iter().zip(shares) {
                // All operations of a burst are of one line, so the number of draws is the number of bursts, not of
                // operations.
                let spread = 4.0 * (f64::from(n) * share * (1.0f64 - share) * 10.0).sqrt();
                assert!((count - f64::from(n) * share).abs() <= spread, "{counts:?}");
            }
        }
    }

    #[test]
    fn a_burst_is_of_one_line_and_begins_with_its_delay() {
        let it = looped(vec![line(1, 3, 7), line(1, 2, 0)]);
        let (mut mix, mut prng) = (Mix::new(&it, &[(1, 0), (1, 1)]), Prng::from_seed(3));
        let now = Instant::from_ns(50);
        for _ in 0..1000 {
            let begins = mix.earliest_issue(now, &mut prng);
            let first = mix.next_stream(&mut prng);
            assert_eq!(begins, if first == 0 { now + Span::from_ms(7) } else { now });
            for _ in 1..if first == 0 { 3 } else { 2 } {
                assert_eq!((mix.earliest_issue(now, &mut prng), mix.next_stream(&mut prng)), (now, first));
            }
        }
        assert_eq!(it.longest_pause(), Span::from_ms(7));
    }

    #[test]
    fn pauses_are_fixed_or_exponential() {
        let mut prng = Prng::from_seed(1);
        let think = |spread| Think { time: Span::from_ms(5), every: 1, spread, together: false };
        assert_eq!(think(Spread::None).next_pause(&mut prng), Span::from_ms(5));
        let n = 100_000u64;
        let all: Vec<f64> =
            (0..n).map(|_| think(Spread::Exponential).next_pause(&mut prng).as_ns() as f64 / 5e6).collect();
        let mean = all.iter().sum::<f64>() / n as f64;
        let variance = all.iter().map(|pause| (pause - mean).powi(2)).sum::<f64>() / n as f64;
        assert!((mean - 1.0).abs() < 4.0 / (n as f64).sqrt() && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
