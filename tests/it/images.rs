//! The build trees of images, `meta-raspi-mcp` and `buildroot-external`: both install what `dist/` has, make the accounts it names and the
//! card it lays out, and build exactly what is locked. `ci/parts/trees` reads them with their build systems' own parsers.

use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const RECIPE: &str = "meta-raspi-mcp/recipes-raspi-mcp/raspi-mcp";
const PACKAGE: &str = "buildroot-external/package/raspi-mcp";
/// Of `dist/`, what is not for the root file system: Debian's packaging, the package of the selftest, examples for people, the boot script of partition 1, the initramfs, and
/// what the program is linked by.
const ELSEWHERE: [&str; 7] =
    ["debian/", "selftest/", "examples/", "boot/", "initramfs/", "install", "hot-functions.txt"];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(file: impl AsRef<Path>) -> String {
    let path = here().join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn table(file: &str) -> toml::Table {
    text(file).parse().unwrap()
}

/// Every file below a folder, by its path in there.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(top: &Path, at: &Path, into: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(top, &path, into);
            } else {
                into.insert(path.strip_prefix(top).unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(folder, folder, &mut found);
    assert!(!found.is_empty(), "nothing in {}", folder.display());
    found
}

fn install(arguments: &[&str], root: &Path) -> BTreeMap<String, Vec<u8>> {
    let status = Command::new(here().join("dist/install")).args(arguments).arg(root).status().unwrap();
    assert!(status.success());
    files(root)
}

/// What stands between the quotes after `NAME = "` or `NAME ?= "`, continued lines joined.
fn variable(recipe: &str, name: &str) -> String {
    let (_, after) =
        recipe.split_once(&format!("\n{name} = \"")).unwrap_or_else(|| panic!("the recipe sets no {name}"));
    after.split_once('"').unwrap().0.replace("\\\n", " ")
}

fn recipe() -> String {
    text(format!("{RECIPE}/raspi-mcp_{}.bb", env!("CARGO_PKG_VERSION")))
}

#[test]
fn both_trees_install_all_that_dist_has_for_an_image() {
    let root = tempfile::tempdir().unwrap();
    let installed: BTreeSet<Vec<u8>> = install(&["--slots"], root.path()).into_values().collect();
    let dist = files(&here().join("dist"))
        .into_iter()
        .filter(|(name, _)| !ELSEWHERE.iter().any(|elsewhere| name.starts_with(elsewhere)));
    // The manual: docs/ without its decisions and pictures.
    let manual = files(&here().join("docs"))
        .into_iter()
        .filter(|(name, _)| name.ends_with(".md") && !name.starts_with("decisions/"));
    let wanted: Vec<(String, Vec<u8>)> = dist.chain(manual).collect();
    let missing: Vec<&String> =
        wanted.iter().filter(|(_, bytes)| !installed.contains(bytes)).map(|(name, _)| name).collect();
    assert!(missing.is_empty(), "dist/install leaves out {missing:?}");
    assert_eq!(installed.len(), wanted.len(), "dist/install makes files that are neither in dist/ nor in docs/");

    assert!(recipe().contains("${S}/dist/install --slots ${D}"), "the recipe does not run dist/install");
    let package = text(format!("{PACKAGE}/raspi-mcp.mk"));
    assert!(package.contains("$(@D)/dist/install "), "the Buildroot package does not run dist/install");
}

#[test]
fn an_image_with_one_slot_reaches_no_disk_and_keeps_the_configuration_it_has() {
    let root = tempfile::tempdir().unwrap();
    let own = root.path().join("etc/raspi-mcp/raspi-mcp.toml");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, "board = \"linux\"\n").unwrap();
    let installed = install(&[], root.path());
    assert!(!installed.keys().any(|name| name.ends_with("slots.conf")), "without --slots: {:?}", installed.keys());
    assert_eq!(fs::read_to_string(own).unwrap(), "board = \"linux\"\n");

    // Bad calls change nothing and say how it is called.
    for arguments in [&["--slots"][..], &["/nonexistent/root"], &[]] {
        let output = Command::new(here().join("dist/install")).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("usage:"));
    }
}

