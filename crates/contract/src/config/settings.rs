//! The validated settings: typed structs, every field with a value. Each setting is declared once, here or in its
//! section.
//!
//! Units are in the names: `_seconds`, `_bytes`, `_per_minute`. Field names are the keys of the files.

use super::{
    declare::{choice, settings},
    explain::SettingSources,
    key::InState,
    kind::SettingKind,
    sections::*,
    token::TokenSetting,
    token_files::TokenFiles,
};
use crate::meta::Environment;
use std::{collections::BTreeSet, path::PathBuf};

/// In `compat`: the sixteen tools of dbus-mcp.
pub const DBUS_MCP: &str = "dbus-mcp";

settings! {
    /// All settings, after merging and checking. Build it with [`super::load`].
    pub struct Settings given places;

    /// Top-level keys. They come first in a file, before any `[section]`.
    [] {
        /// The hardware. `auto` selects a Raspberry Pi or another board by its device tree and simulates one on any
        /// other machine, but never where an image with slots was booted.
        board: BoardChoice = BoardChoice::Auto, BoardChoice::KIND, InState::Never;
        /// How the server reaches the privileged agent. `inprocess` needs a simulated board. `auto` is `inprocess` on a
        /// simulated board and `socket` elsewhere.
        agent: AgentChoice = AgentChoice::Auto, AgentChoice::KIND, InState::Never;
        /// Form of the tool names in `tools/list`. `auto` is `underscored` (`gpio_write_pin`), except for clients known
        /// to accept dots. Calls accept both forms.
        tool_names: ToolNames = ToolNames::Auto, ToolNames::KIND, InState::Free;
        /// The environment of this machine. Some tools run only in some environments.
        environment: Environment = Environment::Prod, SettingKind::Choice(&["prod", "staging", "lab"]), InState::Never;
        /// Other servers whose names of tools `tools/list` returns, in place of the names with the same meaning. Calls
        /// accept these names always (docs/compat.md).
        compat: BTreeSet<String> = BTreeSet::new(), SettingKind::Words(&[DBUS_MCP]), InState::Never;
        /// Programs that bring tools of their own, one `[[agents]]` each, with a table `[agents.tools.NAME]` for each tool:
        /// `tier`, `role`, `policy`, `timeout_seconds`, and for kind `command` also `description`, `input` and `output`
        /// (docs/agents.md). At the end of the top level, since the lines below a table belong to it.
        agents: Vec<AgentType> = Vec::new(), SettingKind::Tables(&agents::AGENTS), InState::Never;
        /// MikroTik routers that this machine looks after, one `[[routeros]]` each; `raspi-mcp routeros add` writes it
        /// (docs/routeros.md). Without one, nothing of it is listed or started.
        routeros: Vec<RouterSetting> = Vec::new(), SettingKind::Tables(&routeros::ROUTERS), InState::Never;
    }
    [http] Http;
    [tls] Tls;
    [socket] Socket;
    [dbus] DbusSettings;
    [limits] Limits;
    [access] Access;
    [jwt] Jwt;
    [tools] Tools;
    [policy] PolicyModes;
    [approval] Approval;
    [halt] HaltSettings;
    [service] Service;
    [places] PlaceSettings;
    [audit] AuditLog;
    [metrics] MetricSettings;
    [log] Log;
    [files] Files;
    [process] Process;
    [exec] Exec;
    [gpio] GpioSettings;
    [i2c] I2cSettings;
    [spi] SpiSettings;
    [serial] SerialSettings;
    [camera] CameraSettings;
    [update] UpdateSettings;
    [notifications] NotificationSettings;
    [claim] ClaimSettings;
    [fleet] FleetSettings;

    beside {
        /// Why only the fundamental tier may run: one line for each fragment that was set aside. Empty when all is well.
        restricted: Vec<String> = Vec::new();
        /// Restricted, but only sections were set aside: [`RECOVERY`] runs as well.
        recovers: bool = false;
        /// Whether this is an appliance without an owner. Until it has one, it serves only `/claim` and `/healthz`.
        unclaimed: bool = false;
        /// The folder of the identity prepared at this boot ([`super::prepared`]); missing on most machines.
        identity_dir: PathBuf = places.identity_dir.clone();
        /// The files with the tokens, which a running server reads again.
        token_files: TokenFiles = TokenFiles::default();
        /// What these settings were read from.
        sources: SettingSources = SettingSources::default();
    }
}

choice! {
    /// `board`: which hardware this is.
    pub enum BoardChoice {
        Auto = "auto",
        RaspberryPi = "raspberry-pi",
        Linux = "linux",
        Simulated = "simulated",
    }
}

choice! {
    /// `agent`: how the server reaches the privileged agent.
    pub enum AgentChoice {
        Auto = "auto",
        Socket = "socket",
        Inprocess = "inprocess",
    }
}

choice! {
    /// `tool_names`: the form of names in `tools/list`. Calls accept every form.
    pub enum ToolNames {
        Auto = "auto",
        Dotted = "dotted",
        Underscored = "underscored",
    }
}

/// What a restricted device still does, if only sections of files were set aside: what updates it or goes back, each by its policy. The
/// release that knows the sections, or one that is mended, can come no other way.
pub const RECOVERY: [&str; 5] =
    ["manage.update_server", "manage.apply_os_updates", "manage.rollback", "manage.mark_good", "system.reboot"];

impl Settings {
    /// Whether a fragment was not understood, so that only the fundamental tier may run.
    pub fn is_restricted(&self) -> bool {
        !self.restricted.is_empty()
    }

    /// The namespaces whose write tools are on: those of `tools.enable`. Declaring an agent or a router opens its own.
    pub fn enabled(&self) -> BTreeSet<String> {
        let agents = self.agents.iter().map(|agent| agent.name.clone());
        let routers = self.routeros.first().map(|_| routeros::ROUTERS_NAMESPACE.to_owned());
        self.tools.enable.iter().cloned().chain(agents).chain(routers).collect()
    }

    /// Whether clients of dbus-mcp get its names (`compat`).
    pub fn has_dbus_mcp(&self) -> bool {
        self.compat.contains(DBUS_MCP)
    }

    /// The settings in a form that may be shown: tokens without their hashes, webhooks without
    /// the path of their address.
    pub fn summary(&self) -> serde_json::Value {
        let mut summary = match serde_json::to_value(self) {
            Ok(summary) => summary,
            // Only for a path that is not UTF-8, which `load` refuses.
            Err(error) => return serde_json::json!({ "error": error.to_string() }),
        };
        summary["access"]["tokens"] = self.access.tokens.iter().map(TokenSetting::summary).collect();
        summary["update"]["proxy"] = self.update.shown_proxy().into();
        summary["notifications"]["webhooks"] = self.notifications.shown_webhooks();
        // Arguments of a program may be secret.
        summary["agents"] = self.agents.iter().map(|agent| agent.name.as_str()).collect();
        summary["restricted"] = self.restricted.clone().into();
        summary
    }
}
