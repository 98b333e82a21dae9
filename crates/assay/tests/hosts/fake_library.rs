//! Joining and leaving with a library of our own, which does what a real one does only when a host is lost: it waits for ever.

use crate::hosts::told;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A library of MPICH's family with one rank. Each function that a variable of the environment names waits for ever.
const SOURCE: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wait_where_asked(const char *name) {
    const char *waits = getenv("FAKE_WAITS_IN");
    while (waits && strcmp(waits, name) == 0) sleep(1);
    return 0;
}
int MPI_Init_thread(int *c, char ***v, int wanted, int *provided) { *provided = wanted; return wait_where_asked("init"); }
int MPI_Comm_rank(int comm, int *rank) { *rank = 0; return 0; }
int MPI_Comm_size(int comm, int *size) { *size = 1; return 0; }
int MPI_Get_library_version(char *text, int *length) { strcpy(text, "a fake"); *length = 6; return 0; }
int MPI_Comm_set_errhandler(int comm, int handler) { return 0; }
int MPI_Finalize(void) { return wait_where_asked("finalize"); }
int MPI_Abort(int comm, int code) { exit(code); }
/* One rank has nobody to send to, and these are not called before the number of ranks was compared. */
#define UNUSED(name) int name(void) { abort(); }
UNUSED(MPI_Isend) UNUSED(MPI_Irecv) UNUSED(MPI_Iprobe) UNUSED(MPI_Test) UNUSED(MPI_Ibarrier) UNUSED(MPI_Ibcast)
UNUSED(MPI_Igather) UNUSED(MPI_Ireduce) UNUSED(MPI_Iallreduce)
"#;

/// Compiles the library into a directory; `None`, with a message, where there is no compiler.
fn fake_library(directory: &Path) -> Option<PathBuf> {
    let (source, library) = (directory.join("fake.c"), directory.join("libmpi.so.12"));
    std::fs::write(&source, SOURCE).unwrap();
    let compiled = Command::new("gcc").args(["-w", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).output();
    match compiled {
        Ok(output) if output.status.success() => Some(library),
        Ok(output) => panic!("{}", told(&output)),
        Err(why) => {
            eprintln!("skipped: no gcc ({why}), an MPI library that waits for ever was NOT tried");
            None
        }
    }
}

fn assay_with(library: &Path, waits_in: &str, environment: &[(&str, &str)], words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    for variable in ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"] {
        command.env_remove(variable);
    }
    command.envs(environment.iter().copied()).env("FAKE_WAITS_IN", waits_in);
    command.current_dir(library.parent().unwrap());
    command.args(words).arg("--mpi").arg(library).output().unwrap()
}

/// A rank that never comes keeps nobody waiting for ever, and nothing is made.
#[test]
fn joining_ends_where_the_library_waits_for_ever() {
    let place = tempfile::tempdir().unwrap();
    let Some(library) = fake_library(place.path()) else { return };
    let run = ["run", "random-read", "sim:flash", "--hosts", "4", "--out", "run", "--join-within", "1s"];
    let doctor = ["doctor", "--hosts", "4", "--join-within", "1s"];
    let hydra = |rank| [("PMI_SIZE", "4"), ("PMI_RANK", rank)];
    for words in [run.as_slice(), &doctor] {
        for (environment, who) in [
            ([].as_slice(), "this rank has waited 1 s in MPI_Init_thread of "),
            (&hydra("0"), "rank 0 of 4 has waited 1 s in MPI_Init_thread of "),
            (&hydra("3"), "rank 3 of 4 has waited 1 s in MPI_Init_thread of "),
        ] {
            let output = assay_with(&library, "init", environment, words);
            let text = told(&output);
            assert_eq!(output.status.code(), Some(5), "{words:?}: {text}");
            assert!(text.contains(who) && text.contains("libmpi.so.12") && text.contains("--join-within"), "{text}");
            assert!(output.stdout.is_empty(), "{text}");
        }
    }
    assert!(!place.path().join("run").exists(), "nothing is made");
    let output = assay_with(&library, "init", &[], &["doctor", "--hosts", "4", "--join-within", "0s"]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("--join-within"), "{}", told(&output));
}

/// A rank that does not leave keeps nobody either: the exit code is that of what was done before.
#[test]
fn leaving_ends_where_the_library_waits_for_ever() {
    let place = tempfile::tempdir().unwrap();
    let Some(library) = fake_library(place.path()) else { return };
    let at_once = assay_with(&library, "nowhere", &[], &["doctor", "--hosts", "4"]);
    assert_eq!(at_once.status.code(), Some(2), "{}", told(&at_once));
    assert!(told(&at_once).contains("joined 1 rank"), "{}", told(&at_once));
    let output = assay_with(&library, "finalize", &[], &["doctor", "--hosts", "4"]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("joined 1 rank"), "{}", told(&output));
    assert!(told(&output).contains("not all ranks have left within 30 s"), "{}", told(&output));
}
