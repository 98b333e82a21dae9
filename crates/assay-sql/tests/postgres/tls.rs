//! Encrypted connections: the server proves who it is, or nothing is sent to it.

use crate::bed::{Bed, Cluster};
use crate::driven::is_driven_over;
use crate::shared::{certificate, port};
use assay_sql::postgres::gate::Permit;
use assay_sql::{Host, PostgresUrl, Tls, TroubleKind};
use std::process::Command;

/// With a cluster of its own, which listens on this host.
#[test]
fn a_certificate_must_be_trusted_and_name_the_host() {
    let Some(cluster) = Cluster::make("") else { return };
    let cluster: &'static Cluster = Box::leak(Box::new(cluster));
    let bed = Bed::of(cluster);
    let (dir, port) = (&cluster.dir, port());
    for signer in ["root", "other"] {
        certificate(dir, signer, "basicConstraints=critical,CA:TRUE", None);
    }
    certificate(dir, "server", "subjectAltName=DNS:localhost", Some("root"));
    let key = dir.join("server.key");
    let owned = Command::new("chown").arg("--reference").arg(dir).arg(&key).status().unwrap();
    assert!(owned.success());
    let at = |name: &str| dir.join(name).display().to_string();
    let listens = format!("-c listen_addresses=127.0.0.1 -c port={port}");
    let url = |host: &str, roots: &str, tls: Option<Tls>| PostgresUrl {
        host: Host::Network(host.into()),
        port,
        tls,
        roots: Some(dir.join(roots)),
        ..bed.url()
    };
    cluster.restart(port, &listens);
    let trouble = Permit::to_load(&url("localhost", "root.crt", Some(Tls::Verify))).unwrap_err();
    assert!(trouble.kind == TroubleKind::Host && trouble.to_string().contains("has no encryption"), "{trouble}");
    Permit::to_load(&url("localhost", "root.crt", None)).unwrap();
    let (certificate, key) = (at("server.crt"), key.display().to_string());
    cluster.restart(port, &format!("{listens} -c ssl=on -c ssl_cert_file={certificate} -c ssl_key_file={key}"));
    let permit = Permit::to_load(&url("localhost", "root.crt", Some(Tls::Verify))).unwrap();
    let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND datname = 'shop'";
    assert_eq!(bed.ask(encrypted), "1");
    drop(permit);
    is_driven_over(&bed, &url("localhost", "root.crt", Some(Tls::Verify)));
    for (host, roots, says) in [
        ("localhost", "other.crt", "invalid peer certificate"),
        ("127.0.0.1", "root.crt", "invalid peer certificate"),
        ("localhost", "server.key", "no certificate is trusted"),
        ("localhost", "missing.crt", "holds no certificates"),
    ] {
        let trouble = Permit::to_load(&url(host, roots, Some(Tls::Verify))).unwrap_err();
        assert!(trouble.kind == TroubleKind::Host && trouble.to_string().contains(says), "{host} {roots}: {trouble}");
    }
    let socket = PostgresUrl { tls: Some(Tls::Verify), ..bed.url() };
    assert_eq!(Permit::to_load(&socket).unwrap_err().kind, TroubleKind::Usage);
}
