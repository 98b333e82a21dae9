//! The workload of a server as streams on block devices, where its log is one that a device can hold.

use super::certificate::Certificate;
use super::definition::{Load, Workload};
use crate::files::FilesPace;
use crate::files::Spacing;
use crate::plan::Lane;
use assay_base::Criterion;

/// The watermark of each result of such a workload: what it does not say.
pub const WITHOUT_FILE_SYSTEM: &str = "WITHOUT A FILE SYSTEM: its journal is not in this result";
/// Writes of pages in flight; the writer of the log has one.
const IN_FLIGHT: u32 = 64;

impl Workload {
    /// The same load on targets that have blocks and no file system. The error says what a block device cannot hold.
    pub fn on_device(&self) -> Result<Workload, String> {
        let files = self.load.as_files().map(|files| &files.workload);
        let server = files.and_then(|files| Some((files, files.service.as_ref()?)));
        let Some((files, service)) = server.filter(|(_, service)| service.streams) else {
            return Err(format!("what {} does needs files", self.name));
        };
        let FilesPace::Open { rate, arrival } = files.pace else {
            return Err(format!("{} has no rate", self.name));
        };
        let made = service.on_device(rate, arrival == Spacing::Steady)?;
        let bounded = self.without_criteria_of(&made.contained);
        let known = |criterion: &Criterion| {
            criterion.stream == Criterion::ALL || made.streams.iter().any(|stream| stream.name == criterion.stream)
        };
        if let Some(unknown) = bounded.all_criteria().into_iter().find(|criterion| !known(criterion)) {
            return Err(format!("a criterion is about {}, which only a file system has", unknown.stream));
        }
        let lanes = made.streams.first().map(|writer| Lane::for_stream(&writer.name, 1)).into_iter().collect();
        let load =
            Load { lanes, in_flight_bound: IN_FLIGHT, unscaled: made.unscaled, ..Load::from_streams(made.streams) };
        let certificate = bounded.certificate.map(|own| Certificate { beside: None, ..own });
        let mut notes = self.notes.clone();
        notes.extend(made.notes);
        let mut watermarks = self.watermarks.clone();
        watermarks.push(WITHOUT_FILE_SYSTEM.to_owned());
        let criteria = bounded.criteria;
        Ok(Workload { model: "streams", load, criteria, certificate, notes, watermarks, ..self.clone() })
    }

    /// The same without bounds on a stream that another one contains: the bounds of that one are about both.
    fn without_criteria_of(&self, contained: &str) -> Workload {
        let mut workload = self.clone();
        let keep = |criterion: &Criterion| criterion.stream != contained;
        workload.criteria.retain(keep);
        if let Some(certificate) = &mut workload.certificate {
            certificate.stress.iter_mut().for_each(|stress| stress.criteria.retain(keep));
            certificate.quick.iter_mut().for_each(|quick| quick.criteria.retain(keep));
        }
        workload
    }

    /// Its criteria, also those of the steps of its certificate.
    fn all_criteria(&self) -> Vec<&Criterion> {
        let certificate = self.certificate.as_ref();
        let stress = certificate.and_then(|own| own.stress.as_ref()).map(|stress| &stress.criteria);
        let quick = certificate.and_then(|own| own.quick.as_ref()).map(|quick| &quick.criteria);
        self.criteria.iter().chain(stress.into_iter().flatten()).chain(quick.into_iter().flatten()).collect()
    }
}
