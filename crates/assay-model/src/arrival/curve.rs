//! How a load changes over time: straight lines between points. The curve is repeated, or it stays at its last point.

use assay_base::{Share, Span};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Shares of a rate at times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Curve {
    /// Times and shares; the times ascend and are less than `every`. Two points at the same time make a step.
    pub points: Vec<(Span, Share)>,
    /// Time after which the curve begins again; `None` where it is not repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
}

/// A straight piece of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    /// Length in nanoseconds; `None` for the last piece of a curve that is not repeated.
    pub length: Option<u64>,
    pub from: f64,
    pub to: f64,
}

impl Piece {
    /// The piece from `begin` to `end`, on which the rate goes from `from` to `to`.
    fn from_line(begin: Span, end: Span, from: f64, to: f64) -> Piece {
        Piece { length: Some(end.saturating_sub(begin).as_ns()), from, to }
    }

    /// Its integral, in nanoseconds of full rate.
    pub(super) fn area_ns(&self) -> f64 {
        self.length.map_or(f64::INFINITY, |length| length as f64 * 0.5 * (self.from + self.to))
    }

    /// After how many nanoseconds its integral reaches `area`: the root of from·x + (to − from)/(2·length)·x² = area, in the form
    /// that does not subtract nearly equal numbers.
    #[inline(always)]
    pub(super) fn time_to_area(&self, area: f64) -> f64 {
        let slope = self.length.map_or(0.0, |length| (self.to - self.from) / length as f64);
        let root = (self.from * self.from + 2.0 * slope * area).max(0.0).sqrt();
        if self.from + root > 0.0 { 2.0 * area / (self.from + root) } else { 0.0 }
    }
}

impl Curve {
    /// The share of the rate at a point.
    fn share_at(&self, point: usize) -> f64 {
        self.points[point].1.as_f64()
    }

    /// Whether the points ascend within the curve's length and give some load.
    pub fn is_whole(&self) -> bool {
        let times: Vec<Span> = self.points.iter().map(|(at, _)| *at).collect();
        let within = self.every.is_none_or(|every| !every.is_zero() && times.iter().all(|at| *at <= every));
        !times.is_empty() && times.is_sorted() && within && self.mean_share(None) > 0.0
    }

    /// The pieces from time zero on: one repetition or, where it is not repeated, up to the last point and the rest after it.
    pub(super) fn pieces_from_zero(&self) -> Vec<Piece> {
        let last = self.points.len() - 1;
        let (first, end) = (self.points[0].0, self.points[last].0);
        let (at_first, at_last) = (self.share_at(0), self.share_at(last));
        let between = (1..=last).map(|at| {
            Piece::from_line(self.points[at - 1].0, self.points[at].0, self.share_at(at - 1), self.share_at(at))
        });
        let mut pieces: Vec<Piece> = Vec::new();
        match self.every {
            Some(every) => {
                // From the last point to the first point of the next repetition.
                let gap = every.saturating_sub(end) + first;
                let at_end = at_last + (at_first - at_last) * share_of_span(every.saturating_sub(end), gap);
                pieces.push(Piece::from_line(Span::ZERO, first, at_end, at_first));
                pieces.extend(between);
                pieces.push(Piece::from_line(end, every, at_last, at_end));
            }
            None => {
                pieces.push(Piece::from_line(Span::ZERO, first, at_first, at_first));
                pieces.extend(between);
                pieces.push(Piece { length: None, from: at_last, to: at_last });
            }
        }
        pieces.retain(|piece| piece.length != Some(0));
        pieces
    }

