//! The files of both pages, compressed; and what makes the released binary small: schemas from their files, and hints for the linker.

use sha2::{Digest, Sha256};
use std::{env, fs, io, path::Path};

#[path = "web/bundle.rs"]
mod bundle;

/// The functions that both halves execute when they start and are used as assistants use them, recorded by `ci/hot-functions`. They
/// are 3.5 MB of code on x86_64. The kernel maps 64 KiB around every page that is touched (`fault_around_bytes`), so among the rest
/// of the program they made 12 MB resident. A name that no function has places nothing.
const HOT: &str = "dist/hot-functions.txt";

/// A release carries the files of `schemas/`, which the contract tests hold to the types, in place of the code that makes them
/// from types: half a megabyte less of binary and of resident memory. They are compressed: 160 kB less once more. Tests add tools that
/// the files do not know, so they are for debug builds.
fn carry_schemas(out: &Path) -> io::Result<()> {
    println!("cargo:rerun-if-changed=schemas");
    println!("cargo:rustc-check-cfg=cfg(schemas_from_types)");
    let is_release = env::var("PROFILE").as_deref() == Ok("release");
    if !is_release {
        println!("cargo:rustc-cfg=schemas_from_types");
        return Ok(());
    }
    let mut rows = Vec::new();
    for namespace in fs::read_dir("schemas")? {
        let namespace = namespace?;
        // The error codes are a file, and what was released is hidden.
        if !namespace.file_type()?.is_dir() || namespace.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        // What other servers' names are made of is carried by itself, and tools for routers have their schemas from their rows.
        if ["compat", "routeros"].iter().any(|own| namespace.file_name() == *own) {
            continue;
        }
        // Tools of the owner's console, which no device has.
        if namespace.file_name() == "fleet" && env::var_os("CARGO_FEATURE_CONSOLE").is_none() {
            continue;
        }
        for file in fs::read_dir(namespace.path())? {
            let path = file?.path();
            let operation = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let name = format!("{}.{operation}", namespace.file_name().to_string_lossy());
            rows.push((name, schemas_of(&fs::read_to_string(path)?)?));
        }
    }
    rows.sort();
    // Text that many of them have in common: each compresses to half the bytes beside it.
    let samples: Vec<&[u8]> = rows.iter().map(|(_, text)| text.as_bytes()).collect();
    let common = zstd::dict::from_samples(&samples, MOST_COMMON)?;
    let mut compressor = zstd::bulk::Compressor::with_dictionary(19, &common)?;
    let mut compressed = String::new();
    for (name, text) in &rows {
        let bytes = compressor.compress(text.as_bytes())?;
        compressed += &format!("({name:?}, ({}, &{bytes:?})),\n", text.len());
    }
    fs::write(out.join("schemas.rs"), format!("(&{common:?}, &[{compressed}])"))
}

/// Descriptions and schemas of other servers' names (`src/registry/compat`).
fn carry_compat(out: &Path) -> io::Result<()> {
    const TEXTS: &str = "src/registry/compat/dbus_mcp.json";
    println!("cargo:rerun-if-changed={TEXTS}");
    let texts: serde_json::Value = serde_json::from_str(&fs::read_to_string(TEXTS)?)?;
    carry_text(&texts.to_string(), &out.join("compat.rs"))
}

/// The words that people use for tools (`src/tools/tools/ranking.rs`): 10 kB less than as text.
fn carry_words(out: &Path) -> io::Result<()> {
    const WORDS: &str = "src/tools/tools/words.txt";
    println!("cargo:rerun-if-changed={WORDS}");
    carry_text(&fs::read_to_string(WORDS)?, &out.join("words.rs"))
}

/// What `Introspect` answers (`src/transport/bus/methods.rs`): the files that packages install.
fn carry_interfaces(out: &Path) -> io::Result<()> {
    const FOLDER: &str = "dist/dbus-1/interfaces";
    println!("cargo:rerun-if-changed={FOLDER}");
    for file in fs::read_dir(FOLDER)? {
        let file = file?;
        let name = format!("{}.rs", file.file_name().to_string_lossy());
        carry_text(&fs::read_to_string(file.path())?, &out.join(name))?;
    }
    Ok(())
}

/// The length of a text, and the text compressed (`src/compressed.rs`).
fn carry_text(text: &str, to: &Path) -> io::Result<()> {
    let compressed = zstd::bulk::compress(text.as_bytes(), 19)?;
    fs::write(to, format!("({}, &{compressed:?})", text.len()))
}

