//! Validation of names of connections and interfaces.

/// Longest name of a connection, in characters.
pub const LONGEST_NAME: usize = 255;
/// Longest name of an interface: IFNAMSIZ without its NUL (linux/if.h).
pub const LONGEST_DEVICE: usize = 15;

/// Whether `name` is a valid name or UUID of a profile.
pub fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}

/// Whether `name` is a valid name of an interface: the kernel's rule (`dev_valid_name`), in ASCII.
pub fn is_device(name: &str) -> bool {
    (1..=LONGEST_DEVICE).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_interfaces() {
        let longest = "a".repeat(LONGEST_DEVICE);
        for good in ["eth0", "wlan0", "br-1a2b3c", "eth0.100", longest.as_str()] {
            assert!(is_device(good), "{good}");
        }
        let too_long = "a".repeat(LONGEST_DEVICE + 1);
        for bad in ["", "a/b", "eth0:1", "a b", "eth0\n", "eth0\0", "eth\u{e9}", too_long.as_str()] {
            assert!(!is_device(bad), "{bad:?}");
        }
    }
}
