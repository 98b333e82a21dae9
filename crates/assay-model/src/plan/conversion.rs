//! A plan as its format, and the format as a plan. A member that is added to either does not compile before it has its
//! place in the other.

use super::application::PlannedApplication;
use super::caches::Caches;
use super::format::PlanFormat;
use super::load::PlannedLoad;
use super::notes::Notes;
use super::timing::PlannedTiming;
use super::verification::PlannedVerification;
use super::whole::Plan;
use crate::files::PlannedFiles;
use crate::mail::Mail;
use crate::oltp::Oltp;
use crate::tiles::PlannedTiles;
use crate::tpcc;

/// The application of a plan as its format has it: one member for each kind.
struct ApplicationMembers {
    oltp: Option<Oltp>,
    mail: Option<Mail>,
    tpcc: Option<tpcc::Load>,
    files: Option<PlannedFiles>,
    tiles: Option<PlannedTiles>,
}

impl From<Option<PlannedApplication>> for ApplicationMembers {
    fn from(application: Option<PlannedApplication>) -> ApplicationMembers {
        let none = ApplicationMembers { oltp: None, mail: None, tpcc: None, files: None, tiles: None };
        match application {
            None => none,
            Some(PlannedApplication::Oltp(oltp)) => ApplicationMembers { oltp: Some(oltp), ..none },
            Some(PlannedApplication::Mail(mail)) => ApplicationMembers { mail: Some(mail), ..none },
            Some(PlannedApplication::Tpcc(load)) => ApplicationMembers { tpcc: Some(load), ..none },
            Some(PlannedApplication::Files(files)) => ApplicationMembers { files: Some(files), ..none },
            Some(PlannedApplication::Tiles(tiles)) => ApplicationMembers { tiles: Some(tiles), ..none },
        }
    }
}

impl ApplicationMembers {
    fn into_application(self) -> Result<Option<PlannedApplication>, String> {
        let mut applications: Vec<PlannedApplication> = Vec::new();
        applications.extend(self.oltp.map(PlannedApplication::Oltp));
        applications.extend(self.mail.map(PlannedApplication::Mail));
        applications.extend(self.tpcc.map(PlannedApplication::Tpcc));
        applications.extend(self.files.map(PlannedApplication::Files));
        applications.extend(self.tiles.map(PlannedApplication::Tiles));
        if applications.len() > 1 {
            return Err("a plan has at most one of oltp, mail, tpcc, files and tiles".to_owned());
        }
        Ok(applications.pop())
    }
}

impl From<Plan> for PlanFormat {
    fn from(plan: Plan) -> PlanFormat {
        // Without `..`, so that no member of a part is forgotten.
        let Plan { name, model, load, timing, criteria, verification, caches, hosts, carried_over, notes } = plan;
        let PlannedLoad {
            multiple,
            multiples,
            seed,
            targets,
            streams,
            in_flight_bound,
            lanes,
            groups,
            loops,
            application,
        } = load;
        let PlannedTiming { phases, slice, interval, max_lag, skip_half_windows, backlog_allowed, recovery_at_most } =
            timing;
        let PlannedVerification { verify, leave_sealed, check_all } = verification;
        let Caches { simulated, device, page } = caches;
        let Notes { derivation, remarks, watermarks } = notes;
        let ApplicationMembers { oltp, mail, tpcc, files, tiles } = application.into();
        PlanFormat {
            name,
            model,
            load: multiple,
            loads: multiples,
            seed,
            targets,
            streams,
            phases,
            criteria,
            slice,
            interval,
            max_lag,
            in_flight_bound,
            lanes,
            groups,
            loops,
            oltp,
            mail,
            tpcc,
            files,
            tiles,
            cache: simulated,
            cache_device: device,
            page_cache: page,
            verify,
            sealed_only: leave_sealed,
            half_windows: skip_half_windows,
            backlog: backlog_allowed,
            recovery_at_most,
            check_all,
            hosts,
            derivation,
            before: carried_over,
            notes: remarks,
            watermarks,
        }
    }
}

impl TryFrom<PlanFormat> for Plan {
    type Error = String;

    fn try_from(plan: PlanFormat) -> Result<Plan, String> {
        let (oltp, mail, tpcc, files, tiles) = (plan.oltp, plan.mail, plan.tpcc, plan.files, plan.tiles);
        let application = ApplicationMembers { oltp, mail, tpcc, files, tiles };
        Ok(Plan {
            name: plan.name,
            model: plan.model,
            load: PlannedLoad {
                multiple: plan.load,
                multiples: plan.loads,
                seed: plan.seed,
                targets: plan.targets,
                streams: plan.streams,
                in_flight_bound: plan.in_flight_bound,
                lanes: plan.lanes,
                groups: plan.groups,
                loops: plan.loops,
                application: application.into_application()?,
            },
            timing: PlannedTiming {
                phases: plan.phases,
                slice: plan.slice,
                interval: plan.interval,
                max_lag: plan.max_lag,
                skip_half_windows: plan.half_windows,
                backlog_allowed: plan.backlog,
                recovery_at_most: plan.recovery_at_most,
            },
            criteria: plan.criteria,
            verification: PlannedVerification {
                verify: plan.verify,
                leave_sealed: plan.sealed_only,
                check_all: plan.check_all,
            },
            caches: Caches { simulated: plan.cache, device: plan.cache_device, page: plan.page_cache },
            hosts: plan.hosts,
            carried_over: plan.before,
            notes: Notes { derivation: plan.derivation, remarks: plan.notes, watermarks: plan.watermarks },
        })
    }
}
