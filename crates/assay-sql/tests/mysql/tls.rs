//! Encrypted connections: the server proves who it is, or nothing is sent to it.

use crate::bed::{Bed, Server};
use crate::driven::is_driven_over;
use crate::shared::{certificate, port};
use assay_sql::mysql::gate::Permit;
use assay_sql::{Host, MysqlUrl, Tls, TroubleKind};
use std::process::Command;

/// On a server of its own, which listens on this host.
#[test]
fn a_certificate_must_be_trusted_and_name_the_host() {
    let port = port();
    let listens = format!("--port={port} --bind-address=127.0.0.1 --skip-ssl");
    let Some(server) = Server::make(&listens) else { return };
    let bed = Bed::of(server);
    bed.ask_server("CREATE USER far@'localhost'; GRANT ALL ON shop.* TO far@'localhost'");
    let dir = &bed.server.dir;
    for signer in ["root", "other"] {
        certificate(dir, signer, "basicConstraints=critical,CA:TRUE", None);
    }
    certificate(dir, "server", "subjectAltName=DNS:localhost", Some("root"));
    let key = dir.join("server.key");
    let owned = Command::new("chown").arg("--reference").arg(dir).arg(&key).status().unwrap();
    assert!(owned.success());
    let url = |host: &str, roots: &str, tls: Option<Tls>| MysqlUrl {
        host: Host::Network(host.into()),
        port,
        tls,
        roots: Some(dir.join(roots)),
        ..bed.url_as("far")
    };
    let trouble = Permit::to_load(&url("localhost", "root.crt", Some(Tls::Verify))).unwrap_err();
    assert!(trouble.kind == TroubleKind::Host && trouble.to_string().contains("has no encryption"), "{trouble}");
    Permit::to_load(&url("localhost", "root.crt", None)).unwrap();
    let certificate = dir.join("server.crt").display().to_string();
    let listens =
        format!("--port={port} --bind-address=127.0.0.1 --ssl-cert={certificate} --ssl-key={}", key.display());
    bed.server.restart(&listens);
    bed.ask_server("ALTER USER far@'localhost' REQUIRE SSL");
    let permit = Permit::to_load(&url("localhost", "root.crt", Some(Tls::Verify))).unwrap();
    drop(permit);
    is_driven_over(&bed, &url("localhost", "root.crt", Some(Tls::Verify)));
    let trouble = Permit::to_load(&url("localhost", "root.crt", None)).unwrap_err();
    assert!(trouble.to_string().contains("does not let the user far in"), "without encryption: {trouble}");
    for (host, roots, says) in [
        ("localhost", "other.crt", "invalid peer certificate"),
        ("127.0.0.1", "root.crt", "invalid peer certificate"),
        ("localhost", "server.key", "no certificate is trusted"),
        ("localhost", "missing.crt", "holds no certificates"),
    ] {
        let trouble = Permit::to_load(&url(host, roots, Some(Tls::Verify))).unwrap_err();
        assert!(trouble.kind == TroubleKind::Host && trouble.to_string().contains(says), "{host} {roots}: {trouble}");
    }
    let socket = MysqlUrl { tls: Some(Tls::Verify), ..bed.url() };
    assert_eq!(Permit::to_load(&socket).unwrap_err().kind, TroubleKind::Usage);
}
