//! `docs/reference/errors.md`: the stable reasons of gRPC, and every error code of HTTP endpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use super::source::{self, rust_files};
use tests::generated;

use super::markdown;

const DOCUMENT: &str = "docs/reference/errors.md";

/// The pairs of `Self::Variant => value` in a part of a source, including those with several variants.
fn arms<'a>(text: &'a str, function: &str) -> BTreeMap<&'a str, &'a str> {
    let (_, rest) = text.split_once(function).expect("the function");
    let (body, _) = rest.split_once("\n    }\n").expect("its end");
    let mut found = BTreeMap::new();
    let mut waiting = Vec::new();
    for piece in body.split("Self::").skip(1) {
        let variant = piece.split(|sign: char| !sign.is_alphanumeric()).next().unwrap_or_default();
        waiting.push(variant);
        if let Some((_, value)) = piece.split_once("=>") {
            let value = value.split(',').next().unwrap_or_default().trim();
            found.extend(waiting.drain(..).map(|variant| (variant, value)));
        }
    }
    found
}

/// A reason of an enum.
struct ReasonRow {
    variant: String,
    /// The name for callers.
    name: String,
    meaning: String,
}

/// The variants of an enum of reasons, in order, but for those that are no names.
fn variants(text: &str, name: &str) -> Vec<ReasonRow> {
    let (_, rest) = text.split_once(&format!("pub enum {name} {{\n")).expect("the enum");
    let (body, _) = rest.split_once("\n}\n").expect("its end");
    let (mut found, mut comment, mut attribute) = (Vec::new(), Vec::new(), "");
    for line in body.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("/// ") {
            comment.push(words);
        } else if line.starts_with('#') {
            attribute = line;
        } else {
            let variant = line.split([',', '(']).next().unwrap_or_default();
            let given = attribute.split('"').nth(1);
            let name = given.map_or_else(|| upper_case(variant), str::to_owned);
            if attribute != "#[strum(disabled)]" {
                found.push(ReasonRow { variant: variant.to_owned(), name, meaning: source::cell(&comment) });
            }
            comment.clear();
            attribute = "";
        }
    }
    found
}

/// `Code::InvalidArgument` as gRPC spells it.
fn code(value: &str) -> String {
    upper_case(value.rsplit("::").next().unwrap_or_default())
}

/// `InvalidArgument` as `INVALID_ARGUMENT`.
fn upper_case(name: &str) -> String {
    let mut code = String::new();
    for sign in name.chars().filter(|sign| sign.is_alphanumeric()) {
        if sign.is_uppercase() && !code.is_empty() {
            code.push('_');
        }
        code.push(sign.to_ascii_uppercase());
    }
    code
}

#[test]
fn reasons_of_grpc() {
    let text = source::read("crates/wire/src/reason.rs");
    let codes = arms(&text, "fn code(");
    let mut table = "\n| reason | code | meaning |\n|---|---|---|\n".to_owned();
    for ReasonRow { variant, name, meaning } in variants(&text, "Reason") {
        let code = code(codes.get(variant.as_str()).expect("a code"));
        writeln!(table, "| `{name}` | `{code}` | {meaning} |").expect("text");
    }
    generated::check(DOCUMENT, "reasons", &format!("{table}\n"));
}

#[test]
fn reasons_of_fields() {
    let text = source::read("crates/domain/src/violation.rs");
    let bounds = source::read("crates/domain/src/bounds.rs");
    let mut table = "\n| reason | meaning |\n|---|---|\n".to_owned();
    for ReasonRow { name, meaning, .. } in variants(&text, "ViolationReason") {
        let meaning = source::with_constants(&meaning.replace("crate::bounds::", ""), &bounds);
        writeln!(table, "| `{name}` | {meaning} |").expect("text");
    }
    generated::check(DOCUMENT, "fields", &format!("{table}\n"));
}

/// Whether a literal is a code: upper case, with an underscore.
fn is_code(literal: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_uppercase() || sign == '_';
    literal.len() > 5 && !literal.starts_with('_') && literal.contains('_') && literal.chars().all(is_sign)
}

/// The folders whose literals in upper case are codes.
const OF_HTTP: [&str; 4] = ["/dashboard/src/", "/gateway/src/http/", "/http-listener/src/", "/runtime/src/http/"];

#[test]
fn no_code_of_http_is_missing() {
    let document = markdown::read(DOCUMENT).text;
    let of_http = rust_files().into_iter().filter(|file| {
        let path = file.to_string_lossy();
        OF_HTTP.iter().any(|folder| path.contains(folder))
    });
    let mut missing = BTreeSet::new();
    for file in of_http {
        let text = fs::read_to_string(&file).expect("a source");
        let product = text.split("mod tests {").next().unwrap_or_default();
        // Examples of the OpenAPI document are no codes.
        let product: String = product.lines().filter(|line| !line.trim_start().starts_with("#[schema")).collect();
        let literals = product.split('"').skip(1).step_by(2).filter(|literal| is_code(literal));
        let is_missing = |code: &&str| !document.contains(&format!("`{code}`"));
        // Reasons of fields are an enum.
        let absent = literals.filter(|code| code.starts_with("FIELD_") || is_missing(code));
        missing.extend(absent.map(str::to_owned));
    }
    assert!(missing.is_empty(), "{DOCUMENT} lacks {missing:?}");
}
