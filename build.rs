//! Tells the linker how to lay the binary out, so that less of it is loaded and stays resident. Both are hints: a linker that
//! knows them not says so and goes on.

use std::{env, fs, path::Path};

/// Code that a running server seldom or never reaches: TLS and what asks others over it, doors of the command line, the making of
/// certificates, the printing of backtraces. The kernel maps 64 KiB around every page that is touched (`fault_around_bytes`), so
/// code that lies among busy code is resident without being used; here it lies behind it. Matched against the names of sections,
/// which have the names of functions in them.
const SELDOM: &[&str] = &[
    "rustls",
    "webpki",
    "reqwest",
    "rcgen",
    "yasna",
    "gimli",
    "addr2line",
    "backtrace",
    "rustc_demangle",
    "hyper_util*client",
    "hyper*client",
    "tower_http",
    "idna",
    "icu_",
    "3url",
    "raspi_mcp*doctor",
    "raspi_mcp*bridge*link",
    "raspi_mcp*client",
    "raspi_mcp*cli",
    "raspi_mcp*3tls",
    "raspi_mcp*3jwt",
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_ENV").as_deref() != Ok("gnu") {
        return;
    }
    // Relative relocations, packed (`DT_RELR`): half a megabyte less, since the loader reads them all at every start. binutils has
    // it from 2.38 on, for arm64 from 2.43; the loader has to be glibc 2.36 or newer.
    println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    let folder = env::var("OUT_DIR").expect("cargo names a folder for what a build script makes");
    let script = Path::new(&folder).join("seldom.ld");
    let patterns: String = SELDOM.iter().map(|name| format!(" *(.text.*{name}*)\n")).collect();
    fs::write(&script, format!("SECTIONS {{ .text.seldom : {{\n{patterns}}} }} INSERT AFTER .text;\n"))
        .expect("it can be written");
    println!("cargo:rustc-link-arg-bins=-Wl,-T,{}", script.display());
}
