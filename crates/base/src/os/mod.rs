//! Readers of the running system: procfs, sysfs and `/etc`, one small file each.
//!
//! Every reader takes the [`Root`] that it reads under, so that tests can use captured files. A reader returns
//! `Err(NotFound)` when its source is missing and `Err(InvalidData)`, naming the file, when it cannot parse it; values
//! are never invented. Formats: the kernel's `Documentation/filesystems/proc.rst` unless a reader says otherwise.

pub mod about;
pub mod activity;
pub mod addresses;
pub mod attached;
pub mod attributes;
pub mod beneath;
pub mod blocking;
pub mod bluez;
pub mod bus;
pub mod cards;
pub mod clock;
pub mod command_line;
pub mod cpu_stat;
pub mod cpufreq;
pub mod cpuinfo;
pub mod diskstats;
pub mod doors;
pub mod file_systems;
pub mod folders;
pub mod glob;
pub mod groups;
pub mod host_name;
pub mod hwmon;
pub mod ids;
pub mod ioctl;
pub mod journal;
pub mod journal_boots;
pub mod kernel;
pub mod live;
pub mod loadavg;
pub mod local;
pub mod lock;
pub mod meminfo;
pub mod mounts;
pub mod net;
pub mod net_dev;
pub mod network_manager;
pub mod notify;
pub mod os_release;
pub mod own;
pub mod packages;
pub mod panics;
pub mod pci;
pub mod processes;
pub mod pstore;
pub mod readable;
pub mod real_path;
pub mod replace;
pub mod reset;
mod root;
pub mod roots;
pub mod systemd;
pub mod thermal;
pub mod uptime;
pub mod usb;
pub mod walk;
pub mod whole;

pub use root::{Root, if_there, lossy, malformed};