#[test]
fn the_recipe_fetches_exactly_the_crates_that_are_locked() {
    let locked: BTreeSet<(String, String)> = table("Cargo.lock")["package"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| package.get("source").is_some())
        .map(|package| {
            let of = |key: &str| package[key].as_str().unwrap().to_owned();
            (format!("{}/{}", of("name"), of("version")), of("checksum"))
        })
        .collect();
    assert!(locked.len() > 50, "only {} crates are locked", locked.len());

    let list = text(format!("{RECIPE}/raspi-mcp-crates.inc"));
    let listed: BTreeSet<(String, String)> = list
        .lines()
        .filter_map(|line| line.trim().strip_prefix("crate://crates.io/"))
        .map(|line| {
            let name = line.trim_end_matches(" \\").to_owned();
            let key = format!("\nSRC_URI[{}.sha256sum] = \"", name.replace('/', "-"));
            let (_, sum) = list.split_once(&key).unwrap_or_else(|| panic!("no checksum of {name}"));
            (name, sum.split_once('"').unwrap().0.to_owned())
        })
        .collect();
    let differ: Vec<_> = locked.symmetric_difference(&listed).map(|(name, _)| name).collect();
    assert!(differ.is_empty(), "Cargo.lock and the recipe differ in {differ:?}: run ./ci/crates-inc");
    assert_eq!(list.matches("sha256sum]").count(), locked.len());
}

#[test]
fn both_trees_build_this_version_as_cargo_toml_says() {
    let package = text(format!("{PACKAGE}/raspi-mcp.mk"));
    assert!(package.contains(&format!("\nRASPI_MCP_VERSION = {}\n", env!("CARGO_PKG_VERSION"))));
    assert!(recipe().contains("\nrequire ${BPN}-crates.inc\n"));

    // Buildroot says all of a profile in the environment, where it overrules Cargo.toml.
    let profile = &table("Cargo.toml")["profile"]["release"];
    for (key, name) in [("opt-level", "OPT_LEVEL"), ("lto", "LTO"), ("codegen-units", "CODEGEN_UNITS")] {
        let value = profile[key].to_string();
        let line = format!("CARGO_PROFILE_RELEASE_{name}={}", value.trim_matches('"'));
        assert!(package.contains(&line), "raspi-mcp.mk has no {line}");
    }

    let hashes = text(format!("{PACKAGE}/raspi-mcp.hash"));
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let hash: String = Sha256::digest(text(licence)).iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(hashes.contains(&format!("sha256  {hash}  {licence}\n")), "raspi-mcp.hash has another {licence}");
    }
    assert_eq!(text("meta-raspi-mcp/COPYING.MIT"), text("LICENSE-MIT"));
}

/// Users with home and groups, and groups.
#[derive(Debug, Default, PartialEq, Eq)]
struct Accounts {
    users: BTreeMap<String, (String, BTreeSet<String>)>,
    groups: BTreeSet<String>,
}

impl Accounts {
    fn user(&mut self, name: &str, home: &str, groups: &str) {
        let groups: BTreeSet<String> =
            groups.split(',').filter(|g| !g.is_empty() && *g != "-").map(str::to_owned).collect();
        self.groups.insert(name.to_owned());
        self.users.insert(name.to_owned(), (home.to_owned(), groups));
    }

    /// sysusers.d(5), as far as ours uses it.
    fn of_dist() -> Self {
        let mut accounts = Self::default();
        for line in
            text("dist/sysusers.d/raspi-mcp.conf").lines().filter(|line| !line.starts_with('#') && !line.is_empty())
        {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[0] {
                "u" => accounts.user(words[1], words.last().unwrap(), ""),
                "g" => drop(accounts.groups.insert(words[1].to_owned())),
                "m" => drop(accounts.users.get_mut(words[1]).unwrap().1.insert(words[2].to_owned())),
                other => panic!("sysusers.d has a line of the kind {other}"),
            }
        }
        accounts
    }

    /// What nobody else makes: `video` and `systemd-journal` are the base system's.
    fn with_the_systems(mut self) -> Self {
        self.groups.extend(["video", "systemd-journal"].map(str::to_owned));
        self
    }
}

