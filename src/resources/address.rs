//! `raspi://logs/app?level=warn`: the address of a resource and the arguments for the tool behind it.

use super::{Parameter, RESOURCES, Resource};
use base::error::ToolError;
use contract::values::Pin;
use serde_json::{Map, Value};

/// Longest address, in bytes: subscriptions store them.
pub const LONGEST: usize = 512;

/// A resource and the arguments from the query.
#[derive(Clone, Debug)]
pub struct ResourceAddress {
    pub resource: &'static Resource,
    /// Arguments of the tool given by the address. The tool's own schema validates them.
    pub args: Map<String, Value>,
}

impl ResourceAddress {
    /// # Errors
    /// `not_found` if there is no such resource, `invalid_argument` if its query is invalid.
    pub fn parse(uri: &str) -> Result<Self, ToolError> {
        let (base, query) = match uri.split_once('?') {
            Some((base, query)) => (base, Some(query)),
            None => (uri, None),
        };
        let unknown = || {
            let shown: String = uri.chars().take(LONGEST).collect();
            ToolError::not_found(format!("Resource not found: {shown}"))
                .with("uri", shown)
                .hint("resources/list and resources/templates/list name them all")
        };
        let is_meant = |resource: &&Resource| match resource.which {
            None => resource.uri == base,
            Some(_) => which(resource, base).is_some(),
        };
        let resource = RESOURCES.iter().filter(|_| uri.len() <= LONGEST).find(is_meant).ok_or_else(unknown)?;
        let mut args = Map::new();
        if let Some(argument) = resource.which {
            let text = which(resource, base).and_then(decoded).ok_or_else(unknown)?;
            args.insert(argument.name.to_owned(), argument.value(text));
        }
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let known = resource.parameters.iter().find(|parameter| parameter.name == name);
            let Some(parameter) = known.filter(|_| !args.contains_key(name)) else {
                return Err(bad_query(resource, name));
            };
            let text = decoded(value).ok_or_else(|| bad_query(resource, name))?;
            args.insert(name.to_owned(), parameter.value(text));
        }
        Ok(Self { resource, args })
    }

    /// Which item it names, for a resource with a variable part.
    pub fn which(&self) -> Option<&str> {
        self.arg(self.resource.which?.name)
    }

    /// The header pin that it names.
    pub fn pin(&self) -> Option<Pin> {
        let number = self.args.get(self.resource.which?.name)?.as_u64()?;
        Pin::try_from(number).ok()
    }

    /// A text argument given by the address.
    pub fn arg(&self, name: &str) -> Option<&str> {
        self.args.get(name)?.as_str()
    }
}

impl Parameter {
    /// A value that should be a number and is not is left to the tool's schema, which reports it.
    fn value(self, text: String) -> Value {
        match text.parse::<u64>() {
            Ok(number) if self.number => number.into(),
            _ => text.into(),
        }
    }
}

/// The part of the address where the resource's own has braces.
fn which<'a>(resource: &Resource, base: &'a str) -> Option<&'a str> {
    let deep = resource.which.is_some_and(|parameter| parameter.path);
    let fits = |which: &&str| !which.is_empty() && !which.contains(['#', '{', '}']) && (deep || !which.contains('/'));
    base.strip_prefix(resource.base())?.strip_suffix(resource.end()).filter(fits)
}

fn bad_query(resource: &Resource, name: &str) -> ToolError {
    let takes = resource.template().unwrap_or_else(|| resource.uri.to_owned());
    ToolError::invalid(format!("{name:?} in the query is unknown, doubled or not percent-encoded UTF-8"))
        .with("parameter", name)
        .hint(format!("the address is {takes}"))
}

/// Decodes percent-encoding (RFC 3986, 2.1); `None` if it is invalid.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = tail.split_at_checked(2)?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push(u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::ErrorCode;
    use serde_json::json;

    #[test]
    fn a_query_becomes_arguments() {
        let parse =
            |uri| ResourceAddress::parse(uri).map(|address| (address.resource.tool, Value::Object(address.args)));
        assert_eq!(parse("raspi://health").unwrap(), ("system.get_health_snapshot", json!({})));
        assert_eq!(parse("raspi://logs/app?level=warn&limit=5").unwrap().1, json!({"level": "warn", "limit": 5}));
        assert_eq!(parse("raspi://audit?tool=gpio%2Ewrite_pin").unwrap().1, json!({"tool": "gpio.write_pin"}));
        // What is no number is left to the tool's schema, which says so.
        assert_eq!(parse("raspi://audit?limit=many").unwrap().1, json!({"limit": "many"}));
        assert_eq!(
            parse("raspi://service/getty%40tty1.service").unwrap(),
            ("service.get_status", json!({"service_name": "getty@tty1.service"}))
        );
        for page in ["raspi://docs/contract/errors.md", "raspi://docs/contract%2Ferrors.md"] {
            assert_eq!(parse(page).unwrap(), ("vector.get_page", json!({"path": "contract/errors.md"})));
        }
        // A text parameter stays text.
        assert_eq!(parse("raspi://audit?tool=7&").unwrap().1, json!({"tool": "7"}));
    }

    #[test]
    fn strange_addresses_are_refused_for_what_they_are() {
        let refused = |uri: &str| ResourceAddress::parse(uri).unwrap_err().code;
        let long = format!("raspi://audit?tool={}", "x".repeat(LONGEST));
        for uri in [
            "",
            "raspi://",
            "raspi://Health",
            "raspi://health/",
            "raspi://health#x",
            "file:///etc/passwd",
            &long,
            "raspi://service",
            "raspi://service/",
            "raspi://service/a/b",
            "raspi://service/{name}",
            "raspi://service/%ff",
        ] {
            assert_eq!(refused(uri), ErrorCode::NotFound, "{uri}");
        }
        for uri in [
            "raspi://health?level=warn",
            "raspi://audit?principal=root",
            "raspi://audit?tool=a&tool=b",
            "raspi://audit?tool=%zz",
            "raspi://audit?tool=%",
            "raspi://audit?tool=%ff",
            "raspi://audit?tool=%+1",
        ] {
            assert_eq!(refused(uri), ErrorCode::InvalidArgument, "{uri}");
        }
    }
}
