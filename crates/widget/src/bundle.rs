//! Joins the ES modules of the chat into one: each becomes a function that returns its exports.
//!
//! This works because the modules keep three rules, which the tests check: imports are of names, from a file beside, on one line;
//! exports are declarations; and no text spans lines. Lines that are comments only, and indentation, are left out.

use std::fmt::Write as _;

const IMPORT: &str = "import ";
const EXPORT: &str = "export ";

/// A module: its file name and its source.
pub(crate) type Module = (&'static str, &'static str);

/// The modules as one, which exports `export` of the last one. A module comes after those that it imports.
pub(crate) fn bundle(modules: &[Module], export: &str) -> String {
    let mut joined = String::new();
    for (name, source) in modules {
        let mut exports = Vec::new();
        // Writing to a string cannot fail.
        let _ = writeln!(joined, "const {} = (() => {{", identifier(name));
        for line in code_lines(source) {
            let line = without_export(line, &mut exports);
            let _ = match import(line) {
                Some((names, from)) => writeln!(joined, "const {names} = {from};"),
                None => writeln!(joined, "{line}"),
            };
        }
        let _ = writeln!(joined, "return {{ {} }};\n}})();", exports.join(", "));
    }
    let last = modules.last().map_or("", |(name, _)| name);
    let _ = writeln!(joined, "export const {{ {export} }} = {};", identifier(last));
    joined
}

/// The lines without indentation that are not comments only.
pub(crate) fn code_lines(source: &str) -> impl Iterator<Item = &str> {
    let mut is_comment = false;
    source.lines().map(str::trim).filter(move |line| {
        let starts = line.starts_with("/**");
        let was_comment = is_comment || starts;
        is_comment = was_comment && !line.ends_with("*/");
        !was_comment && !line.is_empty() && !line.starts_with("//")
    })
}

/// `tool-call.js` is `$tool_call`.
fn identifier(name: &str) -> String {
    let stem = name.strip_suffix(".js").unwrap_or(name);
    format!("${}", stem.replace('-', "_"))
}

/// The names of an import, as a pattern, and the module.
fn import(line: &str) -> Option<(String, String)> {
    let (names, from) = line.strip_prefix(IMPORT)?.split_once(" from './")?;
    let from = from.strip_suffix("';")?;
    Some((names.replace(" as ", ": "), identifier(from)))
}

/// The declaration of an export, whose name is noted; other lines as they are.
fn without_export<'l>(line: &'l str, exports: &mut Vec<&'l str>) -> &'l str {
    let Some(declaration) = line.strip_prefix(EXPORT) else {
        return line;
    };
    let is_keyword = |word: &&str| matches!(*word, "async" | "function" | "function*" | "const" | "class");
    let name = declaration
        .split(' ')
        .find(|word| !is_keyword(word))
        .and_then(|word| word.split(|char: char| !char.is_alphanumeric()).next());
    exports.extend(name);
    declaration
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_become_functions() {
        let first = "// A comment.\n/** Text\n * more */\nexport const one = 1;\n\nexport async function* two(a) {\n  // Inside.\n  yield a; // Kept.\n}\n";
        let last = "import { one, two as other } from './a-b.js';\nexport class Three {}\n";
        let expected = "const $a_b = (() => {\nconst one = 1;\nasync function* two(a) {\nyield a; // Kept.\n}\nreturn { one, two };\n})();\n\
                        const $c = (() => {\nconst { one, two: other } = $a_b;\nclass Three {}\nreturn { Three };\n})();\n\
                        export const { Three } = $c;\n";
        let joined = bundle(&[("a-b.js", first), ("c.js", last)], "Three");
        assert_eq!(joined, expected);
    }
}