#[test]
fn both_trees_make_the_accounts_of_dist() {
    let wanted = Accounts::of_dist();
    assert_eq!(wanted.users.len(), 14, "{wanted:?}");

    let mut yocto = Accounts::default();
    let recipe = recipe();
    for group in variable(&recipe, "GROUPADD_PARAM:${PN}").split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
        let name = group.strip_prefix("--system ").unwrap_or_else(|| panic!("no system group: {group}"));
        yocto.groups.insert(name.trim().to_owned());
    }
    for user in variable(&recipe, "USERADD_PARAM:${PN}").split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
        let words: Vec<&str> = user.split_whitespace().collect();
        let after = |option: &str| words.iter().position(|word| *word == option).map_or("", |at| words[at + 1]);
        let name = words.last().unwrap();
        assert!(words.contains(&"--system") && words.contains(&"--no-create-home"), "{user}");
        assert!(yocto.groups.contains(*name), "useradd wants the group {name} to be there");
        assert_eq!(after("--gid"), *name);
        yocto.user(name, &after("--home-dir").replace("${localstatedir}", "/var"), after("--groups"));
    }
    assert_eq!(yocto, wanted);

    let mut buildroot = Accounts::default();
    let package = text(format!("{PACKAGE}/raspi-mcp.mk"));
    let (_, lines) = package.split_once("define RASPI_MCP_USERS\n").unwrap();
    for line in lines.split_once("endef").unwrap().0.lines() {
        // name, uid, group, gid, password, home, shell, groups, comment; -1: a number of the system's, below 1000 (-2 is a person's).
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((words[1], words[3]), ("-1", "-1"), "{line}");
        match words[0] {
            "-" => drop(buildroot.groups.insert(words[2].to_owned())),
            name => {
                assert_eq!((words[2], words[4], words[6]), (name, "*", "-"), "{line}");
                buildroot.user(name, if words[5] == "-" { "/" } else { words[5] }, words[7]);
                // It makes the groups that somebody is to be in.
                buildroot.groups.extend(words[7].split(',').filter(|g| *g != "-").map(str::to_owned));
            }
        }
    }
    assert_eq!(buildroot, wanted.with_the_systems());
}

/// One block of genimage's configuration: its options as they are written.
fn blocks<'a>(config: &'a str, kind: &str) -> Vec<(&'a str, BTreeMap<&'a str, &'a str>)> {
    let mut found = Vec::new();
    for part in config.split(&format!("\n\t{kind} ")).skip(1) {
        let (name, rest) = part.split_once('{').unwrap();
        let options = rest.split_once("\n\t}").unwrap().0.lines().filter_map(|line| line.trim().split_once(" = "));
        found.push((name.trim(), options.map(|(key, value)| (key, value.trim_matches('"'))).collect()));
    }
    found
}

/// genimage's and wic's sizes: bytes, or with M.
fn bytes(size: &str) -> i64 {
    size.strip_suffix('M').map_or_else(|| size.parse().unwrap(), |mib| mib.parse::<i64>().unwrap() << 20)
}

/// What an image builder puts on a card: raw images by their place, and partitions.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    signature: String,
    raw: Vec<(i64, String)>,
    partitions: Vec<Part>,
}

#[derive(Debug, PartialEq, Eq)]
struct Part {
    kind: String,
    /// What is written to it; none: nothing.
    image: Option<String>,
    /// A number, or whose it is: the board's.
    size: Option<String>,
    bootable: bool,
}

fn genimage() -> Plan {
    let config = text("buildroot-external/board/raspi-mcp/genimage.cfg");
    let (_, disk) = &blocks(&config, "hdimage")[0];
    assert_eq!((disk["partition-table-type"], disk["extended-partition"]), ("mbr", "4"));
    let all = blocks(&config, "partition");
    let (raw, partitions): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, options)| options.get("in-partition-table") == Some(&"false"));
    let own = |value: &&str| (*value).to_owned();
    let names: Vec<String> = partitions.iter().map(|(name, _)| name.replace('-', " ")).collect();
    let layout = table("dist/layout.toml");
    let areas: Vec<String> =
        layout["partition"].as_array().unwrap().iter().map(|p| p["area"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, areas, "in the layout's order");
    assert_eq!(bytes(partitions[0].1["offset"]), layout["first_partition"].as_integer().unwrap());
    Plan {
        signature: own(&disk["disk-signature"]),
        raw: raw.iter().map(|(_, options)| (bytes(options["offset"]), own(&options["image"]))).collect(),
        partitions: partitions
            .iter()
            .map(|(_, options)| Part {
                kind: own(&options["partition-type"]),
                image: options.get("image").map(own),
                size: options.get("size").map(own),
                bootable: options.get("bootable") == Some(&"true"),
            })
            .collect(),
    }
}

