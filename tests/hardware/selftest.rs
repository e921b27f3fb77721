//! `hardware --selftest`, which the package raspi-mcp-selftest installs as `raspi-mcp-selftest`: the contract on the machine as it is,
//! and a report of 80 columns to send in (docs/hardware.md). What is not there, not named or cannot be tried is said so, each by a word of
//! its own, and is never counted as proven.

use crate::contract::hardware::{
    Assertion, Lacking, all,
    hand::look::{line, names},
    here::Named,
    try_on,
};
use std::{
    cell::RefCell,
    panic::{self, AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    time::SystemTime,
};

/// The width of a report: that of a terminal and of a mail.
const WIDTH: usize = 80;

/// The manual page is made of it as well (ci/selftest).
const HELP: &str = include_str!("../../dist/selftest/help.txt");

/// What names something, as [`Named::take`] knows it.
const OPTIONS: &[&str] = &["--chip", "--pins", "--wires", "--i2c", "--spi", "--serial", "--onewire"];

/// What the contracts of a file are about.
struct Part {
    name: &'static str,
    /// The beginning of names in a folder by which the kernel shows such hardware.
    shown: Option<(&'static str, &'static str)>,
    /// What a person would name for it.
    options: &'static [&'static str],
}

const PARTS: &[Part] = &[
    Part { name: "exists", shown: None, options: &[] },
    Part { name: "seen", shown: None, options: &[] },
    Part { name: "gpio", shown: Some(("/dev", "gpiochip")), options: &["pins", "wires"] },
    Part { name: "button", shown: Some(("/dev", "gpiochip")), options: &["pins", "wires"] },
    Part { name: "i2c", shown: Some(("/dev", "i2c-")), options: &["i2c"] },
    Part { name: "spi", shown: Some(("/dev", "spidev")), options: &["spi"] },
    Part { name: "onewire", shown: Some(("/sys/bus/w1/devices", "28-")), options: &["onewire"] },
    Part { name: "serial", shown: Some(("/dev", "serial")), options: &["serial"] },
    Part { name: "camera", shown: Some(("/dev", "video")), options: &[] },
    Part { name: "pwm", shown: Some(("/sys/class/pwm", "pwmchip")), options: &[] },
    Part { name: "sensors", shown: None, options: &[] },
    Part { name: "killed", shown: Some(("/sys/class/pwm", "pwmchip")), options: &[] },
];

impl Part {
    fn of(assertion: &Assertion) -> &'static Self {
        let name = assertion.name.split("::").next().unwrap_or_default();
        PARTS.iter().find(|part| part.name == name).unwrap_or_else(|| panic!("{name} is no part of the selftest"))
    }

    /// Why a contract of it does not apply here.
    fn lacking(&self, named: &[String]) -> Verdict {
        let is_named = |option: &&str| named.iter().any(|each| each == option);
        match self.shown {
            None => Verdict::NotThere,
            _ if !self.options.is_empty() && self.options.iter().all(is_named) => Verdict::NotTried,
            Some((folder, beginning)) if names(folder, beginning).is_empty() => Verdict::NotThere,
            _ if self.options.is_empty() => Verdict::NotTried,
            _ => Verdict::NotNamed,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Proven,
    Failed,
    NotThere,
    NotNamed,
    NotTried,
}

const VERDICTS: [(Verdict, &str); 5] = [
    (Verdict::Proven, "proven"),
    (Verdict::Failed, "FAILED"),
    (Verdict::NotThere, "not there"),
    (Verdict::NotNamed, "not named"),
    (Verdict::NotTried, "not tried"),
];

impl Verdict {
    fn word(self) -> &'static str {
        VERDICTS.iter().find(|(verdict, _)| *verdict == self).expect("each has a word").1
    }
}

