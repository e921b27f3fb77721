//! The kernel's command line, `/proc/cmdline` (`Documentation/admin-guide/kernel-parameters.rst`).

use super::Root;

/// The value of the last `name=` argument.
pub fn argument(root: &Root, name: &str) -> Option<String> {
    let line = root.read("proc/cmdline").ok()?;
    let mut words = line.split_whitespace().rev();
    words.find_map(|word| word.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
}
