//! Which parts run: `ci/test.d/plan.py` on a small repository of its own.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

const INPUTS: &str = r#"
[groups]
texts = ["*.md", "docs/**", "ci/passed.toml"]
harness = ["ci/test.d/**", "ci/inputs.toml", "ci/parts/*"]
program = ["src/*.rs", "src/[!t]*/**", "schemas/**"]
guest = ["ci/guest/**"]

[packages]

[always]
tests = ["program", "texts"]
lint = ["harness"]

[by_inputs.qemu]
reads = ["program", "guest"]
tools = "named"

[by_inputs.release]
reads = ["guest"]
tools = "none"
"#;

/// A repository with two parts of every run and two that run by their inputs; `qemu` calls gpio.read_pin.
struct Repository {
    root: TempDir,
}

impl Repository {
    fn new() -> Self {
        let new = Self { root: TempDir::new().expect("a folder") };
        new.write("ci/inputs.toml", INPUTS);
        for part in ["tests", "lint", "qemu", "release"] {
            new.write(&format!("ci/parts/{part}"), "#!/bin/sh\n");
        }
        new.write("docs/ci.md", "| tests | all | 1:00 | 0:30 |\n| lint | all | 1:00 | 0:30 |\n| qemu | all | 30:00 | 19:45 |\n| release | all | 1:00 | 0:10 |\n");
        new.write("src/main.rs", "fn main() {}\n");
        new.write("src/tools/mod.rs", "mod gpio;\n");
        new.write("src/tools/gpio/read_pin.rs", "// reads\n");
        new.write("src/tools/i2c/scan.rs", "// scans\n");
        new.write("schemas/gpio/read_pin.json", "{}\n");
        new.write("schemas/i2c/scan.json", "{}\n");
        new.write("ci/guest/story.py", "call(\"gpio.read_pin\")\n");
        new.git(&["init", "--quiet"]);
        new.commit();
        new
    }

    fn path(&self, file: &str) -> PathBuf {
        self.root.path().join(file)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    fn git(&self, arguments: &[&str]) {
        let who = ["-c", "user.name=ci", "-c", "user.email=ci@example.org"];
        let done = Command::new("git").current_dir(self.root.path()).args(who).args(arguments).status().expect("git");
        assert!(done.success(), "git {arguments:?}");
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "A change"]);
    }

    fn plan(&self, arguments: &[&str]) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/test.d/plan.py");
        // A test may have programs of its own instead of apt's.
        let path = format!("{}:{}", self.path("build/bin").display(), std::env::var("PATH").expect("a PATH"));
        let run = Command::new("python3")
            .env("PATH", path)
            .arg("-B")
            .arg(script)
            .args(arguments)
            .env("RASPI_MCP_PLAN_ROOT", self.root.path())
            .output()
            .expect("python3");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).expect("text")
    }

    /// Every part that a run would do, and why the others are left out.
    fn runs(&self) -> Vec<String> {
        let plan = self.plan(&["complete"]);
        let rows = plan.lines().filter_map(|line| line.strip_prefix("run\t")?.split('\t').next());
        rows.map(str::to_owned).collect()
    }

    fn passed(&self, part: &str) {
        let read = self.plan(&["fingerprint", part]);
        assert_eq!(self.plan(&["passed", part, "7", read.trim()]), "");
    }
}

/// Both long parts have passed.
fn passed() -> Repository {
    let repository = Repository::new();
    repository.passed("qemu");
    repository.passed("release");
    assert_eq!(repository.runs(), ["tests", "lint"]);
    repository
}

#[test]
fn without_a_record_every_part_runs() {
    let repository = Repository::new();
    assert_eq!(repository.runs(), ["tests", "lint", "qemu", "release"]);
    repository.passed("qemu");
    assert_eq!(repository.runs(), ["tests", "lint", "release"]);
    assert!(
        repository.plan(&["complete"]).contains("leave\tqemu\tnothing that it reads has changed since it passed on 2")
    );
}

#[test]
fn a_part_runs_again_when_what_it_reads_has_changed_and_says_what() {
    for (file, text, wanted, why) in [
        ("src/main.rs", "fn main() { todo!() }\n", &["qemu"] as &[&str], "program"),
        ("ci/guest/story.py", "call(\"gpio.read_pin\", pin=4)\n", &["qemu", "release"], "guest"),
        ("ci/guest/new.py", "\n", &["qemu", "release"], "guest"),
        ("ci/parts/release", "#!/bin/sh\ntrue\n", &["release"], "script"),
        ("src/tools/gpio/read_pin.rs", "// reads twice\n", &["qemu"], "tools"),
        // A folder that is no namespace may be everybody's.
        ("src/tools/shared/mod.rs", "\n", &["qemu"], "tools"),
    ] {
        let repository = passed();
        repository.write(file, text);
        let mut all = vec!["tests", "lint"];
        all.extend(wanted);
        assert_eq!(repository.runs(), all, "{file}");
        let plan = repository.plan(&["complete"]);
        let last = wanted.last().expect("a part");
        let row = plan.lines().find(|line| line.starts_with(&format!("run\t{last}\t"))).expect("its row");
        assert!(row.contains("changed since it passed on 2") && row.ends_with(why), "{file}: {row}");
    }
}

#[test]
fn a_file_that_was_removed_has_changed() {
    let repository = passed();
    fs::remove_file(repository.path("ci/guest/story.py")).expect("removed");
    assert_eq!(repository.runs(), ["tests", "lint", "qemu", "release"]);
}

