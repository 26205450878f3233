//! Compiles `proto/` with protox, so that no protoc is needed.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message as _;

/// Messages that contain a secret: their `Debug` is written by hand and hides it.
const SECRET: [&str; 6] = [
    "hansard.operate.v1.SigningKey",
    "hansard.operate.v1.AddSigningKeyRequest",
    "hansard.operate.v1.AddSigningKeyResponse",
    "hansard.operate.v1.CreateApiKeyResponse",
    "hansard.operate.v1.RotateApiKeyResponse",
    "hansard.operate.v1.CreateServiceTokenResponse",
];

const FILES: [&str; 12] = [
    "hansard/event/v1/content.proto",
    "hansard/event/v1/event.proto",
    "hansard/event/v1/commit.proto",
    "hansard/write/v1/write.proto",
    "hansard/read/v1/read.proto",
    "hansard/history/v1/history.proto",
    "hansard/document/v1/document.proto",
    "hansard/run/v1/part.proto",
    "hansard/run/v1/model_call.proto",
    "hansard/run/v1/run.proto",
    "hansard/operate/v1/registry.proto",
    "hansard/operate/v1/audit.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    println!("cargo::rerun-if-changed={}", root.display());
    let descriptors = protox::compile(FILES, [&root])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().bytes(".").skip_debug(SECRET).compile_fds(descriptors)?;
    Ok(())
}
