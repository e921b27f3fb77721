//! The services that tools may touch: `service.allow`.

use base::{error::ToolError, os::glob::Glob};

/// Whether `allow` names the unit by its own name, the first of `names`. Aliases do not count: they may be redirected
/// to another unit.
///
/// # Errors
/// `permission_denied` with the missing permission, and where to grant it.
pub fn check(allow: &[String], names: &[String], verb: &str) -> Result<(), ToolError> {
    let id = names.first().map_or("", String::as_str);
    if allow.iter().any(|pattern| Glob::of_bytes(pattern).fits(id)) {
        return Ok(());
    }
    let permission = format!("service:{verb}:{id}");
    Err(ToolError::denied(format!("the configuration does not let tools {verb} {id}"))
        .with("service_name", id)
        .with("required_permission", permission)
        .hint(format!("the owner opens it with `raspi-mcp allow` and the tool's name, for {id}, as root on the device, or adds it to service.allow")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_allowed_by_its_own_name() {
        let allow = ["web-*.service".to_owned(), "db.service".to_owned()];
        let may = |names: &[&str]| {
            check(&allow, &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), "stop").is_ok()
        };
        assert!(may(&["web-1.service"]) && may(&["db.service"]));
        assert!(!may(&["web.service"]) && !may(&["x.service", "db.service"]) && !may(&[]));
        let refused = check(&[], &["a.service".into()], "stop").unwrap_err();
        assert_eq!(refused.details["required_permission"], "service:stop:a.service");
    }
}
