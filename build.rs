//! Tells the linker to pack relative relocations (`DT_RELR`): half a megabyte less of file and of resident memory, since the
//! loader reads them all at every start. Linkers that cannot (binutils before 2.38, on arm64 before 2.43) say so and go on; the
//! loader has to be glibc 2.36 or newer, which every image with such a linker has.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
