//! Thresholds, and what follows what.

use crate::update::{a_boot, a_bundle, an_image, envelope, roots};
use raspi_mcp::update::bundle::Fault;

#[test]
fn a_manifest_needs_two_keys() {
    let boot = a_boot(4 << 20, &[]);
    let bundle = a_bundle("1.0.0", 1, &boot, &an_image(64 << 10, 1), &[11]);
    let refused = roots().verify_release(&envelope(&bundle)).unwrap_err();
    assert!(matches!(refused, Fault::Threshold { have: 1, need: 2, .. }), "{refused}");
}
