//! `raspi-mcp claim --fleet DIR`: a machine that was just claimed becomes a member of a fleet, by two orders of its owner.

use crate::{
    claim::uri::ClaimUri,
    cli::{
        approver,
        exit::{Exit, Failure},
        order::{self, Device},
    },
    fleet::desk,
};
use fleet_protocol::{enrolment::EnrolmentRequest, name};
use serde_json::json;
use std::path::{Path, PathBuf};

/// What has to be known before the claim.
pub struct NewMember {
    folder: PathBuf,
    name: Option<String>,
    /// The file of the key that signs the orders.
    key: PathBuf,
}

impl NewMember {
    /// Checks all that can be checked without the machine.
    ///
    /// # Errors
    /// For a key that signs no orders, a folder that signs no requests, and a name that cannot be one or is taken.
    pub fn checked(folder: &Path, name: Option<String>, key: &Path) -> Result<Self, Failure> {
        approver::secret(key).map_err(|failure| {
            let why = "--fleet needs the file of your secret key in --approver: it signs the orders that make a member";
            Failure::new(Exit::Usage, format!("{why}\n  {}", failure.message))
        })?;
        desk::check(folder, name.as_deref())?;
        Ok(Self { folder: folder.to_owned(), name, key: key.to_owned() })
    }

    /// Makes the claimed machine a member. Returns what there is to do next, for people. `host_name` and `id`: what it told.
    ///
    /// # Errors
    /// What failed, with the commands that go on from there.
    pub fn join(&self, claim: &ClaimUri, host_name: Option<String>, id: Option<String>) -> Result<String, Failure> {
        let url = claim.url.as_str().trim_end_matches('/').to_owned();
        let device = Device { url: Some(url), pin: Some(claim.pin), key: Some(self.key.clone()), device: id };
        let name = self.name.clone().or(host_name);
        self.ordered(&device, name.as_deref())
            .map_err(|failure| Failure::new(failure.exit, self.goes_on(&device, name.as_deref(), &failure.message)))
    }

    fn ordered(&self, device: &Device, name: Option<&str>) -> Result<String, Failure> {
        let name =
            name.ok_or_else(|| Failure::new(Exit::Failed, "it told no host name that could be its name there"))?;
        name::check("device", name)?;
        let pin = device.pin.map(|pin| pin.to_string());
        let made = order::performed(device, "enroll_fleet", &json!({ "name": name, "pin": pin }))?;
        let request = EnrolmentRequest::read(made["request"].as_str().unwrap_or_default())?;
        if request.name != name || Some(request.key.id()) != device.device {
            return Err(Failure::new(Exit::Failed, "its request is of another device; nothing was signed"));
        }
        let membership = desk::sign(&self.folder, &request)?;
        let done = order::performed(device, "join_fleet", &json!(membership))?;
        Ok(format!(
            "{}\nThe broker has to load its users again: systemctl reload raspi-mcp-nats, or nats-server --signal reload",
            order::text(&done)
        ))
    }

    fn goes_on(&self, device: &Device, name: Option<&str>, why: &str) -> String {
        let Device { url, pin, key, device } = device;
        let (url, id) = (url.as_deref().unwrap_or_default(), device.as_deref().unwrap_or("ID"));
        let (pin, key) =
            (pin.map(|pin| pin.to_string()).unwrap_or_default(), key.as_deref().unwrap_or(Path::new("FILE")));
        let reach = format!("--url {url} --pin {pin} --key {} --device {id}", key.display());
        let name = name.filter(|name| name::is_name(name)).unwrap_or("NAME");
        format!(
            "the machine is claimed and yours, but not in the fleet: {why}\n  go on with:\n\
             raspi-mcp fleet enroll --name {name} --out request {reach}\n\
             raspi-mcp fleet sign {} request --out answer.json --device {id}\n\
             raspi-mcp fleet join answer.json {reach}",
            self.folder.display()
        )
    }
}
