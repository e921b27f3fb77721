//! Which services belong to the running system, as opposed to temporarily running ones.

use super::{list, properties};
use crate::{error::ToolError, os::bus::DBus};
use futures::future::try_join_all;
use std::collections::{BTreeSet, HashSet};

/// Properties by which systemd starts a unit with another one (systemd.unit(5), the reverse dependencies of Wants=,
/// Requires= and Upholds=).
const PULLS: [&str; 3] = ["WantedBy", "RequiredBy", "UpheldBy"];

/// Those of `names` that an active unit pulls in: a reached target, another service. The others were started by a
/// message, a timer or a person; their `[Install]` section may contain no more than a D-Bus alias.
///
/// # Errors
/// As [`DBus::call`].
pub async fn by_what_is_up(bus: &DBus, names: impl Iterator<Item = &str>) -> Result<BTreeSet<String>, ToolError> {
    // Units of any kind.
    let up: HashSet<String> = list::units(bus, &["active", "reloading"], &[], |row| Some(row.0.to_owned())).await?;
    let asked = names.map(async |name| {
        let answer = properties::of_unit(bus, name).await?;
        let of = answer.read()?;
        let pulled = PULLS.iter().flat_map(|by| of.list(by)).any(|by| up.contains(&by));
        Ok::<_, ToolError>(pulled.then(|| name.to_owned()))
    });
    Ok(crate::sort::set(try_join_all(asked).await?.into_iter().flatten()))
}