/// Most bytes of what schemas have in common.
const MOST_COMMON: usize = 8192;

/// The schemas of a descriptor: everything else in it is in the tool's `Meta` as well.
fn schemas_of(descriptor: &str) -> io::Result<String> {
    let mut descriptor: serde_json::Map<String, serde_json::Value> = serde_json::from_str(descriptor)?;
    descriptor.retain(|key, _| matches!(key.as_str(), "inputSchema" | "accepts" | "outputSchema"));
    Ok(serde_json::to_string(&descriptor)?)
}

/// The files of a page, as `src/page/assets.rs` and `src/approval_page/assets.rs` have them.
fn carry_page(web: &str, prefix: &str, main: &str, to: &Path) -> io::Result<()> {
    let made = bundle::make(Path::new(web), prefix, main, |content| {
        Sha256::digest(content)[..6].iter().map(|byte| format!("{byte:02x}")).collect()
    })?;
    let row = |file: &bundle::Made| {
        let bundle::Made { path, content_type, gzip } = file;
        format!("Asset {{ path: {path:?}, content_type: {content_type:?}, gzip: &{gzip:?} }},\n")
    };
    let rows: String = made.iter().map(row).collect();
    fs::write(to, format!("&[{rows}]"))
}

/// Both are hints: a linker that does not know one says so and goes on.
fn hint(out: &Path) -> io::Result<()> {
    if env::var("CARGO_CFG_TARGET_ENV").as_deref() != Ok("gnu") {
        return Ok(());
    }
    // Relative relocations, packed (`DT_RELR`): half a megabyte less, since the loader reads them all at every start. binutils has
    // it from 2.38 on, for arm64 from 2.43; the loader has to be glibc 2.36 or newer.
    println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    // A folder whose `ld` links in the place of the compiler's own, for compilers whose linker does not know that (ci/cross).
    println!("cargo:rerun-if-env-changed=RASPI_MCP_LD");
    let packing = env::var("RASPI_MCP_LD");
    if let Ok(folder) = &packing {
        println!("cargo:rustc-link-arg-bins=-B{folder}");
        // Functions with the same code become one, which LLVM's linker can and GNU's cannot. No function's address is compared.
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    }
    // Between parts that are mapped in different ways lies a page, and GNU's linker takes 64 KiB for one on arm64. No kernel of a
    // Raspberry Pi has pages larger than a Pi 5's (decision 198). LLVM's linker pads no file, and with its 64 KiB memory is the same at
    // each start (decision 469).
    if packing.is_err() && env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("aarch64") {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,max-page-size=16384");
    }
    println!("cargo:rerun-if-changed={HOT}");
    // A build that is not optimised has other functions, and ten times as many: it would only link more slowly, for ten minutes and more
    // where it is a release otherwise (CARGO_PROFILE_RELEASE_OPT_LEVEL=0).
    if env::var("PROFILE").as_deref() == Ok("release") && env::var("OPT_LEVEL").as_deref() != Ok("0") {
        let names = fs::read_to_string(HOT)?;
        // A compiler adds a number to a name of which there are several copies; what it takes for unlikely has sections of its own.
        let sections: String =
            names.lines().map(|name| format!(" *(.text.{name}* .text.unlikely.{name}*)\n")).collect();
        // LLVM's linker folds equal functions only where they are in the same output section, so there they are the first of .text.
        // GNU's would take that for a section of another segment.
        let (section, next) =
            if env::var_os("RASPI_MCP_LD").is_some() { (".text", ".init") } else { (".text.hot", ".text") };
        let script = out.join("hot.ld");
        fs::write(&script, format!("SECTIONS {{ {section} : {{\n{sections}}} }} INSERT BEFORE {next};\n"))?;
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
    Ok(())
}

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    carry_schemas(Path::new(&out))?;
    carry_compat(Path::new(&out))?;
    carry_words(Path::new(&out))?;
    carry_interfaces(Path::new(&out))?;
    println!("cargo:rerun-if-changed=web");
    carry_page("web", "/page/", "main.js", &Path::new(&out).join("page.rs"))?;
    carry_page("web/approval", "/", "page.js", &Path::new(&out).join("approval.rs"))?;
    hint(Path::new(&out))
}
