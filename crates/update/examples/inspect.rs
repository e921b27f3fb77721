//! Verifies a bundle by a root of trust and prints its release and images: the update engine alone, without server, agent or network.
//!
//! ```sh
//! cargo run --package raspi-mcp-update --example inspect -- lamp.root lamp-1.4.0.bundle
//! ```
//!
//! `raspi-mcp bundle verify` also looks at expiry, at each image's hash, and at the names in the boot image.

use std::{
    env,
    error::Error,
    fs::File,
    io::{Read, Seek, SeekFrom},
    process::ExitCode,
};
use update::{
    bundle::{Envelope, Head, MAX_HEAD, Unpacker},
    trust::{MAX_SIGNED, Roots},
};

/// At most `limit` bytes from where the file stands.
fn read(file: &mut File, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn inspect(root: &str, bundle: &str) -> Result<(), Box<dyn Error>> {
    // Believed because of where it lies: on a device, in the image.
    let roots = Roots::parse(&read(&mut File::open(root)?, MAX_SIGNED as u64)?)?;

    // Nothing of an envelope is believed until the root of trust has made a release of it.
    let mut file = File::open(bundle)?;
    let Head::Whole(envelope) = Envelope::read(&read(&mut file, MAX_HEAD as u64)?)? else {
        return Err("the file ends within its head".into());
    };
    let release = roots.verify_release(&envelope)?;
    let manifest = &release.manifest;
    println!("{} {}, counter {}, channel {}", manifest.product, manifest.version, manifest.counter, manifest.channel);
    println!("for {}; release {}", manifest.hardware.join(", "), release.digest);

    // The index by the hash that the manifest names, then each block by the hashes of the index.
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