/// wic's kickstart file: a line a partition.
fn wks() -> Plan {
    let file = text("meta-raspi-mcp/files/wic/raspi-mcp-ab.wks.in");
    let lines: Vec<Vec<&str>> = file
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_whitespace().collect())
        .collect();
    let after =
        |words: &[&str], option: &str| words.iter().position(|word| *word == option).map(|at| words[at + 1].to_owned());
    let image = |words: &[&str]| {
        let file = after(words, "--sourceparams")
            .or_else(|| words.iter().find_map(|word| word.strip_prefix("--sourceparams=")).map(str::to_owned))?;
        let path = file.trim_matches('"').strip_prefix("file=").unwrap().to_owned();
        Some(path.strip_prefix("${RASPI_MCP_IMAGES}/").unwrap().to_owned())
    };
    assert_eq!(lines[0][..3], ["bootloader", "--ptable", "msdos"]);
    let (raw, partitions): (Vec<_>, Vec<_>) = lines[1..].iter().partition(|words| words.contains(&"--no-table"));
    for words in &partitions {
        assert_eq!(words[0], "part");
        // The root is wic's nowhere: it was made and verified before.
        let source = after(words, "--source").unwrap();
        assert_eq!(source == "rawcopy", image(words).is_some(), "{words:?}");
    }
    assert_eq!(after(partitions[0], "--offset").as_deref(), Some("8M"));
    Plan {
        signature: after(&lines[0], "--diskid").unwrap(),
        raw: raw.iter().map(|words| (bytes(&after(words, "--offset").unwrap()), image(words).unwrap())).collect(),
        partitions: partitions
            .iter()
            .map(|words| Part {
                kind: after(words, "--system-id").unwrap(),
                image: image(words),
                // ${RASPI_MCP_ROOT_SIZE} is ${ROOT_SIZE} of genimage's.
                size: after(words, "--fixed-size").map(|size| size.replace("RASPI_MCP_", "")),
                bootable: words.contains(&"--active"),
            })
            .collect(),
    }
}

#[test]
fn both_trees_make_the_card_of_the_layout() {
    let layout = table("dist/layout.toml");
    let plan = genimage();
    assert_eq!(plan, wks(), "genimage.cfg and the wks file differ");
    assert_eq!(plan.signature, format!("0x{}", layout["disk"].as_str().unwrap()));
    let states: Vec<toml::Value> = plan.raw.iter().map(|(at, _)| (*at).into()).collect();
    assert_eq!(&states, layout["uboot_state"].as_array().unwrap());

    let wanted = layout["partition"].as_array().unwrap();
    assert_eq!(plan.partitions.len(), wanted.len());
    for (part, wanted) in plan.partitions.iter().zip(wanted) {
        assert_eq!(part.kind, format!("0x{}", wanted["type"].as_str().unwrap()), "{part:?}");
        if let Some(size) = wanted.get("size") {
            assert_eq!(bytes(part.size.as_ref().unwrap()), size.as_integer().unwrap(), "{part:?}");
        }
    }
    let numbers: Vec<i64> = wanted.iter().map(|partition| partition["number"].as_integer().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3, 5, 6, 7, 8], "both number them so, with 4 as the extended one");
    // Both slots alike.
    assert_eq!(plan.partitions[1], plan.partitions[2]);
    assert_eq!(plan.partitions[3], plan.partitions[4]);
    assert!(plan.partitions[0].bootable && plan.partitions[1..].iter().all(|part| !part.bootable));
}

/// A board's folder, and what its board.env says.
fn boards() -> BTreeMap<String, BTreeMap<String, String>> {
    let folders = fs::read_dir(here().join("buildroot-external/board/raspi-mcp")).unwrap();
    let folders: Vec<PathBuf> = folders.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    let board = |folder: &PathBuf| {
        let lines = text(folder.join("board.env"));
        let pairs = lines.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("{}: {line}", folder.display()));
            (key.to_owned(), value.trim_matches('"').to_owned())
        });
        (folder.file_name().unwrap().to_str().unwrap().to_owned(), pairs.collect())
    };
    folders.iter().map(board).collect()
}

