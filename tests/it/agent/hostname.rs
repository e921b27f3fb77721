//! The host name: judged by the agent, tried without effect, set once.

use super::*;
use crate::support::private_bus::PrivateBus;
use ::agent::{
    machine::{MachineControl, RealMachine},
    operations::hostname::HostnameRequest,
};
use base::{error::ErrorCode, os::bus::DBusObject};
use contract::meta::Mode;
use futures::StreamExt;
use std::sync::Mutex;
use zbus::{MessageStream, message::Type};

fn name(hostname: &str) -> HostnameRequest {
    HostnameRequest {
        hostname: hostname.into(),
        dry_run: false,
        authorization: authorization(&json!({ "hostname": hostname }), None),
    }
}

#[tokio::test]
async fn a_name_is_tried_first_then_given() {
    let pi = Pi::new();
    let server = pi.server();
    let tried =
        server.call::<op::hostname::SetHostname>(HostnameRequest { dry_run: true, ..name("kitchen") }).await.unwrap();
    assert_eq!((tried.previous.as_str(), tried.simulated), ("simulated", true));
    assert_eq!(pi.machine.hostname().unwrap(), "simulated", "a dry run changes nothing");
    server.call::<op::hostname::SetHostname>(name("kitchen")).await.unwrap();
    assert_eq!(server.call::<op::hostname::SetHostname>(name("cellar")).await.unwrap().previous, "kitchen");
    assert_eq!(pi.machine.hostname().unwrap(), "cellar");
    assert!(pi.log().contains("\"set_hostname\""));
}

#[tokio::test]
async fn what_is_no_name_changes_nothing() {
    let pi = Pi::new();
    for bad in ["", "-", "Kitchen", "kitchen.local", "localhost", "a b", "--static"] {
        let error = pi.server().call::<op::hostname::SetHostname>(name(bad)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{bad:?}");
    }
    assert_eq!(pi.machine.hostname().unwrap(), "simulated");
}

#[tokio::test]
async fn the_owner_may_want_to_be_asked() {
    let pi = Pi::with(|settings| {
        settings.policy.modes.insert("system.set_hostname".into(), Mode::Ask);
    });
    let server = pi.server();
    let error = server.call::<op::hostname::SetHostname>(name("kitchen")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    let opened =
        server.call::<op::asks::OpenAsk>(ask("system.set_hostname", json!({"hostname": "kitchen"}))).await.unwrap();
    pi.says(&opened, true).await.unwrap();
    let approved = HostnameRequest {
        authorization: authorization(&json!({"hostname": "kitchen"}), Some(&opened.id)),
        ..name("kitchen")
    };
    let lie = HostnameRequest { hostname: "evil".into(), ..approved.clone() };
    assert_eq!(server.call::<op::hostname::SetHostname>(lie).await.unwrap_err().details["differs"], "arguments");
    server.call::<op::hostname::SetHostname>(approved.clone()).await.unwrap();
    assert_eq!(pi.machine.hostname().unwrap(), "kitchen");
    server.call::<op::hostname::SetHostname>(approved).await.expect_err("an approval is used once");
}

/// A machine with a name, and `org.freedesktop.hostname1` on a bus of its own, which does as systemd 252 and 257 do: what it could not
/// write it takes for written until the file changes, and the name that is kept is the one the kernel gets.
struct Named {
    home: tempfile::TempDir,
    calls: Arc<Mutex<Vec<String>>>,
    machine: RealMachine,
    _bus: PrivateBus,
}

const READ_ONLY: (&str, &str) =
    ("org.freedesktop.hostname1.ReadOnlyFilesystem", "/etc/hostname is in a read-only filesystem.");
const KEPT: &str = "etc/hostname";
const KERNEL: &str = "proc/sys/kernel/hostname";

impl Named {
    /// `refusal`: what it answers instead of replacing the file.
    async fn garage(refusal: Option<(&'static str, &'static str)>) -> Self {
        let (bus, home) = (PrivateBus::start(), tempfile::tempdir().unwrap());
        for file in [KEPT, KERNEL] {
            let path = home.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "garage-of-ann\n").unwrap();
        }
        let calls = Arc::<Mutex<Vec<String>>>::default();
        let hostnamed = bus.connect().await;
        let mut stream = MessageStream::from(&hostnamed);
        hostnamed.request_name("org.freedesktop.hostname1").await.unwrap();
        let (root, heard) = (home.path().to_owned(), Arc::clone(&calls));
        tokio::spawn(async move {
            let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
            let (mut seen, mut kept) = (String::new(), String::new());
            while let Some(Ok(message)) = stream.next().await {
                if message.message_type() != Type::MethodCall {
                    continue;
                }
                let header = message.header();
                let (name, interactive): (String, bool) = message.body().deserialize().unwrap();
                assert!(!interactive);
                let member = header.member().unwrap().to_string();
                heard.lock().unwrap().push(format!("{member} {name}"));
                if name == "evil" {
                    let denied = "org.freedesktop.DBus.Error.AccessDenied";
                    hostnamed.reply_error(&header, denied, &"Permission denied").await.unwrap();
                    continue;
                }
                if read(KEPT) != seen {
                    seen = read(KEPT);
                    seen.trim().clone_into(&mut kept);
                }
                if member == "SetStaticHostname" && kept != name {
                    kept = name;
                    if let Some((error, said)) = refusal {
                        hostnamed.reply_error(&header, error, &said).await.unwrap();
                        continue;
                    }
                    seen = format!("{kept}\n");
                    std::fs::write(root.join("etc/new"), &seen).unwrap();
                    std::fs::rename(root.join("etc/new"), root.join(KEPT)).unwrap();
                }
                // As is true of one that hangs, or of a kernel that refuses.
                if kept != "deaf" {
                    std::fs::write(root.join(KERNEL), format!("{kept}\n")).unwrap();
                }
                hostnamed.reply(&header, &()).await.unwrap();
            }
        });
        let machine = RealMachine { root: Root::at(home.path()), bus: bus.bus() };
        Self { home, calls, machine, _bus: bus }
    }

    fn reads(&self, file: &str) -> String {
        std::fs::read_to_string(self.home.path().join(file)).unwrap()
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    fn inode(&self) -> u64 {
        std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(self.home.path().join(KEPT)).unwrap())
    }
}

#[tokio::test]
async fn a_real_machine_is_named_through_systemd() {
    let nobody = PrivateBus::start();
    let machine = RealMachine { root: Root::at("/nonexistent"), bus: nobody.bus() };
    let error = machine.set_hostname("kitchen").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::CapabilityMissing, "nobody has that name on the bus: {error}");

    let pi = Named::garage(None).await;
    let before = pi.inode();
    pi.machine.set_hostname("kitchen").await.unwrap();
    assert_eq!(pi.calls(), ["SetStaticHostname kitchen", "SetHostname kitchen"]);
    assert_eq!((pi.reads(KEPT), pi.reads(KERNEL)), ("kitchen\n".into(), "kitchen\n".into()));
    assert!(pi.inode() != before, "replaced by hostnamed, not written by us");
    pi.machine.set_hostname("kitchen").await.unwrap();
    assert_eq!(pi.calls(), [""; 0], "it is called so");

    let error = pi.machine.set_hostname("evil").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied, "{error}");
    assert_eq!((pi.calls(), pi.reads(KEPT)), (vec!["SetStaticHostname evil".into()], "kitchen\n".into()));

    // A name that DHCP or a person gave for this start only is gone with the next, unless it is kept.
    std::fs::write(pi.home.path().join(KERNEL), "cellar\n").unwrap();
    pi.machine.set_hostname("cellar").await.unwrap();
    assert_eq!((pi.reads(KEPT), pi.reads(KERNEL)), ("cellar\n".into(), "cellar\n".into()));
}