    /// The mean share over `span` from time zero on. Without `span`, over one repetition or, where the curve is not repeated, up to
    /// its last point (the share of that point, where it is the only one).
    pub fn mean_share(&self, span: Option<Span>) -> f64 {
        let pieces = self.pieces_from_zero();
        let whole: u64 = pieces.iter().filter_map(|piece| piece.length).sum();
        let Some(span) = span.map(Span::as_ns).or((whole > 0).then_some(whole)).filter(|span| *span > 0) else {
            return pieces.last().map_or(0.0, |piece| piece.to);
        };
        let around: f64 = pieces.iter().filter(|piece| piece.length.is_some()).map(Piece::area_ns).sum();
        let times = if self.every.is_some() && whole > 0 { span / whole } else { 0 };
        let (mut left, mut sum) = (span - times * whole, times as f64 * around);
        for piece in &pieces {
            let length = piece.length.unwrap_or(u64::MAX).min(left);
            let to = piece.from + (piece.to - piece.from) * piece.length.map_or(0.0, |all| length as f64 / all as f64);
            sum += length as f64 * 0.5 * (piece.from + to);
            left -= length;
        }
        sum / span as f64
    }

    /// The largest share.
    pub fn largest_share(&self) -> Share {
        self.points.iter().map(|(_, share)| *share).max().unwrap_or_default()
    }
}

fn share_of_span(of: Span, all: Span) -> f64 {
    if all.is_zero() { 0.0 } else { of.as_ns() as f64 / all.as_ns() as f64 }
}

impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points: Vec<String> = self.points.iter().map(|(at, share)| format!("{share} at {at}")).collect();
        write!(f, "{}", points.join(", "))?;
        self.every.map_or(Ok(()), |every| write!(f, ", every {every}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(u64, u64)], every: Option<u64>) -> Curve {
        let point = |(at, share): &(u64, u64)| (Span::from_secs(*at), Share::from_percent(*share));
        Curve { points: points.iter().map(point).collect(), every: every.map(Span::from_secs) }
    }

    #[test]
    fn means_and_pieces() {
        for (points, every, span, mean) in [
            (&[(0, 30), (9, 100)][..], Some(24), None, 0.65),
            (&[(0, 100)], Some(10), None, 1.0),
            (&[(0, 0), (10, 100)], None, None, 0.5),
            (&[(0, 0), (10, 100)], None, Some(20), 0.75),
            (&[(6, 100), (18, 0)], Some(24), None, 0.5),
            (&[(6, 100), (18, 0)], Some(24), Some(6), 0.75),
            (&[(0, 100), (5, 100), (5, 20), (10, 20)], Some(10), Some(5), 1.0),
            (&[(0, 100), (5, 100), (5, 20), (10, 20)], Some(10), Some(25), 0.68),
        ] {
            let curve = curve(points, every);
            let found = curve.mean_share(span.map(Span::from_secs));
            assert!(curve.is_whole() && (found - mean).abs() < 1e-12, "{curve}: {found}, not {mean}");
        }
    }

    #[test]
    fn what_is_no_curve() {
        for (points, every) in [
            (&[][..], None),
            (&[(5, 10), (4, 10)], None),
            (&[(0, 0)], None),
            (&[(0, 0), (5, 0)], Some(10)),
            (&[(11, 10)], Some(10)),
            (&[(0, 10)], Some(0)),
        ] {
            let curve = curve(points, every);
            assert!(points.is_empty() || !curve.is_whole(), "{curve}");
        }
    }

    #[test]
    fn a_piece_reaches_its_area_at_its_end() {
        for (from, to) in [(0.0, 1.0), (1.0, 0.0), (0.3, 0.3), (1e-9, 5.0)] {
            let piece = Piece { length: Some(1_000_000), from, to };
            let end = piece.time_to_area(piece.area_ns());
            assert!((end - 1e6).abs() < 1e-3, "{from} {to}: {end}");
            assert_eq!(piece.time_to_area(0.0), 0.0);
            let half = piece.time_to_area(piece.area_ns() / 2.0);
            assert!((from * half + (to - from) / 2e6 * half * half - piece.area_ns() / 2.0).abs() < 1e-3);
        }
    }
}
