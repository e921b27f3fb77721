//! Units that no tool may stop, restart, disable or start, whatever the configuration allows: without them the change
//! could not be undone.

use base::os::glob::Glob;

/// Patterns, and the role of such units in this product.
const PROTECTED: &[(&str, &str)] = &[
    ("raspi-mcp*", "this server and its agent"),
    ("dbus*", "the bus through which everything is controlled"),
    ("systemd-*", "a part of the system itself"),
    ("init.scope", "the first process"),
    ("polkit*", "who may do what"),
    // Ways to log in.
    ("ssh*", "the way to log in from afar"),
    ("dropbear*", "the way to log in from afar"),
    ("getty*", "the way to log in at the device"),
    ("serial-getty@*", "the way to log in at the device"),
    ("console-getty*", "the way to log in at the device"),
    ("container-getty@*", "the way to log in at the device"),
    ("autovt@*", "the way to log in at the device"),
    ("user@*", "a login session"),
    ("user-runtime-dir@*", "a login session"),
    ("session-*.scope", "a login session"),
    ("gdm*", "the way to log in at the device"),
    ("lightdm*", "the way to log in at the device"),
    ("sddm*", "the way to log in at the device"),
    ("display-manager*", "the way to log in at the device"),
    // The network that callers use. network.* changes it with an automatic revert; stopping it has none.
    ("NetworkManager*", "the network that callers come over"),
    ("wpa_supplicant*", "the network that callers come over"),
    ("iwd*", "the network that callers come over"),
    ("connman*", "the network that callers come over"),
    ("dhcpcd*", "the network that callers come over"),
    ("networking.service", "the network that callers come over"),
    ("ifup@*", "the network that callers come over"),
    ("initrd-*", "a part of the start of the machine"),
    ("emergency.*", "the last way in"),
    ("rescue.*", "the last way in"),
];

/// Units whose start shuts the machine down, or stops its normal operation.
const TAKES_DOWN: &[&str] = &[
    "reboot.target",
    "poweroff.target",
    "halt.target",
    "kexec.target",
    "soft-reboot.target",
    "shutdown.target",
    "final.target",
    "umount.target",
    "exit.target",
    "sleep.target",
    "suspend*.target",
    "hibernate.target",
    "hybrid-sleep.target",
    "rescue.*",
    "emergency.*",
    "system-update*.target",
    "factory-reset.target",
    "ctrl-alt-del.target",
    "initrd*",
    "systemd-reboot.service",
    "systemd-poweroff.service",
    "systemd-halt.service",
    "systemd-kexec.service",
    "systemd-exit.service",
    "systemd-soft-reboot.service",
    "systemd-suspend*.service",
    "systemd-hibernate.service",
    "systemd-hybrid-sleep.service",
];

/// The role of the unit with these names, if it is protected.
pub fn reason(names: &[String]) -> Option<&'static str> {
    let (_, reason) =
        PROTECTED.iter().find(|(pattern, _)| names.iter().any(|name| Glob::of_bytes(pattern).fits(name)))?;
    Some(reason)
}

/// Whether starting the unit with these names takes the machine down.
pub fn takes_down(names: &[String]) -> bool {
    TAKES_DOWN.iter().any(|pattern| names.iter().any(|name| Glob::of_bytes(pattern).fits(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_carries_the_product_is_protected_under_every_name() {
        for name in [
            "raspi-mcp.service",
            "raspi-mcp-agent.service",
            "dbus.service",
            "dbus.socket",
            "dbus-broker.service",
            "systemd-logind.service",
            "systemd-journald@x.service",
            "init.scope",
            "ssh.service",
            "sshd.service",
            "ssh@1.service",
            "sshd@0-10.0.0.1:22-10.0.0.2:1.service",
            "getty@tty1.service",
            "serial-getty@ttyS0.service",
            "user@1000.service",
            "NetworkManager.service",
            "wpa_supplicant@wlan0.service",
            "rescue.service",
        ] {
            assert!(reason(&[name.into()]).is_some(), "{name}");
        }
        assert!(reason(&["web.service".into(), "dbus-org.example.service".into()]).is_some(), "by an alias");
        for name in ["nginx.service", "my-dbus.service", "myssh.service", "cron.service", "multi-user.target"] {
            assert_eq!(reason(&[name.into()]), None, "{name}");
        }
        assert!(takes_down(&["reboot.target".into()]) && !takes_down(&["multi-user.target".into()]));
    }
}
