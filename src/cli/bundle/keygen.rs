//! `raspi-mcp bundle keygen`

use super::files;
use crate::cli::{
    exit::{Exit, Failure},
    say::outln,
};
use base::base64url;
use std::path::PathBuf;
use update::{bundle::Digest, trust::SecretKey};

#[derive(clap::Args)]
pub struct Args {
    /// The name of the files: NAME.key is the secret key (mode 0600), NAME.pub the public key
    #[arg(value_name = "NAME")]
    name: PathBuf,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let der = SecretKey::generate().map_err(|problem| Failure::new(Exit::Failed, problem))?;
    let public = SecretKey::from_pkcs8(&der).map_err(|problem| Failure::new(Exit::Failed, problem))?.public();
    let file = |end: &str| PathBuf::from(format!("{}.{end}", args.name.display()));
    let (secret, open) = (file("key"), file("pub"));
    if open.exists() {
        return Err(files::failed(&open, "is there already; take another name, or move it away"));
    }
    let letters = base64url::standard(&der);
    let lines: String =
        letters.as_bytes().chunks(64).map(|line| format!("{}\n", String::from_utf8_lossy(line))).collect();
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{lines}-----END PRIVATE KEY-----\n");
    files::create_with(&secret, 0o600, pem.as_bytes())?;
    files::create_with(&open, 0o644, format!("{}\n", Digest(public.0)).as_bytes())?;
    outln!("secret  {}\npublic  {}\nid      {}", secret.display(), open.display(), public.id());
    Ok(())
}
