//! The target of `network.ping`: an address, or a name to resolve.

use agent::operations::network::is_device;
use base::{error::ToolError, os::Root};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    io,
    net::{IpAddr, SocketAddr, SocketAddrV6},
    time::Duration,
};
use update_client::icmp::is_one_machine;

/// Longest name, in bytes (RFC 1035, section 2.3.4).
pub const LONGEST: usize = 253;
/// Characters of names and addresses; the first cannot be mistaken for an option by a reader of the audit.
pub const PATTERN: &str = "^[0-9A-Za-z:_][0-9A-Za-z:._%-]*$";
/// Time limit for resolving: two attempts of a resolver with its default of 5 s would take too long.
const PATIENCE: Duration = Duration::from_secs(8);

/// Which protocol a name is looked up for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    #[default]
    Any,
    Ipv4,
    Ipv6,
}

impl Family {
    fn takes(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Ipv4 => address.is_ipv4(),
            Self::Ipv6 => address.is_ipv6(),
        }
    }
}

/// Whether `text` fits [`PATTERN`] and [`LONGEST`].
pub fn is_target(text: &str) -> bool {
    let first = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_');
    let other = |byte: u8| first(byte) || matches!(byte, b'.' | b'%' | b'-');
    (1..=LONGEST).contains(&text.len())
        && text.bytes().enumerate().all(|(at, b)| if at == 0 { first(b) } else { other(b) })
}

/// Resolves the target to an address.
///
/// # Errors
/// `invalid_argument` for an address of the other family or not of one machine (broadcast, multicast, unspecified);
/// `not_found` for an unknown name; `unavailable` if no name server answers in time.
pub async fn resolve(root: &Root, target: &str, family: Family) -> Result<SocketAddr, ToolError> {
    let found = match literal(root, target)? {
        Some(address) => vec![address],
        None => look_up(target).await?,
    };
    let fits = |address: &SocketAddr| family.takes(address.ip());
    let Some(address) = found.iter().copied().find(fits) else {
        return Err(about(ToolError::not_found(format!("{target} has no address of that family")), target)
            .with("addresses", found.iter().take(8).map(|each| each.ip().to_string()).collect::<Vec<_>>())
            .hint("leave family out"));
    };
    if !is_one_machine(address.ip()) {
        return Err(about(ToolError::invalid(format!("{} is not the address of one machine", address.ip())), target)
            .hint("broadcast, multicast and unspecified addresses are not pinged"));
    }
    Ok(address)
}

/// A literal address; IPv6 optionally with its interface: `fe80::1%eth0`.
fn literal(root: &Root, target: &str) -> Result<Option<SocketAddr>, ToolError> {
    let (address, zone) = target.split_once('%').map_or((target, None), |(address, zone)| (address, Some(zone)));
    match (address.parse::<IpAddr>(), zone) {
        (Ok(address), None) => Ok(Some(SocketAddr::new(address, 0))),
        (Ok(IpAddr::V6(address)), Some(zone)) => {
            let known = is_device(zone) && !zone.starts_with('.');
            let number = known.then(|| root.number(&format!("sys/class/net/{zone}/ifindex")).ok()).flatten();
            let index = number.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
                about(ToolError::not_found(format!("there is no interface {zone}")), target)
                    .hint("system.get_network_info lists them")
            })?;
            Ok(Some(SocketAddrV6::new(address, 0, 0, index).into()))
        }
        (Ok(IpAddr::V4(_)), Some(_)) => {
            Err(about(ToolError::invalid("an IPv4 address has no zone"), target)
                .hint("leave out the % and what follows"))
        }
        (Err(_), None) => Ok(None),
        (Err(_), Some(_)) => Err(about(ToolError::invalid(format!("{target} is no address")), target)),
    }
}

async fn look_up(name: &str) -> Result<Vec<SocketAddr>, ToolError> {
    match tokio::time::timeout(PATIENCE, tokio::net::lookup_host((name, 0))).await {
        Ok(Ok(found)) => Ok(found.collect()),
        Ok(Err(fault)) => Err(unknown(name, &fault)),
        Err(_) => Err(about(
            ToolError::unavailable(format!(
                "no name server told the address of {name} within {} s",
                PATIENCE.as_secs()
            )),
            name,
        )
        .hint("ping an address instead; network.get_status shows the DNS servers")),
    }
}

fn unknown(name: &str, fault: &io::Error) -> ToolError {
    about(ToolError::not_found(format!("the address of {name} cannot be found: {fault}")), name)
        .hint("ping an address instead; network.get_status shows the DNS servers")
}

fn about(error: ToolError, target: &str) -> ToolError {
    error.with("parameter", "address").with("provided_value", target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::ErrorCode;

    fn refused(target: &str, family: Family) -> ErrorCode {
        let root = Root::system();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(resolve(&root, target, family)).expect_err(target).code
    }

    #[test]
    fn what_can_be_a_target() {
        for good in ["pi", "pi.local", "192.0.2.1", "::1", "fe80::1%eth0", "_dns.example", "xn--bcher-kva.example"] {
            assert!(is_target(good), "{good}");
        }
        let too_long = "a".repeat(LONGEST + 1);
        for bad in ["", "-c", "--flood", "a b", "a\0", "a\n", "$(reboot)", "a;b", "b\u{fc}cher", "a/b", &too_long] {
            assert!(!is_target(bad), "{bad:?}");
        }
    }

    #[test]
    fn addresses_of_one_machine() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let root = Root::system();
        let loopback = runtime.block_on(resolve(&root, "127.0.0.1", Family::Any)).unwrap();
        assert_eq!(loopback.to_string(), "127.0.0.1:0");
        let zone = runtime.block_on(resolve(&root, "fe80::1%lo", Family::Ipv6)).unwrap();
        assert_eq!(zone.to_string(), "[fe80::1%1]:0");
        for (bad, family, code) in [
            ("224.0.0.1", Family::Any, ErrorCode::InvalidArgument),
            ("0.0.0.0", Family::Any, ErrorCode::InvalidArgument),
            ("ff02::1", Family::Any, ErrorCode::InvalidArgument),
            ("127.0.0.1", Family::Ipv6, ErrorCode::NotFound),
            ("127.0.0.1%lo", Family::Any, ErrorCode::InvalidArgument),
            ("fe80::1%nosuch0", Family::Any, ErrorCode::NotFound),
            ("fe80::1%..", Family::Any, ErrorCode::NotFound),
            ("pi%lo", Family::Any, ErrorCode::InvalidArgument),
        ] {
            assert_eq!(refused(bad, family), code, "{bad}");
        }
    }
}
