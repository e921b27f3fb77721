//! Texts that build.rs compressed into the program (zstd, RFC 8878).

/// The length of a text in bytes, and the text compressed: what `include!` of a file of build.rs gives.
pub type Compressed = (usize, &'static [u8]);

/// The text.
///
/// # Panics
/// If the file is not one of build.rs.
pub fn text((length, bytes): Compressed) -> String {
    let text = zstd::bulk::decompress(bytes, length).expect("build.rs compressed it");
    String::from_utf8(text).expect("build.rs read it as text")
}
