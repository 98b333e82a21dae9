//! `assay clean`: what a run on a file system left is listed and removed, and what somebody else put there is not.

use super::bed::Place;
use assay_files::own_dir::{self, Conditions, Names, OwnDir, Request, Wants};
use std::fs;

/// A directory of a run as it is while the run goes on, with a file in a directory.
fn made(place: &Place, run: &str) -> OwnDir {
    fs::create_dir_all(place.path("data")).unwrap();
    let opened = own_dir::Place::open(&place.path("data"), Conditions::default()).unwrap();
    let own = OwnDir::make(opened, Request { run, wants: Wants::default(), resolution: None }).unwrap();
    let directory = place.path("data").join(own.name()).join(own.names().directory(0));
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join(own.names().file(0)), "ours").unwrap();
    own
}

#[test]
fn what_a_run_left_is_listed_and_removed_and_a_run_that_goes_on_is_not_disturbed() {
    let place = Place::new();
    let own = made(&place, "orders\nALL CLEAR");
    let (name, path) = (own.name().to_owned(), place.path("data").join(own.name()));
    let in_use = format!("{name} is in use: process {} on the host", std::process::id());
    for (args, code) in [(&["clean", "data", "--list"][..], 0), (&["clean", "data"], 4)] {
        let said = place.assay(args);
        assert!(said.code == Some(code) && said.out.starts_with(&in_use), "{said:?}");
        assert!(said.out.lines().count() == 1 && path.exists(), "{said:?}");
    }
    own.keep();
    let listed = place.assay(&["clean", "data", "--list"]);
    let removable = format!("{name} would be removed, with 2 entries of the run orders\u{fffd}ALL CLEAR\n");
    assert_eq!((listed.code, listed.out.as_str(), listed.err.as_str()), (Some(0), removable.as_str(), ""));
    assert!(path.exists());
    let cleaned = place.assay(&["clean", "data"]);
    assert_eq!((cleaned.code, cleaned.out), (Some(0), removable.replace("would be removed", "was removed")));
    assert_eq!(fs::read_dir(place.path("data")).unwrap().count(), 0);
    let again = place.assay(&["clean", "data"]);
    assert_eq!((again.code, again.out.as_str()), (Some(0), "no run has left anything in data\n"));
}

#[test]
fn what_is_not_of_the_run_stays_and_is_named() {
    let place = Place::new();
    let own = made(&place, "orders");
    let (name, path) = (own.name().to_owned(), place.path("data").join(own.name()));
    own.keep();
    let directory = Names::for_run("orders").directory(0);
    fs::write(path.join(&directory).join("notes"), "theirs").unwrap();
    fs::create_dir(place.path("data/assay-0badcafe")).unwrap();
    fs::write(place.path("data/assay-0badcafe/data"), "theirs").unwrap();
    let said = place.assay(&["clean", "data"]);
    let foreign = "assay-0badcafe is left as it is: it has no marker ASSAYDIR, and something is in it: remove it by hand if nobody needs it\n";
    let stays = format!(
        "{name} stays: 1 entry of the run orders can go, and in it stay\n  {directory}/notes has a name that is not of this run\n"
    );
    assert!(said.code == Some(4) && said.out.contains(foreign) && said.out.contains(&stays), "{said:?}");
    assert!(said.err.starts_with("error: not everything in data could be removed"), "{said:?}");
    assert_eq!(fs::read_to_string(path.join(&directory).join("notes")).unwrap(), "theirs");
    fs::remove_file(path.join(&directory).join("notes")).unwrap();
    fs::remove_dir_all(place.path("data/assay-0badcafe")).unwrap();
    assert_eq!(place.assay(&["clean", "data"]).code, Some(0));
    assert!(!path.exists());
}

#[test]
fn a_directory_that_no_run_may_use_is_not_cleaned() {
    let place = Place::new();
    place.write("file", "");
    let own = made(&place, "orders");
    let within = format!("data/{}", own.name());
    let advice = format!("write `assay clean {}`", place.path("data").canonicalize().unwrap().display());
    for (path, code, says) in [
        ("/", 4, "is the root directory"),
        ("/usr/share", 4, "is in /usr, which belongs to the system"),
        ("nothing", 5, "nothing does not exist"),
        ("file", 5, "file is not a directory"),
        (&within, 4, &advice),
    ] {
        for args in [&["clean", path][..], &["clean", path, "--list"]] {
            let said = place.assay(args);
            assert!(said.code == Some(code) && said.err.contains(says) && said.out.is_empty(), "{said:?}");
        }
    }
    own.keep();
}
