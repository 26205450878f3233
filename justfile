# The daily commands, for `just` (https://just.systems). CONTRIBUTING.md has each of them without it.

# Lists the recipes.
default:
    @just --list --unsorted

# Starts everything: servers, roles, a demo tenant.
dev *arguments:
    cargo dev {{ arguments }}

# Runs every test.
test:
    cargo test --workspace

# Runs the tests of one pure crate whose names contain a word: `just one formats anthropic`.
one crate *name:
    cargo test -p {{ crate }} {{ name }}

# Runs one suite, a file or folder of a `tests` folder: `just suite wire retries`.
suite suite *name:
    cargo test --test {{ suite }} {{ name }}

# Formats everything, and checks format, imports and lints as CI does.
lint:
    cargo fmt --all
    python3 .ci/import-rules
    cargo clippy --workspace --all-targets -- -D warnings

# Writes the snapshots and the generated parts of documents of some tests: review the difference before the commit.
accept *arguments:
    INSTA_UPDATE=always cargo test {{ arguments }}

# Builds the documentation of all crates, private items too.
doc:
    cargo doc --workspace --no-deps --document-private-items --open

# Changes one line after another of a crate and lists the changes that no test of it notices.
mutants crate *arguments:
    cargo mutants --package {{ crate }} {{ arguments }}

# Runs the unmodified clients against the built program.
clients:
    cargo build --bin hansard
    tests/clients/run check

# Writes the types of the TypeScript client from the description of a gateway that runs (`just dev`).
client-types url="http://127.0.0.1:7303/openapi.json":
    npm run --prefix clients/typescript generate -- {{ url }}

# Measures the product beside NATS and Postgres alone.
bench *arguments:
    cargo run --release -p bench -- --own-stack {{ arguments }}

# Runs what CI runs.
ci:
    .ci/run
