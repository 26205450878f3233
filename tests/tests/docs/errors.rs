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

/// The variants of an enum with their comments, in order.
fn variants(text: &str, name: &str) -> Vec<(String, String)> {
    let (_, rest) = text.split_once(&format!("pub enum {name} {{\n")).expect("the enum");
    let (body, _) = rest.split_once("\n}\n").expect("its end");
    let (mut found, mut comment) = (Vec::new(), Vec::new());
    for line in body.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("/// ") {
            comment.push(words);
        } else {
            let variant = line.split([',', '(']).next().unwrap_or_default();
            found.push((variant.to_owned(), source::cell(&comment)));
            comment.clear();
        }
    }
    found
}

/// `Code::InvalidArgument` as gRPC spells it.
fn code(value: &str) -> String {
    let name = value.rsplit("::").next().unwrap_or_default();
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
    let (names, codes) = (arms(&text, "fn as_str("), arms(&text, "fn code("));
    let mut table = "\n| reason | code | meaning |\n|---|---|---|\n".to_owned();
    for (variant, meaning) in variants(&text, "Reason").into_iter().filter(|(name, _)| name != "Field") {
        let name = names.get(variant.as_str()).expect("a name").trim_matches('"');
        let code = code(codes.get(variant.as_str()).expect("a code"));
        writeln!(table, "| `{name}` | `{code}` | {meaning} |").expect("text");
    }
    generated::check(DOCUMENT, "reasons", &format!("{table}\n"));
}

#[test]
fn reasons_of_fields() {
    let text = source::read("crates/domain/src/violation.rs");
    let bounds = source::read("crates/domain/src/bounds.rs");
    let names = arms(&text, "fn as_str(");
    let mut table = "\n| reason | meaning |\n|---|---|\n".to_owned();
    for (variant, meaning) in variants(&text, "ViolationReason") {
        let name = names.get(variant.as_str()).expect("a name").trim_matches('"');
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

#[test]
fn no_code_of_http_is_missing() {
    let document = markdown::read(DOCUMENT).text;
    let of_http = rust_files().into_iter().filter(|file| {
        let path = file.to_string_lossy();
        path.contains("/gateway/src/http/") || path.contains("/runtime/src/http/")
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
