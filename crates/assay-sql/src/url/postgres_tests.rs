use super::*;
use crate::trouble::TroubleKind;
use crate::url::Url;
use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;

fn url(text: &str) -> PostgresUrl {
    match Url::parse_url(text) {
        Ok(Url::Postgres(url)) => url,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn every_part_has_its_place_and_its_default() {
    let whole = url("postgresql://me@db.example:6432/shop?schema=other&tls=off");
    assert_eq!((whole.host.clone(), whole.port), (Host::Network("db.example".into()), 6432));
    assert_eq!((whole.role_name(), whole.database_name(), whole.schema.as_str()), ("me", "shop", "other"));
    assert_eq!((whole.tls, whole.verifies_server(), whole.is_local()), (Some(Tls::Off), false, false));
    let short = url("postgres://me@");
    assert_eq!((short.host.clone(), short.port), (Host::Socket(SOCKETS.into()), 5432));
    assert_eq!((short.role_name(), short.database_name(), short.schema.as_str()), ("me", "me", "assay_tpcc"));
    assert_eq!(url("postgres://%2Frun%2Fpg/shop").host, Host::Socket("/run/pg".into()));
    assert_eq!(url("postgres:///shop?host=/run/pg&port=6000").port, 6000);
    assert_eq!(url("postgres://m%40e@[::1]:6000/a%20b").user.as_deref(), Some("m@e"));
}

#[test]
fn the_server_proves_who_it_is_unless_it_is_here() {
    for (text, verifies) in [
        ("postgres://me@db.example/shop", true),
        ("postgres://me@10.0.0.1/shop", true),
        ("postgres://me@db.example/shop?tls=off", false),
        ("postgres://me@localhost/shop", false),
        ("postgres://me@127.0.0.3/shop", false),
        ("postgres://me@[::1]/shop", false),
        ("postgres://me@localhost/shop?tls=verify", true),
        ("postgres://me@localhost.example/shop", true),
        ("postgres://me@/shop", false),
    ] {
        assert_eq!(url(text).verifies_server(), verifies, "{text}");
    }
}

#[test]
fn what_is_shown_can_be_read_again() {
    for text in [
        "postgres://me@db.example:6432/shop?schema=other&tls=off",
        "postgres://me@[::1]:6000/a%20b",
        "postgres://me@/shop?host=/run/pg&port=6000",
        "postgres://me@/shop",
    ] {
        assert_eq!(url(text).to_string(), text);
    }
    let hidden = url("postgres://me@/shop?password_file=/root/secret").to_string();
    assert_eq!(hidden, "postgres://me@/shop");
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_write() {
    for (text, says) in [
        ("postgres:shop", "begins with two slashes"),
        ("postgres://me@host:0/shop", "a port is a number"),
        ("postgres://me@host:x/shop", "a port is a number"),
        ("postgres://me@[::1/shop", "ends with ]"),
        ("postgres://me@host/shop?sslmode=disable", "write tls=verify or tls=off"),
        ("postgres://me@host/shop?tls=on", "write one of verify, off"),
        ("postgres://me@host/shop?schemas=x", "no option \"schemas\": write schema, host"),
        ("postgres://me@host/shop?schema", "has no value"),
        ("postgres://me@host/shop?schema=Shop", "lower-case letters"),
        ("postgres://me@host/shop?schema=a.b", "lower-case letters"),
        ("postgres://me@host/shop?schema=pg_catalog", "PostgreSQL's own"),
        ("postgres://me@host/sh%op", "two hexadecimal digits"),
    ] {
        let trouble = Url::parse_url(text).unwrap_err();
        assert!(trouble.kind == TroubleKind::Usage && trouble.to_string().contains(says), "{text}: {trouble}");
    }
}

/// A URL that is completed from an environment of these variables.
fn completed(text: &str, variables: &[(&str, &str)]) -> Result<PostgresUrl, Trouble> {
    let variables: HashMap<&str, &str> = variables.iter().copied().collect();
    let mut url = url(text);
    url.complete_from_environment(&|name| variables.get(name).map(|value| (*value).to_owned()))?;
    Ok(url)
}

fn file(mode: u32, text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    (dir, path.display().to_string())
}

#[test]
fn the_role_comes_from_the_environment_where_the_url_has_none() {
    assert_eq!(completed("postgres://", &[("USER", "a")]).unwrap().role_name(), "a");
    assert_eq!(completed("postgres://", &[("USER", "a"), ("PGUSER", "b")]).unwrap().database_name(), "b");
    assert_eq!(completed("postgres://c@", &[("PGUSER", "b")]).unwrap().role_name(), "c");
    assert_eq!(completed("postgres://", &[]).unwrap_err().kind, TroubleKind::Usage);
}

#[test]
fn a_password_comes_from_a_private_file_or_the_environment_and_is_not_shown() {
    let (_dir, path) = file(0o600, "canary\n");
    let with_file = format!("postgres://me@/shop?password_file={path}");
    for (text, variables) in
        [(with_file.as_str(), vec![("PGPASSWORD", "other")]), ("postgres://me@/shop", vec![("PGPASSWORD", "canary")])]
    {
        let url = completed(text, &variables).unwrap();
        assert_eq!(url.password, Some(Password::new("canary".into())));
        assert!(!format!("{url:?} {url}").contains("canary"));
    }
    assert_eq!(completed("postgres://me@/shop", &[]).unwrap().password, None);
}

#[test]
fn of_a_list_of_passwords_the_first_line_that_fits_counts() {
    let list = "# db:*:*:*:comment\nother:*:*:*:a\nlocalhost:5432:shop:me:b\\:c\\\\d\n*:*:*:*:e\nshort:1\n";
    let (_dir, path) = file(0o600, list);
    let password = |text| completed(text, &[("PGPASSFILE", &path)]).unwrap().password;
    assert_eq!(password("postgres://me@/shop"), Some(Password::new("b:c\\d".into())));
    assert_eq!(password("postgres://me@other/shop"), Some(Password::new("a".into())));
    assert_eq!(password("postgres://you@/shop"), Some(Password::new("e".into())));
}

#[test]
fn a_file_that_others_can_read_is_not_used() {
    for mode in [0o640, 0o604, 0o644] {
        let (_dir, path) = file(mode, "canary");
        for (text, variables) in [
            (format!("postgres://me@/shop?password_file={path}"), vec![]),
            ("postgres://me@/shop".to_owned(), vec![("PGPASSFILE", path.as_str())]),
        ] {
            let trouble = completed(&text, &variables).unwrap_err();
            assert!(trouble.kind == TroubleKind::Host && trouble.to_string().contains("chmod 0600"), "{trouble}");
            assert!(!trouble.to_string().contains("canary"));
        }
    }
    let (dir, _) = file(0o600, "");
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    for path in [dir.path(), &pipe] {
        let trouble = completed(&format!("postgres://me@/shop?password_file={}", path.display()), &[]).unwrap_err();
        assert!(trouble.kind == TroubleKind::Host && trouble.to_string().contains("not a regular file"), "{trouble}");
    }
    let trouble = completed("postgres://me@/shop?password_file=/no/such", &[]).unwrap_err();
    assert!(trouble.kind == TroubleKind::Host && trouble.to_string().contains("/no/such cannot be read"), "{trouble}");
}