#[test]
fn what_no_part_reads_has_none_run_and_a_file_that_nobody_knows_has_all() {
    let repository = passed();
    repository.write("docs/new.md", "# New\n");
    repository.write("src/tools/i2c/scan.rs", "// no story calls it\n");
    assert_eq!(repository.runs(), ["tests", "lint"]);
    repository.write("Makefile", "all:\n");
    assert_eq!(repository.runs(), ["tests", "lint", "qemu", "release"]);
}

#[test]
fn a_story_that_names_another_tool_reads_its_namespace() {
    let repository = passed();
    repository.write("ci/guest/story.py", "call(\"i2c_scan\")\n");
    repository.passed("qemu");
    repository.passed("release");
    repository.write("src/tools/gpio/read_pin.rs", "// nobody calls it now\n");
    assert_eq!(repository.runs(), ["tests", "lint"]);
    repository.write("src/tools/i2c/scan.rs", "// scans twice\n");
    assert_eq!(repository.runs(), ["tests", "lint", "qemu"]);
}

#[test]
fn what_changed_while_a_part_ran_is_not_recorded() {
    let repository = Repository::new();
    let read = repository.plan(&["fingerprint", "qemu"]);
    repository.write("src/main.rs", "fn main() { todo!() }\n");
    let said = repository.plan(&["passed", "qemu", "7", read.trim()]);
    assert_eq!(said, "qemu: not recorded, since its inputs changed while it ran\n");
    assert!(!repository.path("ci/passed.toml").exists());
    // Nor is a part of every run.
    assert_eq!(repository.plan(&["passed", "tests", "7", "{}"]), "");
    assert!(!repository.path("ci/passed.toml").exists());
}

#[test]
fn versions_that_nobody_knows_have_a_part_run() {
    let repository = passed();
    repository.write(
        "ci/inputs.toml",
        &INPUTS
            .replace("[packages]", "[packages]\ncross = [\"gcc\"]")
            .replace("tools = \"none\"", "tools = \"none\"\npackages = [\"cross\"]"),
    );
    let plan = repository.plan(&["complete"]);
    assert!(
        plan.contains("run\trelease\tits inputs cannot be told: there are no lists of Debian's packages"),
        "{plan}"
    );
    assert!(plan.contains("leave\tqemu\t"), "{plan}");
}

/// What apt-cache prints of two packages: the versions of the kernel in the stable suite and in backports, and the ones of busybox that
/// would be installed and that backports have.
fn archive(repository: &Repository, kernel: [&str; 2], busybox: [&str; 2]) {
    repository.write("build/apt/sources.list", "");
    repository.write("build/bin/dpkg", "#!/bin/sh\necho amd64\n");
    let [stable, newest] = kernel;
    let madison = [newest, stable]
        .map(|version| format!("linux-image:arm64 | {version} | http://example.org main arm64 Packages"));
    let [installed, backports] = busybox;
    let policy = format!(
        "busybox:arm64:\n  Installed: (none)\n  Candidate: {installed}\n  Version table:\n     {backports} 100\n     {installed} 500"
    );
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*madison*) cat <<'EOF'\n{}\nEOF\n;;\n*) cat <<'EOF'\n{policy}\nEOF\n;;\nesac\n",
        madison.join("\n")
    );
    repository.write("build/bin/apt-cache", &script);
    for program in ["dpkg", "apt-cache"] {
        let path = repository.path("build/bin").join(program);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
}

#[test]
fn only_the_version_of_a_package_that_is_used_counts() {
    let repository = Repository::new();
    repository.write(".gitignore", "build\n");
    repository.write(
        "ci/inputs.toml",
        &INPUTS
            .replace("[packages]", "[packages]\nboot = [\"linux-image:arm64/newest\", \"busybox:arm64\"]")
            .replace("tools = \"none\"", "tools = \"none\"\npackages = [\"boot\"]"),
    );
    archive(&repository, ["6.1-1", "6.12-1"], ["1.35-1", "1.36-1"]);
    repository.passed("release");
    repository.passed("qemu");
    for (kernel, busybox, runs) in [
        (["6.1-1", "6.12-1"], ["1.35-1", "1.36-1"], false),
        (["6.1-2", "6.12-1"], ["1.35-1", "1.37-1"], false),
        (["6.1-2", "6.12-2"], ["1.35-1", "1.37-1"], true),
        (["6.1-2", "6.12-1"], ["1.35-2", "1.37-1"], true),
    ] {
        archive(&repository, kernel, busybox);
        assert_eq!(repository.runs().contains(&"release".to_owned()), runs, "{kernel:?} {busybox:?}");
    }
    archive(&repository, ["6.1-2", "6.12-1"], ["(none)", "1.37-1"]);
    let plan = repository.plan(&["complete"]);
    assert!(plan.contains("run\trelease\tits inputs cannot be told: Debian's lists have no busybox:arm64"), "{plan}");
}

#[test]
fn before_a_push_what_the_change_touches_runs_as_long_as_it_fits() {
    let repository = passed();
    repository.commit();
    repository.write("docs/new.md", "# New\n");
    let plan = repository.plan(&["before-push", "HEAD"]);
    assert!(plan.contains("run\ttests\tchanged: texts\n"), "{plan}");
    for left in ["leave\tlint\tthe change is nothing", "leave\tqemu\t", "leave\trelease\t"] {
        assert!(plan.contains(left), "{plan}");
    }
    repository.write("ci/guest/story.py", "call(\"gpio.read_pin\", pin=4)\n");
    let plan = repository.plan(&["before-push", "HEAD"]);
    assert!(plan.contains("leave\tqemu\tno time: 1185 s, 1170 s left; ./ci/test qemu (changed since"), "{plan}");
    assert!(plan.contains("run\trelease\tchanged since"), "{plan}");
}
