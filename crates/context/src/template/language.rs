//! The allowed part of the template language: a template with any other node is rejected.

use minijinja::machinery::Span;
use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, ForLoop, Stmt};

/// The allowed filters.
pub(crate) const FILTERS: [&str; 7] = ["default", "first", "last", "length", "lower", "trim", "upper"];
/// The allowed tests.
pub(crate) const TESTS: [&str; 6] = ["defined", "mapping", "number", "sequence", "string", "undefined"];

/// The nodes of a parsed template that are not allowed, by line.
pub(super) fn disallowed(tree: &Stmt<'_>) -> Vec<String> {
    let mut found = Vec::new();
    statement(tree, &mut found);
    found
}

fn statements(nodes: &[Stmt<'_>], found: &mut Vec<String>) {
    for node in nodes {
        statement(node, found);
    }
}

fn statement(node: &Stmt<'_>, found: &mut Vec<String>) {
    match node {
        Stmt::Template(template) => statements(&template.children, found),
        Stmt::EmitRaw(_) => {}
        Stmt::EmitExpr(emitted) => expression(&emitted.expr, found),
        Stmt::IfCond(choice) => {
            expression(&choice.expr, found);
            statements(&choice.true_body, found);
            statements(&choice.false_body, found);
        }
        Stmt::ForLoop(repetition) => for_loop(repetition, repetition.span(), found),
        Stmt::WithBlock(node) => refuse(found, node.span(), "`with`"),
        Stmt::Set(node) => refuse(found, node.span(), "`set`"),
        Stmt::SetBlock(node) => refuse(found, node.span(), "`set`"),
        Stmt::AutoEscape(node) => refuse(found, node.span(), "`autoescape`"),
        Stmt::FilterBlock(node) => refuse(found, node.span(), "`filter`"),
        Stmt::Do(node) => refuse(found, node.span(), "`do`"),
    }
}

fn for_loop(node: &ForLoop<'_>, span: Span, found: &mut Vec<String>) {
    if node.recursive {
        refuse(found, span, "`recursive`");
    }
    expression(&node.iter, found);
    expressions(node.filter_expr.as_ref(), found);
    statements(&node.body, found);
    statements(&node.else_body, found);
}

fn expressions<'a>(nodes: impl IntoIterator<Item = &'a Expr<'a>>, found: &mut Vec<String>) {
    for node in nodes {
        expression(node, found);
    }
}

fn expression(node: &Expr<'_>, found: &mut Vec<String>) {
    match node {
        Expr::Var(_) | Expr::Const(_) => {}
        Expr::UnaryOp(operation) => expression(&operation.expr, found),
        Expr::BinOp(operation) => {
            if let Some(name) = growing(operation.op) {
                refuse(found, operation.span(), name);
            }
            expression(&operation.left, found);
            expression(&operation.right, found);
        }
        Expr::Compare(comparison) => {
            expression(&comparison.expr, found);
            expressions(comparison.ops.iter().map(|op| &op.expr), found);
        }
        Expr::IfExpr(choice) => {
            expression(&choice.test_expr, found);
            expression(&choice.true_expr, found);
            expressions(choice.false_expr.as_ref(), found);
        }
        Expr::GetAttr(access) => expression(&access.expr, found),
        Expr::GetItem(access) => {
            expression(&access.expr, found);
            expression(&access.subscript_expr, found);
        }
        Expr::Filter(filter) => {
            known(found, filter.span(), filter.name, &FILTERS);
            expressions(filter.expr.as_ref(), found);
            arguments(&filter.args, filter.span(), found);
        }
        Expr::Test(test) => {
            known(found, test.span(), test.name, &TESTS);
            expression(&test.expr, found);
            arguments(&test.args, test.span(), found);
        }
        Expr::List(list) => expressions(&list.items, found),
        Expr::Map(node) => refuse(found, node.span(), "a map"),
        Expr::Slice(node) => refuse(found, node.span(), "a slice"),
        Expr::Call(node) => refuse(found, node.span(), "a call"),
    }
}

fn arguments(arguments: &[CallArg<'_>], span: Span, found: &mut Vec<String>) {
    for argument in arguments {
        match argument {
            CallArg::Pos(node) | CallArg::Kwarg(_, node) => expression(node, found),
            CallArg::PosSplat(_) | CallArg::KwargSplat(_) => refuse(found, span, "`*`"),
        }
    }
}

/// The name of an operator whose result can be larger than its operands.
fn growing(operator: BinOpKind) -> Option<&'static str> {
    match operator {
        BinOpKind::Eq
        | BinOpKind::Ne
        | BinOpKind::Lt
        | BinOpKind::Lte
        | BinOpKind::Gt
        | BinOpKind::Gte
        | BinOpKind::ScAnd
        | BinOpKind::ScOr
        | BinOpKind::In => None,
        BinOpKind::Concat => Some("`~`"),
        BinOpKind::Add
        | BinOpKind::Sub
        | BinOpKind::Mul
        | BinOpKind::Div
        | BinOpKind::FloorDiv
        | BinOpKind::Rem
        | BinOpKind::Pow => Some("arithmetic"),
    }
}

fn known(found: &mut Vec<String>, span: Span, name: &str, names: &[&str]) {
    if !names.contains(&name) {
        let names = names.join(", ");
        let line = span.start_line;
        found.push(format!("line {line}: `{name}` is unknown: use {names}"));
    }
}

fn refuse(found: &mut Vec<String>, span: Span, what: &str) {
    let line = span.start_line;
    found.push(format!("line {line}: {what} is not part of the language: use values, filters, `if` and `for`"));
}
