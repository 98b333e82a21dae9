//! `assay verify`: checks whether a certificate agrees with its log, and whether it was a certification.

use crate::stdout::{print_document, print_json};
use assay_run::certificate::signing;
use assay_run::certificate::{LARGEST, Standing, examine_certificate};
use assay_run::failure::{Failure, escaped_path, one_line};
use assay_run::files;
use std::path::{Path, PathBuf};

/// `assay verify`
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Exit codes:
  0 a certification, passed   1 a certification, failed   2 not to be trusted
  3 authentic, but not a certification: simulated, quick, too short, with an overridden safety rule,
    cut short, INVALID, or of another workload

Without --key, anyone who can write both files can forge them; sign the run with --sign and check with --key.")]
pub(crate) struct Verify {
    /// The verdict.json of a run, or its run directory
    pub certificate: PathBuf,
    /// The log of the run [default: run.jsonl next to the certificate]
    pub log: Option<PathBuf>,
    /// Require a valid signature by this minisign public key, given as the key or as a file that holds it. The signature is
    /// read from verdict.json.minisig next to the certificate
    #[arg(long, value_name = "PUBKEY")]
    pub key: Option<String>,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
}

/// Answers in words and by the exit code; what cannot be read is not to be trusted either.
pub(crate) fn verify_certificate(args: &Verify) -> Result<u8, Failure> {
    let certificate =
        if args.certificate.is_dir() { args.certificate.join("verdict.json") } else { args.certificate.clone() };
    let log = args.log.clone().unwrap_or_else(|| certificate.with_file_name("run.jsonl"));
    let key = args.key.as_deref().map(signing::public_key).transpose()?;
    let signed = signing::signature_path(&certificate);
    let standing = certificate_standing(&certificate, &assay_run::log::rundir::log_in(&log), key.as_ref(), &signed);
    let standing = standing.unwrap_or_else(Standing::Untrusted);
    let signature = match (&key, &standing) {
        (Some(_), Standing::Untrusted(_)) => "asked for",
        (Some(_), _) => "valid",
        (None, _) if signed.exists() => "not checked",
        (None, _) => "none",
    };
    print_standing(args, &standing, signature)?;
    Ok(standing.exit_code())
}

fn certificate_standing(
    certificate: &Path,
    log: &Path,
    key: Option<&signing::PublicKey>,
    signed: &Path,
) -> Result<Standing, String> {
    let bytes = read_file(certificate)?;
    if let Some(key) = key {
        let text = files::read_text(signed, signing::LARGEST).map_err(|e| format!("{}: {e}", escaped_path(signed)))?;
        signing::check_signature(key, &text, &bytes)?;
    }
    if let (Some(key), Some(signer)) = (key, assay_run::certificate::claimed_signer(&bytes)) {
        let named = signing::id_of(key);
        if signer != named {
            return Err(format!("it says that key {signer} signs it, but --key is key {named}"));
        }
    }
    let log = files::open_named_file(log).map_err(|e| format!("the log {}: {e}", escaped_path(log)))?;
    Ok(examine_certificate(&bytes, log))
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    files::read_file(path, LARGEST).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => format!(
            "{}: there is no certificate: an interrupted run has none until it is resumed; `assay judge` reads its log",
            escaped_path(path)
        ),
        _ => format!("{}: {e}", escaped_path(path)),
    })
}

fn print_standing(args: &Verify, standing: &Standing, signature: &str) -> Result<(), Failure> {
    let (word, why): (&str, &str) = match standing {
        Standing::Pass => {
            ("pass", "a certification that passed; judging its log again gives the same result, byte for byte")
        }
        Standing::Fail => {
            ("fail", "a certification that failed; judging its log again gives the same result, byte for byte")
        }
        Standing::Record(why) => ("record", why),
        Standing::Untrusted(why) => ("untrusted", why),
    };
    if args.json {
        return print_json(&serde_json::json!({
            "schema": 1, "standing": word, "reason": why, "signature": signature,
        }));
    }
    let path: PathBuf = args.certificate.clone();
    let head = match standing {
        Standing::Pass => "PASS",
        Standing::Fail => "FAIL",
        Standing::Record(_) => "authentic, but not a certification",
        Standing::Untrusted(_) => "not to be trusted",
    };
    let mut text = format!("{}: {head}: {}\n", escaped_path(&path), one_line(why));
    text += match signature {
        "none" => {
            "signature: none; anyone who can write both files can forge them; sign the run with --sign and check it with --key\n"
        }
        "not checked" => "signature: not checked; give the signer's public key with --key\n",
        "valid" => "signature: valid\n",
        _ => "",
    };
    print_document(&text);
    Ok(())
}
