//! What was seen of where operations go and when they come, as part of the load; and notes on what is not.

use super::lower::{Lowering, rate_as_text};
use super::{Flow, ProfileFault, Sourced};
use crate::flush::Flush;
use crate::life::Life;
use crate::mix::Loop;
use crate::plan::{Arrival, Stream, Work};
use assay_base::{Rate, Share};

/// The name of the closed loop of an application.
const LOOP: &str = "requests";
/// From this share of writes that follow a read of their place on, a note says that they do not wait for it here.
const REWRITTEN: Share = Share::from_percent(5);

impl Lowering<'_> {
    /// Gives the stream that was made last the places and the arrival of its flow.
    pub(super) fn drive_as_seen(&mut self, flow: &Option<Flow>) {
        let Some(seen) = flow.as_ref().map(|flow| &flow.seen) else { return };
        let Some(stream) = self.out.streams.last_mut() else { return };
        if let Work::Block(block) = &mut stream.work {
            if let Some(address) = &seen.address {
                block.address = address.value.clone();
            }
            block.extent = seen.range.as_ref().map(|range| range.value);
            block.places = seen.places.as_ref().map(|places| format!("{}{places}", self.prefix));
        }
        if let (Some(arrival), Some(rate)) = (&seen.arrival, stream.arrival.mean_rate()) {
            stream.arrival = at_rate(&arrival.value, rate);
        }
        let name = stream.name.strip_prefix(&self.prefix).unwrap_or(&stream.name).to_owned();
        if let Some(Sourced { value, source }) = &seen.address {
            self.note_derivation(&format!("places of {name}"), value.to_string(), value.to_string(), source);
        }
        if let Some(Sourced { value, source }) = &seen.arrival {
            self.note_derivation(&format!("arrival of {name}"), value.arrival_name(), value.arrival_name(), source);
        }
    }

    /// The flushes of the part.
    pub(super) fn lower_flushes(&mut self) -> Result<(), ProfileFault> {
        let Some(flushes) = &self.part.flushes else { return Ok(()) };
        let drives = self.part.drives.len().max(1) as u64;
        let rate = flushes.value.scaled_by(1, drives).ok_or_else(|| self.too_large("", "flushes"))?;
        let has_writes = self.out.streams.iter().any(|stream| stream.writes_blocks());
        if rate.is_zero() || !has_writes {
            return Ok(());
        }
        self.note_derivation("flushes", rate_as_text(flushes.value), rate_as_text(rate), &flushes.source);
        self.out.streams.push(Stream {
            name: format!("{}flushes", self.prefix),
            work: Work::Flush(Flush::new(None)),
            arrival: Arrival::Poisson { rate },
            per_target: false,
            targets: Vec::new(),
            life: Life::default(),
        });
        Ok(())
    }

    /// Makes one closed loop of reads and writes where a number of them is always in flight.
    pub(super) fn close_loop(&mut self, reads: Rate, writes: Rate) -> Result<(), ProfileFault> {
        let Some(in_flight) = &self.part.in_flight else { return Ok(()) };
        let all = reads.as_f64() + writes.as_f64();
        let name = format!("{}{LOOP}", self.prefix);
        let (of_reads, of_writes) = (format!("{}reads", self.prefix), format!("{}writes", self.prefix));
        let share_of_reads = Share::from_ppb((reads.as_f64() / all.max(f64::MIN_POSITIVE) * 1e9).round() as u64);
        for stream in &mut self.out.streams {
            let share = if stream.name == of_reads {
                share_of_reads
            } else if stream.name == of_writes {
                Share::from_ppb(Share::WHOLE.as_ppb().saturating_sub(share_of_reads.as_ppb()))
            } else {
                continue;
            };
            stream.arrival = Arrival::Looped { looped: name.clone(), share, line: None };
        }
        let text = in_flight.value.to_string();
        self.note_derivation("in flight", text.clone(), text, &in_flight.source);
        self.out.loops.push(Loop {
            name,
            in_flight: in_flight.value,
            copies: 1,
            think: None,
            lines: Vec::new(),
            turns: None,
            life: Life::default(),
        });
        Ok(())
    }

    /// Properties that a trace shows and that are not part of the load.
    pub(super) fn note_unused(&mut self) {
        for (what, flow) in [("reads", &self.part.reads), ("writes", &self.part.writes)] {
            let Some(flow) = flow else { continue };
            let (habits, name) = (&flow.habits, format!("{}{what}", self.prefix));
            if let Some(zipf) = habits.zipf.as_ref().filter(|zipf| zipf.value.0 > 0.0 && flow.seen.address.is_none()) {
                let note = format!(
                    "{name}: production's addresses are skewed (Zipf {:.2}); here they are uniform, which is harder on a cache",
                    zipf.value.0
                );
                self.out.notes.push(note);
            }
            let bursts = habits.dispersion.iter().flat_map(|all| &all.value).find(|(_, index)| *index > 2.0);
            if let Some((window, index)) = bursts.filter(|_| flow.seen.arrival.is_none()) {
                let note = format!(
                    "{name}: production's arrivals come in bursts (index of dispersion {index:.1} over {window}); here they are independent"
                );
                self.out.notes.push(note);
            }
            if let Some(rewritten) = habits.rewritten.as_ref().filter(|share| share.value >= REWRITTEN) {
                let note = format!(
                    "{name}: {} of production's follow a read of the same place within a second; here they do not wait for one",
                    rewritten.value
                );
                self.out.notes.push(note);
            }
        }
    }
}

/// The same arrival at a rate.
fn at_rate(arrival: &Arrival, rate: Rate) -> Arrival {
    match arrival {
        Arrival::Steady { .. } => Arrival::Steady { rate },
        Arrival::Bursty { bursts, .. } => Arrival::Bursty { rate, bursts: *bursts },
        Arrival::Varying { curve, even, .. } => Arrival::Varying { rate, curve: curve.clone(), even: *even },
        _ => Arrival::Poisson { rate },
    }
}