thread_local! {
    /// What the last panic of this thread said.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs it. Its arguments are those behind `--selftest`.
pub fn run(mut args: impl Iterator<Item = String>) -> ExitCode {
    let (mut named, mut options, mut words, mut list) = (Named::default(), Vec::new(), Vec::new(), false);
    while let Some(arg) = args.next() {
        let taken = match arg.as_str() {
            "-h" | "--help" => {
                print!("{HELP}");
                return ExitCode::SUCCESS;
            }
            "-V" | "--version" => {
                println!("raspi-mcp-selftest {}", env!("CARGO_PKG_VERSION"));
                return ExitCode::SUCCESS;
            }
            "--list" => {
                list = true;
                Ok(())
            }
            option if option.starts_with('-') => {
                let what = option.trim_start_matches('-').to_owned();
                let taken = match args.next() {
                    _ if !OPTIONS.contains(&option) => Err("there is no such option".to_owned()),
                    Some(value) => named.take(&what, &value),
                    None => Err("its value is missing".to_owned()),
                };
                options.push(what);
                taken
            }
            word => {
                words.push(word.to_owned());
                Ok(())
            }
        };
        if let Err(fault) = taken {
            return refused(&format!("{arg}: {fault}"));
        }
    }
    if let Err(fault) = named.check() {
        return refused(&fault);
    }
    if let Some(fault) = named.missing() {
        return refused(&fault);
    }
    let is_wanted = |assertion: &&Assertion| words.is_empty() || words.iter().any(|word| assertion.name.contains(word));
    let wanted: Vec<&Assertion> = all().filter(is_wanted).collect();
    if wanted.is_empty() {
        return refused(&format!("no contract has \"{}\" in its name", words.join("\" or \"")));
    }
    if list {
        wanted.iter().for_each(|assertion| println!("{}", assertion.name));
        return ExitCode::SUCCESS;
    }
    head(&named);
    let verdicts = tried(&wanted, &named.board(), &options);
    totals(&verdicts);
    if verdicts.contains(&Verdict::Failed) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn refused(fault: &str) -> ExitCode {
    eprintln!("raspi-mcp-selftest: {fault}\nNothing was tried. See raspi-mcp-selftest --help");
    ExitCode::from(2)
}

/// Prints a line for each contract as soon as it is known, and what a failed one said.
fn tried(wanted: &[&Assertion], board: &str, options: &[String]) -> Vec<Verdict> {
    panic::set_hook(Box::new(|info| SAID.set(info.to_string())));
    let mut part = "";
    let verdict = |assertion: &&Assertion| {
        let this = Part::of(assertion);
        if this.name != part {
            part = this.name;
            println!("\n{part}");
        }
        let verdict = match catch_unwind(AssertUnwindSafe(|| try_on(board, assertion))) {
            Ok(Ok(())) => Verdict::Proven,
            Ok(Err(Lacking)) => this.lacking(options),
            Err(_) => Verdict::Failed,
        };
        let name = assertion.name.split_once("::").map_or(assertion.name, |(_, name)| name);
        print!("{}", wrapped(&format!("  {:<11}", verdict.word()), &name.replace('_', " ")));
        if verdict == Verdict::Failed {
            print!("{}", wrapped("             ", &SAID.take()));
        }
        verdict
    };
    let verdicts = wanted.iter().map(verdict).collect();
    drop(panic::take_hook());
    verdicts
}

fn head(named: &Named) {
    let release =
        line("/etc/os-release").and_then(|_| std::fs::read_to_string("/etc/os-release").ok()).unwrap_or_default();
    let system = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map(|name| name.trim_matches('"').to_owned());
    let dmi = || line("/sys/class/dmi/id/product_name").map(|name| format!("no device tree; {name}"));
    let kernel = rustix::system::uname();
    let kernel = [kernel.release(), kernel.machine()].map(|text| text.to_string_lossy().into_owned()).join(" ");
    let words = named.board();
    let words = words.split_once(' ').map_or("nothing: no pin is written to, no bus is asked", |(_, words)| words);
    println!("raspi-mcp-selftest: the hardware contract of raspi-mcp\n");
    for (what, value) in [
        ("program", format!("raspi-mcp {}", env!("CARGO_PKG_VERSION"))),
        ("board", line("/proc/device-tree/model").or_else(dmi).unwrap_or_else(|| "no device tree".to_owned())),
        ("kernel", kernel),
        ("system", system.unwrap_or_else(|| "no /etc/os-release".to_owned())),
        ("date", base::clock::stamp(SystemTime::now().into())),
        ("user", user()),
        ("named", words.to_owned()),
        ("no access", no_access()),
    ] {
        print!("{}", wrapped(&format!("{what:<11}"), &value));
    }
}

fn user() -> String {
    let uid = rustix::process::geteuid();
    if uid.is_root() { "root".to_owned() } else { format!("number {}", uid.as_raw()) }
}

/// Devices that are there, and that this user may not open: contracts about them say that they are not there.
fn no_access() -> String {
    let kinds = ["gpiochip", "i2c-", "spidev"];
    let paths =
        kinds.iter().flat_map(|kind| names("/dev", kind).into_iter().map(move |end| format!("/dev/{kind}{end}")));
    let closed: Vec<String> = paths
        .filter(|path| rustix::fs::access(path, rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK).is_err())
        .collect();
    if closed.is_empty() {
        "to no device that was looked for".to_owned()
    } else {
        format!("{}: run it as root", closed.join(" "))
    }
}

fn totals(verdicts: &[Verdict]) {
    let count = |wanted: Verdict| verdicts.iter().filter(|verdict| **verdict == wanted).count();
    let counts = VERDICTS.map(|(verdict, word)| format!("{} {word}", count(verdict)));
    println!("\ntotal: {}", counts.join(", "));
}

/// The text in lines of [`WIDTH`] columns at most, what is behind the first indented as far as the heading goes. Control characters
/// are blanks.
fn wrapped(heading: &str, text: &str) -> String {
    let (indent, room) = (" ".repeat(heading.len()), WIDTH - heading.len());
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(|each: char| each.is_whitespace() || each.is_control()).filter(|word| !word.is_empty()) {
        let mut rest: Vec<char> = word.chars().collect();
        while !rest.is_empty() {
            let used = line.chars().count();
            let gap = usize::from(used > 0);
            if used + gap + rest.len() > room && used > 0 {
                lines.push(std::mem::take(&mut line));
                continue;
            }
            line.push_str(&" ".repeat(gap));
            let part: String = rest.drain(..rest.len().min(room)).collect();
            line.push_str(&part);
        }
    }
    lines.push(line);
    let starts = std::iter::once(heading).chain(std::iter::repeat(indent.as_str()));
    starts.zip(&lines).map(|(start, line)| format!("{}\n", format!("{start}{line}").trim_end())).collect()
}
