//! Who has a camera open: told to the server alone, about cameras alone.

use super::*;
use ::agent::{machine::MachineControl, operations::holders::HoldersRequest};
use futures::future::BoxFuture;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use std::{fs, os::unix::fs::symlink};

/// A real machine, of which nothing is asked but its processes.
struct Real(SimulatedMachine);

impl MachineControl for Real {
    fn schedule_power(&self, action: PowerAction) -> Result<(), ToolError> {
        self.0.schedule_power(action)
    }
    fn restart_with(&self, argument: &str) -> Result<(), ToolError> {
        self.0.restart_with(argument)
    }
    fn hostname(&self) -> Result<String, ToolError> {
        self.0.hostname()
    }
    fn set_hostname<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), ToolError>> {
        self.0.set_hostname(name)
    }
    fn timezone(&self) -> Result<String, ToolError> {
        self.0.timezone()
    }
    fn set_timezone<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), ToolError>> {
        self.0.set_timezone(name)
    }
    fn boot_id(&self) -> String {
        self.0.boot_id()
    }
    fn is_simulated(&self) -> bool {
        false
    }
}

fn camera(device: &str) -> HoldersRequest {
    HoldersRequest { device: device.into() }
}

#[tokio::test]
async fn a_simulated_machine_has_nobody_at_its_cameras() {
    let pi = Pi::new();
    // Whatever this PC's processes do is none of its business.
    let holders =
        pi.server().call::<op::holders::ListHolders>(HoldersRequest { device: "/dev/video0".into() }).await.unwrap();
    assert!(holders.is_empty());
}

#[tokio::test]
async fn only_the_server_may_ask_and_not_where_cameras_are_switched_off() {
    let pi = Pi::new();
    let error = pi.person::<op::holders::ListHolders>(camera("/dev/video0")).await.unwrap_err();
    assert_eq!(error.details["operation"], "device_holders");
    let off = Pi::with(|settings| settings.policy.disabled.extend(["camera".into()]));
    let error = off
        .server()
        .call::<op::holders::ListHolders>(HoldersRequest { device: "/dev/video0".into() })
        .await
        .unwrap_err();
    assert!(error.message.contains("camera.list_cameras"), "{error}");
}

#[test]
fn it_travels_as_it_is_written_and_with_nothing_else() {
    let parse = |text: &str| serde_json::from_str::<op::AnyRequest>(text);
    let read = parse(r#"{"device_holders":{"device":"/dev/video0"}}"#).unwrap();
    assert!(!read.row().waits);
    assert_eq!(read.take::<op::holders::ListHolders>().unwrap(), camera("/dev/video0"));
    assert!(parse(r#"{"device_holders":{"device":"/dev/video0","pid":1}}"#).is_err());
    assert!(parse(r#"{"device_holders":{}}"#).is_err());
}

#[tokio::test]
async fn a_process_that_has_it_open_is_named() {
    let dir = tempdir().unwrap();
    // The kernel's own /proc, and a camera that has the numbers of /dev/null.
    symlink("/proc", dir.path().join("proc")).unwrap();
    fs::create_dir_all(dir.path().join("sys/class/video4linux/video7")).unwrap();
    fs::write(dir.path().join("sys/class/video4linux/video7/dev"), "1:3\n").unwrap();
    let settings = AgentSettings { simulated: false, ..Pi::settings_in(dir.path()) };
    let real = Arc::new(Real(SimulatedMachine::new("first boot")));
    let agent = Agent::start(settings, Platform::new(agent::system_clock(), real)).unwrap();
    let link = AgentLink::InProcess(agent);
    let holders = |device: &str| {
        let (link, device) = (&link, device.to_owned());
        async move { link.call::<op::holders::ListHolders>(HoldersRequest { device }).await }
    };
    let camera = dir.path().join("video7");
    let made = mknodat(CWD, &camera, FileType::CharacterDevice, Mode::from_raw_mode(0o600), makedev(1, 3));
    match made.map_err(Into::into).and_then(|()| fs::File::open(&camera)) {
        Ok(_open) => {
            let found = holders("/dev/video7").await.unwrap();
            assert_eq!(found.iter().map(|holder| holder.pid).collect::<Vec<_>>(), [std::process::id()]);
            assert!(!found[0].name.is_empty());
        }
        Err(error) => println!("no device can be made here, so none is held: {error}"),
    }
    assert!(holders("/dev/video7").await.unwrap().is_empty(), "closed again");
    for device in ["/dev/video8", "/dev/null", "/dev/mem", "", "/dev/video7/../null"] {
        let error = holders(device).await.unwrap_err();
        assert_eq!(error.details["parameter"], "device", "{device}");
    }
}
