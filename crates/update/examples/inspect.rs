//! Verifies a bundle against a root of trust and prints its release and images, using the update engine alone: without
//! server, agent or network.
//!
//! ```sh
//! cargo run --package raspi-mcp-update --example inspect -- lamp.root lamp-1.4.0.bundle
//! ```
//!
//! `raspi-mcp bundle verify` also checks the expiry, each image's hash, and the names in the boot image.

use std::{
    env,
    error::Error,
    fs::File,
    io::{Read, Seek, SeekFrom},
    process::ExitCode,
};
use update::{
    bundle::{BundleHead, Envelope, MAX_HEAD, Unpacker},
    trust::{MAX_SIGNED, RootOfTrust},
};

/// At most `limit` bytes from the file's current position.
fn read(file: &mut File, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn inspect(root: &str, bundle: &str) -> Result<(), Box<dyn Error>> {
    // Trusted because of its location: on a device, it is in the image.
    let roots = RootOfTrust::parse(&read(&mut File::open(root)?, MAX_SIGNED as u64)?)?;

    // The envelope is untrusted until the root of trust has made a release of it.
    let mut file = File::open(bundle)?;
    let BundleHead::Whole(envelope) = Envelope::read(&read(&mut file, MAX_HEAD as u64)?)? else {
        return Err("the file ends within its head".into());
    };
    let release = roots.verify_release(&envelope)?;
    let manifest = &release.manifest;
    println!("{} {}, counter {}, channel {}", manifest.product, manifest.version, manifest.counter, manifest.channel);
    println!("for {}; release {}", manifest.hardware.join(", "), release.digest);

    // The index is verified by the hash in the manifest, then each block by the hashes in the index.
    let index = release.index(index(&mut file, &envelope)?)?;
    let (mut unpacker, mut raw) = (Unpacker::new()?, Vec::new());
    for image in &manifest.images {
        let mut stored_bytes = 0;
        for n in index.range(image.kind) {
            let block = index.block(n);
            let length = block.stored.end - block.stored.start;
            file.seek(SeekFrom::Start(block.stored.start))?;
            unpacker.unpack(&block, &read(&mut file, length)?, &mut raw)?;
            stored_bytes += length;
        }
        let (name, size, blocks) = (image.kind.name(), image.size, index.range(image.kind).len());
        println!("{name:<5} {size} bytes in {blocks} blocks, {stored_bytes} stored, each verified");
    }
    Ok(())
}

fn index(file: &mut File, envelope: &Envelope) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(envelope.index_at))?;
    read(file, envelope.index_size())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [root, bundle] = arguments.as_slice() else {
        eprintln!("usage: inspect ROOT-OF-TRUST BUNDLE");
        return ExitCode::from(2);
    };
    match inspect(root, bundle) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{bundle}: {problem}");
            ExitCode::FAILURE
        }
    }
}
