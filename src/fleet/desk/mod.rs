//! The owner's folder of a fleet: made by `raspi-mcp fleet init`, and what signs and revokes devices (docs/fleet.md).
//!
//! It holds the fleet's secrets: `ca.key` signs certificates, `fleet.key` orders, `console.key` is the console's own.

mod broker_config;
mod certificates;
mod own;
mod x509;

pub use own::{OwnCertificate, RENEW_BEFORE};

use super::console::FleetFolder;
use base::{
    base64url, clock,
    error::{ErrorCode, ToolError},
    os::{lock::Lock, whole},
    signing::{PublicKey, SigningKey},
};
use certificates::{Authority, Issued, authority};
use fleet_protocol::{
    enrolment::{EnrolmentRequest, Membership, is_address},
    name,
};
use serde_json::{Value, json};
use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// What a new fleet is like.
pub struct NewFleet {
    pub name: String,
    /// Addresses of its broker.
    pub servers: Vec<String>,
    /// More names and addresses by which the broker is reached.
    pub hosts: Vec<String>,
}

/// Makes the folder.
///
/// # Errors
/// `failed_precondition` when the folder exists; `invalid_argument` for a name or address; `unavailable` when it cannot be
/// written.
pub fn init(folder: &Path, new: &NewFleet) -> Result<(), ToolError> {
    name::check("fleet", &new.name)?;
    if new.servers.is_empty() || !new.servers.iter().all(|server| is_address(server)) {
        return Err(ToolError::invalid("--server is an address of the broker like tls://broker.example.org:4222"));
    }
    let folder = whole_path(folder)?;
    let made = DirBuilder::new().mode(0o700).create(&folder).and_then(|()| {
        ["devices", "jetstream"].iter().try_for_each(|name| DirBuilder::new().mode(0o700).create(folder.join(name)))
    });
    made.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => ToolError::precondition(format!("there is {} already", folder.display()))
            .hint("a fleet has a folder of its own; name one that does not exist"),
        _ => ToolError::unavailable(format!("{} cannot be made: {error}", folder.display())),
    })?;
    let addresses = new.servers.iter().filter_map(|server| server.strip_prefix("tls://"));
    let mut hosts: Vec<String> = addresses.clone().map(|address| host(address).to_owned()).collect();
    hosts.extend(new.hosts.iter().cloned());
    let port = addresses.clone().find_map(|address| address.rsplit_once(':')?.1.parse().ok()).unwrap_or(4222);

    let Issued { certificate, key, .. } = authority(&new.name, None)?;
    let secret = key.unwrap_or_default();
    let signer = Authority::read(&new.name, &secret)?;
    let order = SigningKey::generate()?;
    let public = SigningKey::from_pkcs8(&order)?.public();
    let put = |file: &str, bytes: &[u8]| put(&folder.join(file), bytes);
    put("ca.key", secret.as_bytes())?;
    put("ca.pem", certificate.as_bytes())?;
    put("fleet.key", &order)?;
    put("fleet.pub", format!("{}\n", public.text()).as_bytes())?;
    for (file, names, is_server) in
        [("server", hosts.clone(), true), ("console", vec![name::console_user(&new.name, "console")], false)]
    {
        let issued = signer.make(names, is_server, None)?;
        put(&format!("{file}.key"), issued.key.unwrap_or_default().as_bytes())?;
        put(&format!("{file}.pem"), issued.certificate.as_bytes())?;
    }
    put("nats-server.conf", broker_config::server(&hosts, port).as_bytes())?;
    put("raspi-mcp-nats.service", broker_config::unit(&folder).as_bytes())?;
    // Last: the folder is one of a fleet once it is there.
    let text = format!(
        "name = {}\nservers = {}\naccounts = true\n",
        Value::from(new.name.as_str()),
        Value::from(new.servers.clone())
    );
    put("fleet.toml", text.as_bytes())?;
    write_users(&folder)
}

/// Whether a folder can sign the request of a new device of this name.
///
/// # Errors
/// `invalid_argument` for a folder that is none or has no key of the authority, or for the name; `conflict` for one that
/// another device has.
pub fn check(folder: &Path, name: Option<&str>) -> Result<(), ToolError> {
    let fleet = FleetFolder::read(folder)?;
    Authority::read(&fleet.name, &text(&folder.join("ca.key"))?)?;
    let Some(name) = name else { return Ok(()) };
    name::check("device", name)?;
    match fleet.devices.get(name).filter(|known| !known.revoked) {
        Some(known) => Err(taken(name, &known.device)),
        None => Ok(()),
    }
}

fn taken(name: &str, id: &str) -> ToolError {
    ToolError::new(ErrorCode::Conflict, format!("another device is called {name}; its ID is {id}"))
        .hint("enrol this one under another name, or revoke that one first: raspi-mcp fleet revoke")
}

/// Signs a device's request: writes its entry and the broker's users. Returns what the device has to be told.
///
/// # Errors
/// Those of the request; `conflict` for a name that another device has; `invalid_argument` for a folder that is none.
pub fn sign(folder: &Path, request: &EnrolmentRequest) -> Result<Membership, ToolError> {
    let _lock = lock_registry(folder)?;
    let fleet = FleetFolder::read(folder)?;
    let name = &request.name;
    if let Some(known) = fleet.devices.get(name)
        && known.key != request.key
        && !known.revoked
    {
        return Err(taken(name, &known.device));
    }
    let entry = json!({
        "name": name, "key": request.key, "device": request.key.id(), "pin": request.pin,
        "public_key": request.public_key, "tags": fleet.devices.get(name).map_or(&[][..], |known| &known.tags),
        "revoked": false,
    });
    certify(folder, fleet, name, entry)
}

