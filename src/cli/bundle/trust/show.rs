//! Shows the root that a device would hold.

use super::files;
use crate::cli::{exit::Failure, say::outln};
use std::path::PathBuf;
use update::trust::Purpose;

pub(super) fn run(paths: &[PathBuf]) -> Result<(), Failure> {
    let roots = files::chain(paths)?;
    let file = roots.file();
    outln!("product  {}, version {}", file.product, file.version);
    outln!("created  {}\nexpires  {}", files::shown(file.created), files::shown(file.expires));
    for purpose in [Purpose::Root, Purpose::Release, Purpose::Channel] {
        let role = roots.role(purpose);
        outln!("{:8} {} of", purpose.name(), role.threshold);
        role.keys.iter().for_each(|key| outln!("         {key}"));
    }
    Ok(())
}
