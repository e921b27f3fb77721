//! Configuration: fragments of TOML, variables and flags, merged into one validated [`Settings`].
//!
//! Sources in order, where later ones override earlier ones: image, an appliance's identity
//! (`/run/raspi-mcp-identity`), site (`/etc/raspi-mcp`), state, environment, flags. What the server itself can write
//! (state) may only narrow. Anything that is not understood is an error with its position. In the image, the site, the
//! environment or a flag, the server refuses to start; a state fragment is set aside and the settings are
//! [`Settings::restricted`]. Each setting is declared once, in its section (`declare.rs`); `keys.rs` has the list.

mod approver_kinds;
mod assignment;
mod declare;
pub mod docs;
mod draft;
mod explain;
mod export;
mod fault;
mod found;
mod fragment;
pub mod key;
pub mod keys;
mod kind;
mod load;
mod owners;
mod places;
pub mod prepared;
mod reload;
pub mod sections;
mod settings;
mod table_setting;
mod tables;
mod together;
mod token;
mod token_files;
mod tokens;
mod words;

pub use approver_kinds::{ApproverKinds, KINDS as APPROVER_KINDS};
pub use assignment::{Assignment, variable_of};
pub use base::nearest::{nearest, nearest_within};
pub use explain::{InForce, SettingSources, explain};
pub use export::{ExportedSettings, exported};
pub use fault::{ConfigError, Faults, Origin, TextPosition};
pub use found::{ConfigEntry, LocatedValue, UncheckedValue, quoted};
pub use fragment::{Fragment, read_file as read_fragment};
pub use fragment::{document, read_text};
pub use kind::{Complaint, KnownTools, SettingKind};
pub use load::{is_shared, load, load_agent, place_of, recovers};
pub use owners::Owners;
pub use places::{APPROVAL_PAGE_USER, Places, SERVER_USER};
pub use reload::{Reload, fragment_of};
pub use sections::{
    Access, AgentType, Approval, AuditLog, Exec, Files, GpioSettings, Http, I2cSettings, Jwt, Limits, Log, LogLevel,
    LogTarget, PlaceSettings, PolicyModes, Process, Profile, RouterSetting, SAME_PLACES, SerialSettings, Service,
    Socket, SpiSettings, Tls, Tools, UpdateSettings,
    allow::{Grant, is_caller, is_device_file},
    exec::{CommandSetting, EXEC_USER},
    files::{FileRoot, is_grantable, wrong_grants},
    gpio::{PwmPin, Revert},
    i2c::{BusSetting, HIGHEST_BUS as HIGHEST_I2C_BUS},
    notifications::{NewsKind, NotificationSettings, Webhook, WebhookForm},
    routeros::{ROUTERS_NAMESPACE, ROUTERS_USER},
    serial::{NAME_BYTES as PORT_NAME_BYTES, SerialPortSetting, is_port},
    spi::{FASTEST_HZ as FASTEST_SPI_HZ, HIGHEST as HIGHEST_SPI, SLOWEST_HZ as SLOWEST_SPI_HZ, SpiDeviceSetting},
    update::Flow,
};
pub use settings::*;
pub use table_setting::TableSetting;
pub use tables::Tables;
pub use token::{Sha256, TokenSetting};
pub use token_files::{KeptToken, TokenFiles};
pub use words::{full_path as is_full_path, is_loopback, is_loopback_host, is_name, meant};

use crate::meta::Mode;
use std::path::PathBuf;

/// One command-line flag that sets a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CliFlag {
    /// `section.key`.
    pub key: String,
    pub value: String,
    /// As typed, such as `--http`; errors name it.
    pub flag: String,
}

/// All sources of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    pub places: Places,
    /// `--config FILE`: read in place of the site folder.
    pub file: Option<PathBuf>,
    /// A file of the site folder with new content, read in place of the existing one, to check it before it is written.
    pub instead: Option<(PathBuf, String)>,
    /// Environment variables; only those that start with `RASPI_MCP__` are used.
    pub env: Vec<(String, String)>,
    pub flags: Vec<CliFlag>,
    /// The tools of this build with their default modes. `policy` accepts only these and the actions.
    pub tools: Vec<(&'static str, Mode)>,
}

impl Sources {
    /// Only files, without variables and flags.
    pub fn new(places: Places, tools: Vec<(&'static str, Mode)>) -> Self {
        Self { places, file: None, instead: None, env: Vec::new(), flags: Vec::new(), tools }
    }

    /// The environment variables of this process that set something. Bytes of a value that are not UTF-8 become U+FFFD.
    pub fn process_env() -> Vec<(String, String)> {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
            .filter(|(name, _)| name.starts_with(assignment::PREFIX))
            .collect()
    }
}
