//! What this system itself uses a serial port for: a console of the kernel, a terminal of somebody who is logged in.

use base::os::Root;

/// The terminal behind a name below `/dev`, which may be a link: `serial0` is `ttyAMA0`.
pub fn terminal(root: &Root, name: &str) -> Option<String> {
    let (dev, path) = (root.path("dev").canonicalize().ok()?, root.path(&format!("dev/{name}")).canonicalize().ok()?);
    Some(path.strip_prefix(dev).ok()?.to_str()?.to_owned())
}

/// Why the kernel needs that terminal.
pub fn console(root: &Root, terminal: &str) -> Option<String> {
    let active = root.line("sys/class/tty/console/active").ok()?;
    active.split_whitespace().any(|one| one == terminal).then(|| "a console of the kernel".into())
}

/// The process whose terminal the device with that number is: a login prompt, a shell. `/proc/PID/stat` has the number in
/// its seventh field (proc_pid_stat(5)).
pub fn session(root: &Root, major: u32, minor: u32) -> Option<String> {
    // A process without a terminal has the number 0 there.
    if major == 0 {
        return None;
    }
    let number = i64::from((minor & 0xfff00) << 12 | major << 8 | minor & 0xff);
    let numeric = root.names("proc").ok()?.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    numeric.map(|pid| (root.read(&format!("proc/{pid}/stat")).unwrap_or_default(), pid)).find_map(|(stat, pid)| {
        // The name is in brackets and may have anything in it.
        let (start, rest) = stat.rsplit_once(')')?;
        let terminal: i64 = rest.split_whitespace().nth(4)?.parse().ok()?;
        let name = start.split_once('(')?.1;
        (terminal == number).then(|| format!("the terminal of {name} (process {pid})"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_prompt_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path().join("proc");
        for (pid, stat) in [
            ("1", "1 (systemd) S 0 1 1 0 -1 4194560"),
            ("412", "412 (agetty (x)) S 1 412 412 52288 412 4194560"),
            ("900", "rubbish"),
        ] {
            std::fs::create_dir_all(proc.join(pid)).unwrap();
            std::fs::write(proc.join(pid).join("stat"), stat).unwrap();
        }
        let root = Root::at(folder.path());
        // 52288 is 204 * 256 + 64: the first PL011.
        assert_eq!(session(&root, 204, 64).as_deref(), Some("the terminal of agetty (x) (process 412)"));
        assert_eq!((session(&root, 204, 65), session(&root, 0, 0)), (None, None));
    }
}
