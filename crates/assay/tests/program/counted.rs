//! `assay import tree`: a directory becomes a table that has none of its names; and what cannot be counted is named.

use super::bed::Place;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

/// How many entries the long form counts.
const ENTRIES: &str = "ASSAY_SURVEY_ENTRIES";

#[test]
fn a_directory_becomes_a_table_without_its_names() {
    let place = Place::new();
    fs::create_dir_all(place.path("Accounts2031/Zurich-Branch")).unwrap();
    for number in 0..300 {
        let directory = if number % 3 == 0 { "Accounts2031" } else { "Accounts2031/Zurich-Branch" };
        fs::write(place.path(directory).join(format!("Payroll{number:03}.ledger")), vec![b'Z'; number * 10]).unwrap();
    }
    symlink("Payroll000.ledger", place.path("Accounts2031/Newest-Payroll")).unwrap();
    let said = place.assay(&["import", "tree", "Accounts2031", "-o", "tree.toml"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{said:?}");
    let expected = "Accounts2031: 300 files with 438 KiB in 2 directories: 150.0 in a directory, 0.7 deep in the mean and at most 1; \
                    1 symbolic link, 0 further names\n";
    assert_eq!(said.err, expected);
    let table = fs::read_to_string(place.path("tree.toml")).unwrap();
    for name in ["Accounts", "2031", "Zurich", "Branch", "Payroll", "ledger", "Newest", "ZZ"] {
        assert!(!table.contains(name), "{name} is in {table}");
    }
    assert!(
        table.contains("[tree]\nfiles = 300\n") && table.contains("directories = [\n  [0, 1, 100], [1, 1, 200],\n]\n"),
        "{table}"
    );
    let printed = place.assay(&["import", "tree", "Accounts2031"]);
    assert_eq!((printed.code, printed.out == table), (Some(0), true));
    let again = place.assay(&["import", "tree", "Accounts2031", "--out", "tree.toml"]);
    assert!(again.code == Some(5) && again.err.contains("it exists already"), "{again:?}");
    let json = place.assay(&["import", "tree", "Accounts2031", "--json"]).json();
    assert_eq!(
        (json["schema"].as_u64(), json["files"].as_u64(), json["directories"].as_u64()),
        (Some(1), Some(300), Some(1))
    );
    assert_eq!((json["tree"].as_str(), json["left_out"]["sockets"].as_u64()), (Some(table.as_str()), Some(0)));
    let nothing = place.assay(&["import", "tree", "nothing"]);
    assert!(nothing.code == Some(5) && nothing.err.contains("nothing cannot be read: "), "{nothing:?}");
}

/// Root reads every directory: the program runs as nobody.
#[test]
fn a_directory_that_cannot_be_read_is_counted_and_named() {
    let place = Place::new();
    fs::create_dir_all(place.path("data/secret")).unwrap();
    fs::write(place.path("data/file"), "bytes").unwrap();
    fs::write(place.path("data/secret/file"), "bytes").unwrap();
    fs::set_permissions(place.path("data/secret"), fs::Permissions::from_mode(0o000)).unwrap();
    for path in [place.path("data"), place.path("")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let program = env!("CARGO_BIN_EXE_assay");
    let args = ["--reuid=65534", "--regid=65534", "--clear-groups", program, "import", "tree"];
    let said = Command::new("setpriv").args(args).arg(place.path("data")).output();
    fs::set_permissions(place.path("data/secret"), fs::Permissions::from_mode(0o755)).unwrap();
    let Ok(said) = said.inspect_err(|e| eprintln!("skipped: setpriv: {e}")) else { return };
    let (out, err) = (String::from_utf8(said.stdout).unwrap(), String::from_utf8(said.stderr).unwrap());
    if err.contains("setpriv") || err.contains("Permission denied") && out.is_empty() {
        eprintln!("skipped: this program cannot be run as nobody: {err}");
        return;
    }
    assert_eq!(said.status.code(), Some(0), "{err}");
    assert!(err.contains("note: left out: 1 directory that cannot be read\n"), "{err}");
    assert!(err.contains("/data/secret: Permission denied"), "{err}");
    assert!(out.contains("# Not in it: 1 directory that cannot be read.") && !out.contains("secret"), "{out}");
}

/// Kilobytes that the program had in memory at most.
fn most_memory(place: &Place, directory: &str) -> Option<u64> {
    let script = "import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n\
                  print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let args = ["-c", script, env!("CARGO_BIN_EXE_assay"), "import", "tree"];
    let said = Command::new("python3").args(args).arg(place.path(directory)).output();
    let said = said.inspect_err(|e| eprintln!("skipped: python3: {e}")).ok()?;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    Some(String::from_utf8(said.stdout).unwrap().trim().parse().unwrap())
}

#[test]
fn memory_does_not_grow_with_the_entries() {
    let place = Place::new();
    let most: u64 = std::env::var(ENTRIES).ok().and_then(|text| text.parse().ok()).unwrap_or(60_000);
    for (directory, entries) in [("few", 100), ("many", most)] {
        for number in 0..entries {
            let within = place.path(directory).join((number / 1000).to_string());
            if number % 1000 == 0 {
                fs::create_dir_all(&within).unwrap();
            }
            // Long names: kept, those of the short form would take 15 MB.
            File::create(within.join(format!("{number:0>240}"))).unwrap();
        }
    }
    let Some(few) = most_memory(&place, "few") else { return };
    let many = most_memory(&place, "many").unwrap_or(0);
    assert!(many > 0 && many < few + 4096, "{few} kB for 100 entries, {many} kB for {most}");
}