#[tokio::test]
async fn a_file_that_cannot_be_replaced_is_written() {
    for refusal in [
        READ_ONLY,
        ("System.Error.EROFS", "Failed to set static hostname: Read-only file system"),
        ("System.Error.EBUSY", "Failed to set static hostname: Device or resource busy"),
    ] {
        let pi = Named::garage(Some(refusal)).await;
        let before = pi.inode();
        for name in ["pi", "kitchen-of-bob-and-ann", "porch"] {
            pi.machine.set_hostname(name).await.unwrap();
            assert_eq!(pi.calls(), [format!("SetStaticHostname {name}"), format!("SetHostname {name}")]);
            assert_eq!((pi.reads(KEPT), pi.reads(KERNEL)), (format!("{name}\n"), format!("{name}\n")));
        }
        assert_eq!(pi.inode(), before, "written where it lies");
    }
}

#[tokio::test]
async fn a_name_that_is_not_kept_is_an_error_until_it_is() {
    let pi = Named::garage(Some(READ_ONLY)).await;
    // Root may write any file, but not the kernel's own.
    let path = pi.home.path().join(KEPT);
    std::fs::rename(&path, pi.home.path().join("aside")).unwrap();
    std::os::unix::fs::symlink("/proc/version", &path).unwrap();
    let error = pi.machine.set_hostname("porch").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable, "{error}");
    assert_eq!(error.details["resource"], "/etc/hostname");
    assert!(error.hint.as_ref().unwrap().contains("ReadWritePaths"));
    assert_eq!(pi.calls(), ["SetStaticHostname porch"], "the kernel is not told");
    assert_eq!(pi.reads(KERNEL), "garage-of-ann\n");
    std::fs::remove_file(&path).unwrap();
    std::fs::rename(pi.home.path().join("aside"), &path).unwrap();
    pi.machine.set_hostname("porch").await.unwrap();
    assert_eq!((pi.reads(KEPT), pi.reads(KERNEL)), ("porch\n".into(), "porch\n".into()));
}

#[tokio::test]
async fn what_hostnamed_takes_for_written_is_looked_at() {
    let pi = Named::garage(Some(READ_ONLY)).await;
    let (service, path) = ("org.freedesktop.hostname1", "/org/freedesktop/hostname1");
    let somebody = DBusObject { service, path, interface: service };
    pi.machine.bus.call(somebody, "SetStaticHostname", &("attic", false)).await.unwrap_err();
    pi.machine.bus.call(somebody, "SetStaticHostname", &("attic", false)).await.expect("now it says that it is so");
    assert_eq!(pi.reads(KEPT), "garage-of-ann\n");
    pi.machine.set_hostname("attic").await.unwrap();
    assert_eq!((pi.reads(KEPT), pi.reads(KERNEL)), ("attic\n".into(), "attic\n".into()));
}

#[tokio::test]
async fn the_kernel_has_the_last_word() {
    let pi = Named::garage(None).await;
    let error = pi.machine.set_hostname("deaf").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable, "{error}");
    assert!(error.message.contains("still called garage-of-ann"), "{error}");
    assert_eq!((pi.reads(KEPT), &error.details["kept"]), ("deaf\n".into(), &json!(true)));
}