/// Signs a new certificate for the key that a device has. The one before stays valid until it ends. Returns what the
/// device has to be told.
///
/// # Errors
/// `not_found`; `permission_denied` for a device that was revoked; `failed_precondition` for an entry of an older version,
/// without the device's public key.
pub fn renew(folder: &Path, name: &str) -> Result<Membership, ToolError> {
    let _lock = lock_registry(folder)?;
    let fleet = FleetFolder::read(folder)?;
    fleet.device(name)?;
    let entry = entry(folder, name)?;
    if entry["public_key"].is_null() {
        return Err(ToolError::precondition(format!(
            "devices/{name}.json was written by an older version and has no public_key: its certificate cannot be renewed here"
        ))
        .hint("let the device make a new request, and sign that: raspi-mcp fleet enroll, sign and join; from then on renew works"));
    }
    certify(folder, fleet, name, entry)
}

/// Signs a certificate for the `public_key` of an entry, and writes the entry and the broker's users.
fn certify(folder: &Path, fleet: FleetFolder, name: &str, mut entry: Value) -> Result<Membership, ToolError> {
    let public_key = entry["public_key"].as_str().and_then(base64url::decode);
    let public_key = public_key.ok_or_else(|| ToolError::invalid("the device's public key is not base64url"))?;
    let secret = text(&folder.join("ca.key"))?;
    let issued = Authority::read(&fleet.name, &secret)?.certify(name::device_user(&fleet.name, name), &public_key)?;
    entry["serial"] = issued.serial.into();
    entry["expires"] = clock::stamp(issued.expires).into();
    put_entry(folder, name, &entry)?;
    write_users(folder)?;
    let owner_key = text(&folder.join("fleet.pub"))?.trim().to_owned();
    PublicKey::parse(&owner_key).ok_or_else(|| ToolError::invalid("fleet.pub is no key"))?;
    Ok(Membership {
        fleet: fleet.name,
        device: name.to_owned(),
        servers: fleet.servers,
        ca: text(&folder.join("ca.pem"))?,
        certificate: issued.certificate,
        owner_key,
    })
}

/// Takes a device out of the fleet: the broker lets it in no more once it has loaded its users again, and no status of it
/// counts from now on.
///
/// # Errors
/// `not_found`; `unavailable` when the folder cannot be written.
pub fn revoke(folder: &Path, name: &str) -> Result<(), ToolError> {
    let _lock = lock_registry(folder)?;
    FleetFolder::read(folder)?.device(name)?;
    let mut entry = entry(folder, name)?;
    entry["revoked"] = true.into();
    put_entry(folder, name, &entry)?;
    write_users(folder)
}

/// Held by whoever changes the registry until the broker's users are written as well. Two at once could give two devices the same
/// name, or leave one of two new devices out of the broker's users.
fn lock_registry(folder: &Path) -> Result<Lock, ToolError> {
    File::open(folder).and_then(Lock::wait).map_err(|error| {
        ToolError::invalid(format!("{} cannot be locked: {error}", folder.display()))
            .hint("the folder is that of `raspi-mcp fleet init`")
    })
}

/// An entry of the registry, with all its fields.
fn entry(folder: &Path, name: &str) -> Result<Value, ToolError> {
    let file = folder.join(format!("devices/{name}.json"));
    serde_json::from_str(&text(&file)?).map_err(|error| ToolError::invalid(format!("{}: {error}", file.display())))
}

fn put_entry(folder: &Path, name: &str, entry: &Value) -> Result<(), ToolError> {
    put(&folder.join(format!("devices/{name}.json")), format!("{entry:#}\n").as_bytes())
}

/// Writes the broker's users as the registry has them.
fn write_users(folder: &Path) -> Result<(), ToolError> {
    put(&folder.join("users.conf"), broker_config::users(&FleetFolder::read(folder)?).as_bytes())
}

/// The host of an address, without its port.
fn host(address: &str) -> &str {
    match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((inside, _)) => inside,
        None => address.split(':').next().unwrap_or(address),
    }
}

/// The unit names the folder in full; the broker's configuration names its files within it.
fn whole_path(folder: &Path) -> Result<PathBuf, ToolError> {
    let path =
        std::path::absolute(folder).map_err(|error| ToolError::invalid(format!("{}: {error}", folder.display())))?;
    match path.to_str().is_some_and(|text| !text.contains(['"', '\n', '\\'])) {
        true => Ok(path),
        false => Err(ToolError::invalid("the folder's path has a character that the broker's unit cannot name")),
    }
}

fn put(file: &Path, bytes: &[u8]) -> Result<(), ToolError> {
    whole::replace(file, 0o600, |open| open.write_all(bytes))
        .map_err(|error| ToolError::unavailable(format!("{} cannot be written: {error}", file.display())))
}

fn text(file: &Path) -> Result<String, ToolError> {
    fs::read_to_string(file).map_err(|error| {
        ToolError::invalid(format!("{} cannot be read: {error}", file.display()))
            .hint("the folder is that of `raspi-mcp fleet init`; secrets may lie on another medium: copy them there for this command")
    })
}