const TRYBOOT: &str = "[all]\ntryboot_a_b=1\nboot_partition=2\n[tryboot]\nboot_partition=3\n";

#[test]
fn every_board_says_how_it_starts_and_has_the_files_it_names() {
    let boards = boards();
    assert_eq!(boards.keys().collect::<Vec<_>>(), ["qemu-aarch64", "rpi3_64", "rpi4_64", "rpi5"]);
    let keys = [
        "arguments",
        "boot_files",
        "boot_size",
        "chain",
        "config_files",
        "config_size",
        "hardware",
        "min_eeprom",
        "root_size",
    ];
    for (name, env) in &boards {
        assert_eq!(env.keys().filter(|key| *key != "kernel_room").collect::<Vec<_>>(), keys, "{name}");
        let own =
            |file: &str| fs::read_to_string(here().join("buildroot-external/board/raspi-mcp").join(name).join(file));
        let boot: Vec<&str> = env["boot_files"].split_whitespace().collect();
        let config: Vec<&str> = env["config_files"].split_whitespace().collect();
        let arguments = own(&env["arguments"]).unwrap();
        assert!(
            boot.contains(&"Image") && boot.contains(&"initrd") && boot.contains(&env["arguments"].as_str()),
            "{name}"
        );
        assert!(!env["hardware"].is_empty() && bytes(&env["config_size"]) >= 1 << 20, "{name}");
        // The line that is told the root's verity is the last one, and names no root: the initramfs knows it.
        assert!(arguments.ends_with('\n') && !arguments.contains("root="), "{name}");
        let chain: &str = &env["chain"];
        match chain {
            "tryboot" => {
                assert_eq!(config, ["autoboot.txt"], "{name}: firmware on partition 1 is what a walk finds");
                assert_eq!(own("autoboot.txt").unwrap(), TRYBOOT);
                assert_eq!(arguments.lines().count(), 1, "{name}: the firmware reads one line");
                assert!(boot.contains(&"config.txt"));
                let config = own("config.txt").unwrap();
                for line in [
                    "kernel=Image",
                    "initramfs initrd followkernel",
                    "dtparam=watchdog=on",
                    "kernel_watchdog_timeout=60",
                ] {
                    assert!(config.lines().any(|other| other == line), "{name}: config.txt has no {line}");
                }
                assert!(arguments.split_whitespace().any(|word| word == "panic=10"), "{name}");
            }
            "uboot" => {
                assert!(config.contains(&"boot.scr"), "{name}");
                assert!(arguments.starts_with("slot_kernel=Image\nslot_initrd=initrd\nslot_args="), "{name}");
            }
            other => panic!("{name}: nobody starts by {other}"),
        }
        // U-Boot for a Raspberry Pi moves a kernel to 0x00200000 and loads the initramfs at 0x02700000
        // (board/raspberrypi/rpi/rpi.env): what lies between is all that a kernel may take.
        let room = (name.starts_with("rpi") && chain == "uboot").then(|| (0x0270_0000 - 0x0020_0000).to_string());
        assert_eq!(env.get("kernel_room"), room.as_ref(), "{name}");
        if name.starts_with("rpi") {
            let config = own("config.txt").unwrap();
            assert!(config.contains("\ndtparam=watchdog=on\n") && config.contains("\ndtoverlay=ramoops"), "{name}");
        }
        let defconfig = text(format!("buildroot-external/configs/raspi_mcp_{}_defconfig", name.replace('-', "_")));
        assert!(defconfig.contains(&format!("/board/raspi-mcp/{name}\"\n")), "{name}");
        let slots = defconfig.contains("\nBR2_PACKAGE_RASPI_MCP_SLOTS=y\n");
        assert!(
            slots && !defconfig.contains("\nBR2_TARGET_ROOTFS_"),
            "{name}: the root is what fs/slot-root makes, and nothing else"
        );
        // The initramfs binds it; Buildroot's own ways are a tmpfs.
        assert!(defconfig.contains("\nBR2_INIT_SYSTEMD_VAR_NONE=y\n"), "{name}: whose is /var?");
        // Device trees that are put on the card are made.
        for tree in boot.iter().chain(&config).filter_map(|file| file.strip_suffix(".dtb")) {
            assert!(defconfig.contains(&format!("broadcom/{tree}")), "{name}: nobody makes {tree}.dtb");
        }
    }
}

