//! The restricted templates of a policy: print values, choose and repeat.
//!
//! Templates come from tenants, so nothing in them may grow without bound: no assignments, arithmetic, concatenation, functions
//! or includes. Steps and output are bounded, and so is what all steps of a context read: one step can read a whole value.

pub(crate) mod language;
pub(crate) mod values;

use std::io;

use minijinja::machinery::{WhitespaceConfig, parse};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{
    Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value, escape_formatter, filters, tests,
};

/// Most bytes of a template's output.
pub const TEMPLATE_OUTPUT_BYTES_MAX: usize = 256 * 1024;
/// Most steps of a template: about one per value, text, choice and repetition.
pub const TEMPLATE_STEPS_MAX: u64 = 20_000;
/// Most bytes that the steps of all templates of a context may read, if each reads all values of its template: a second or two.
pub const TEMPLATE_READ_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The names that a template of instructions may use: the client context.
pub(crate) const CLIENT_NAMES: [&str; 6] = ["page_url", "referrer", "user_agent", "locale", "timezone", "metadata"];
/// The names that a template of a tool's results may use.
pub(crate) const RESULT_NAMES: [&str; 3] = ["input", "output", "outcome"];

/// Most tags of a template that is rendered at once. Each reads all values, a client's 64 KiB, at most a few times.
const CHEAP_TAGS_MAX: usize = 64;

/// Whether rendering can take longer than some milliseconds: the template repeats, or has many tags.
pub(crate) fn may_be_costly(template: &str) -> bool {
    let tags = template.matches("{{").count() + template.matches("{%").count();
    let may_repeat = template.contains("{%") && template.contains("for");
    may_repeat || tags > CHEAP_TAGS_MAX
}

/// Why a template failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TemplateError {
    /// The output is too long.
    TooLong,
    /// Too many steps.
    TooManySteps,
    /// A value has another type than the template needs. The value itself is not included.
    Unfit { line: usize, rule: String },
}

/// The errors of a template over these names, one sentence each; empty: it is valid.
pub(crate) fn errors(template: &str, names: &[&str]) -> Vec<String> {
    let parsed = parse(template, "", SyntaxConfig, WhitespaceConfig::default());
    let tree = match parsed {
        Ok(tree) => tree,
        Err(error) => return vec![format!("line {}: {}", line(&error), describe(&error))],
    };
    let mut found = language::disallowed(&tree);
    if !found.is_empty() {
        return found;
    }
    let environment = environment();
    match environment.template_from_str(template) {
        Ok(compiled) => {
            let mut unknown: Vec<String> = compiled
                .undeclared_variables(false)
                .into_iter()
                .filter(|name| !names.contains(&name.as_str()))
                .collect();
            unknown.sort();
            let known = names.join(", ");
            let unknown = unknown.iter().map(|name| format!("`{name}` is unknown: use {known}"));
            found.extend(unknown);
        }
        Err(error) => found.push(format!("line {}: {}", line(&error), describe(&error))),
    }
    found
}

/// The values of a template.
#[derive(Debug)]
pub(crate) struct Values {
    pub(crate) values: Value,
    /// The bytes of all texts and documents in them: a step reads at most about as many.
    pub(crate) bytes: usize,
}

/// Renders the templates of one context. Compiles each once; a context without templates makes no environment.
#[derive(Debug)]
pub(crate) struct Renderer<'policy> {
    environment: Option<Environment<'policy>>,
    read_bytes_left: u64,
}

impl<'policy> Renderer<'policy> {
    pub(crate) fn new() -> Self {
        Self { environment: None, read_bytes_left: TEMPLATE_READ_BYTES_MAX }
    }

    /// Renders a template without [`errors`]; missing values are empty.
    pub(crate) fn render(&mut self, template: &'policy str, values: &Values) -> Result<String, TemplateError> {
        let bytes = u64::try_from(values.bytes).unwrap_or(u64::MAX).max(1);
        let steps = TEMPLATE_STEPS_MAX.min(self.read_bytes_left / bytes);
        let environment = self.environment.get_or_insert_with(environment);
        environment.set_fuel(Some(steps));
        let (rendered, taken) = rendered(environment, template, &values.values);
        self.read_bytes_left = self.read_bytes_left.saturating_sub(taken.unwrap_or(steps).saturating_mul(bytes));
        rendered
    }
}

/// The text of a template, and the steps that it took; `None`: it failed.
fn rendered<'policy>(
    environment: &mut Environment<'policy>,
    template: &'policy str,
    values: &Value,
) -> (Result<String, TemplateError>, Option<u64>) {
    let mut output = Bounded::default();
    // Its text is its name.
    let compiled = match environment.get_template(template) {
        Err(_) => environment.add_template(template, template),
        Ok(_) => Ok(()),
    };
    let rendered = compiled
        .and_then(|()| environment.get_template(template))
        .and_then(|compiled| compiled.render_captured_to(values, &mut output));
    let taken = match rendered {
        Ok(captured) => captured.state().fuel_levels().map(|(taken, _)| taken),
        Err(error) => return (Err(refusal(&error, &output)), None),
    };
    let text = String::from_utf8(output.bytes)
        .map_err(|error| TemplateError::Unfit { line: 0, rule: error.utf8_error().to_string() });
    (text, taken)
}

fn environment<'source>() -> Environment<'source> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_formatter(print);
    environment.add_filter("default", filters::default);
    environment.add_filter("first", filters::first);
    environment.add_filter("last", filters::last);
    environment.add_filter("length", filters::length);
    environment.add_filter("lower", filters::lower);
    environment.add_filter("trim", filters::trim);
    environment.add_filter("upper", filters::upper);
    environment.add_test("defined", tests::is_defined);
    environment.add_test("mapping", tests::is_mapping);
    environment.add_test("number", tests::is_number);
    environment.add_test("sequence", tests::is_sequence);
    environment.add_test("string", tests::is_string);
    environment.add_test("undefined", tests::is_undefined);
    environment
}

/// Prints texts and numbers as they are, and everything else as JSON.
fn print(output: &mut Output<'_>, state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    let nested = matches!(value.kind(), ValueKind::Bool | ValueKind::Seq | ValueKind::Map);
    if !nested {
        return escape_formatter(output, state, value);
    }
    let json = serde_json::to_string(value).map_err(|_| ErrorKind::BadSerialization)?;
    Ok(output.write_str(&json)?)
}

/// Only kind and line: the detail of an error may contain a value.
fn refusal(error: &Error, output: &Bounded) -> TemplateError {
    if output.full {
        return TemplateError::TooLong;
    }
    if error.kind() == ErrorKind::OutOfFuel {
        return TemplateError::TooManySteps;
    }
    TemplateError::Unfit { line: line(error), rule: error.kind().to_string() }
}

fn line(error: &Error) -> usize {
    error.line().unwrap_or_default()
}

fn describe(error: &Error) -> String {
    let detail = error.detail().map(str::to_owned);
    detail.unwrap_or_else(|| error.kind().to_string())
}

/// Writes as much as fits.
#[derive(Debug, Default)]
struct Bounded {
    bytes: Vec<u8>,
    full: bool,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > TEMPLATE_OUTPUT_BYTES_MAX {
            self.full = true;
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
