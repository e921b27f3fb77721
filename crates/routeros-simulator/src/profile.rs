//! The versions that are simulated, and how they differ.

/// A version of RouterOS, with the wireless package that its images have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// 7.12.1, a hAP ac2: `interface/wireless` and `caps-man`.
    V7_12,
    /// 7.16.2, a hAP ax2: `interface/wifi`.
    V7_16,
    /// 7.21.4, a hAP ax3: `interface/wifi`, and `safe-mode`.
    V7_21,
}

impl Profile {
    pub const ALL: [Self; 3] = [Self::V7_12, Self::V7_16, Self::V7_21];

    /// As `system/resource` has it, such as `7.21.4 (stable)`.
    pub fn version(self) -> &'static str {
        match self {
            Self::V7_12 => "7.12.1 (stable)",
            Self::V7_16 => "7.16.2 (stable)",
            Self::V7_21 => "7.21.4 (stable)",
        }
    }

    pub fn board(self) -> &'static str {
        match self {
            Self::V7_12 => "hAP ac^2",
            Self::V7_16 => "hAP ax^2",
            Self::V7_21 => "hAP ax^3",
        }
    }

    pub fn architecture(self) -> &'static str {
        if self == Self::V7_12 { "arm" } else { "arm64" }
    }

    /// Whether its radio is below `interface/wireless`; otherwise below `interface/wifi`.
    pub fn has_wireless(self) -> bool {
        self == Self::V7_12
    }

    /// Whether the menu `path` exists.
    pub(crate) fn has_menu(self, path: &str) -> bool {
        match path {
            "safe-mode" => self == Self::V7_21,
            "caps-man/remote-cap" | "caps-man/registration-table" => self.has_wireless(),
            _ if path.starts_with("interface/wireless") => self.has_wireless(),
            _ if path.starts_with("interface/wifi") => !self.has_wireless(),
            _ => true,
        }
    }

    /// Whether the menu `path` has the parameter `name`, which 7.21.4 has. DNS got its `vrf` with 7.15 (MikroTik's changelog).
    pub(crate) fn has_parameter(self, path: &str, name: &str) -> bool {
        !(self == Self::V7_12 && path == "ip/dns" && matches!(name, "vrf" | "mdns-repeat-ifaces"))
    }
}