#[test]
fn files_of_a_root_begin_where_blocks_of_an_update_do() {
    let board = |file: &str| text(format!("buildroot-external/board/raspi-mcp/{file}"));
    let (release, root, image) = (board("release.sh"), board("root-image.sh"), board("post-image.sh"));
    let block = release.lines().find_map(|line| line.strip_prefix(": \"${RASPI_MCP_BLOCK:=")?.strip_suffix("}\""));
    let block: u32 = block.expect("release.sh says the size of a block").parse().unwrap();
    assert!(block.is_power_of_two() && (4096..=1 << 20).contains(&block));
    assert!(
        root.contains("\nCLUSTER=$RASPI_MCP_BLOCK\n") && root.contains("bigalloc") && root.contains("-C \"$CLUSTER\"")
    );
    assert!(image.contains("--block-size \"$RASPI_MCP_BLOCK\""));
    assert!(image.contains("\"$images/rootfs.ext4\""));
    // A device computes the hash tree of such a root with the same salt.
    let salt: String = update::bundle::tree::SALT.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(image.contains(&format!("\nSALT={salt}\n")) && image.contains("--no-superblock --hash sha256"));
    // Every builder makes it by that script, and the initramfs mounts what it makes.
    let makers =
        ["buildroot-external/fs/slot-root/slot-root.mk", "meta-raspi-mcp/classes-recipe/raspi_mcp_bundle.bbclass"];
    for maker in makers.into_iter().chain(["ci/image", "ci/parts/trees"]) {
        assert!(text(maker).contains("root-image.sh"), "{maker}");
    }
    assert!(text("dist/initramfs/init").contains("mount -t ext4 -o ro /dev/mapper/root /root"));
}

#[test]
fn every_kernel_has_built_in_what_the_initramfs_wants() {
    let options = |file: &str| -> BTreeSet<String> {
        let lines = text(format!("buildroot-external/board/raspi-mcp/{file}"));
        lines.lines().filter_map(|line| line.strip_prefix("CONFIG_")?.strip_suffix("=y")).map(str::to_owned).collect()
    };
    let kernel = options("linux-appliance.cfg");
    let contents = text("dist/initramfs/contents");
    let named = |kind: &str| -> Vec<String> {
        let lines = contents.lines().filter_map(|line| line.strip_prefix(kind));
        lines.flat_map(str::split_whitespace).map(str::to_uppercase).collect()
    };
    let wanted = named("kernel ");
    assert!(wanted.len() > 5, "{wanted:?}");
    let missing: Vec<_> = wanted.iter().filter(|option| !kernel.contains(*option)).collect();
    assert!(missing.is_empty(), "linux-appliance.cfg lacks {missing:?}");
    // An option whose own dependency nobody has switched on is left out without a word.
    assert!(
        kernel.contains("CGROUP_BPF") && kernel.contains("BPF_SYSCALL"),
        "DeviceAllow and IPAddressDeny do nothing"
    );

    // Applets that busybox's own configurations leave out have to be in ours, and both trees read it.
    let applets = named("applet ");
    for option in options("busybox.cfg").iter().filter(|option| !option.starts_with("FEATURE_") && *option != "DESKTOP")
    {
        assert!(applets.contains(option), "nobody needs {option}");
    }
    assert!(text("meta-raspi-mcp/recipes-core/busybox/busybox_%.bbappend").contains("file://busybox.cfg"));
    for (name, _) in boards() {
        let defconfig = text(format!("buildroot-external/configs/raspi_mcp_{}_defconfig", name.replace('-', "_")));
        assert!(defconfig.contains("/board/raspi-mcp/busybox.cfg\"\n"), "{name}");
        assert!(defconfig.contains("/board/raspi-mcp/linux-appliance.cfg "), "{name}");
    }
}
