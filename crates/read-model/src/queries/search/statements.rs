//! The statements of the search. They differ in the way to the candidates and in the number of groups of alternative terms, so each
//! combination is a statement with a plan of its own.

use std::sync::LazyLock;

use search::{PROBES_PER_TERM, QUERY_CLAUSES_MAX, QueryTerms};

use super::query::CANDIDATES_MAX;
use crate::queries::statements::by_owner;

/// The first argument of a group of alternatives, in statements of documents.
const FIRST_GROUP: usize = 12;
/// The probes of the terms that all documents have, in statements of blocks. Those of groups follow.
const PROBES: usize = 7;
/// The bit of a filter at the remainder of a probe.
const BIT: &str = "get_bit(filter, {probe} % (8 * octet_length(filter)))";

/// The ways to candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Those of some blocks; of one owner, if there is a column.
    Blocks(Option<OwnerColumn>),
    /// Those of the conversations of one owner.
    Owner(OwnerColumn),
}

/// The column of an owner: `session_id`, `user_id` or `channel_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OwnerColumn(pub(super) usize);

/// The terms that a statement has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Whether there are terms that all documents have.
    pub(super) has_all: bool,
    /// The number of groups of alternatives.
    pub(super) groups: usize,
}

impl Shape {
    pub(super) fn of(terms: &QueryTerms) -> Self {
        Self { has_all: !terms.all.is_empty(), groups: terms.any.len() }
    }
}

/// The statements of one way, by the number of groups; without and with terms that all documents have.
type Statements = [Vec<String>; 2];

static BLOCKS: LazyLock<Statements> =
    LazyLock::new(|| statements(|shape| include_str!("blocks.sql").replace("{filters}", &filters(shape))));
static BY_BLOCKS: LazyLock<Statements> = LazyLock::new(|| {
    let sql = candidates_and_page(include_str!("candidates_of_blocks.sql"));
    of_documents(&sql.replace("{owner}", "$11::text IS NULL"))
});
static BY_BLOCKS_OF_OWNER: LazyLock<[Statements; 3]> = LazyLock::new(|| {
    let sql = candidates_and_page(include_str!("candidates_of_blocks.sql"));
    by_owner(&sql.replace("{owner}", "conversation.{owner_id} = $11")).map(|sql| of_documents(&sql))
});
static BY_OWNER: LazyLock<[Statements; 3]> = LazyLock::new(|| {
    let sql = candidates_and_page(include_str!("candidates_of_owner.sql"))
        .replace("{owner}", "conversation.{owner_id} = $11")
        .replace("{candidates_read}", &(CANDIDATES_MAX + 1).to_string());
    by_owner(&sql).map(|sql| of_documents(&sql))
});

/// The statement of the documents of a way. `None`: there are more groups than a query can have.
pub(super) fn documents_statement(way: Way, shape: Shape) -> Option<&'static str> {
    let statements = match way {
        Way::Blocks(None) => &*BY_BLOCKS,
        Way::Blocks(Some(column)) => BY_BLOCKS_OF_OWNER.get(column.0)?,
        Way::Owner(column) => BY_OWNER.get(column.0)?,
    };
    of_shape(statements, shape)
}

/// The statement of the blocks that may have documents. `None`: there are more groups than a query can have.
pub(super) fn blocks_statement(shape: Shape) -> Option<&'static str> {
    of_shape(&BLOCKS, shape)
}

fn of_shape(statements: &'static Statements, shape: Shape) -> Option<&'static str> {
    let [without, with] = statements;
    let statements = if shape.has_all { with } else { without };
    statements.get(shape.groups).map(String::as_str)
}

/// The statement that sorts candidates and reads the rows of the first ones.
fn candidates_and_page(candidates: &str) -> String {
    let page = include_str!("page.sql").replace("{candidates}", include_str!("sorted.sql"));
    let counted = include_str!("counted_page.sql").replace("{page}", &page);
    format!("{candidates}{counted}")
}

fn of_documents(template: &str) -> Statements {
    statements(|shape| {
        let numbers = FIRST_GROUP..FIRST_GROUP + shape.groups;
        let any: Vec<String> = numbers.map(|number| format!("AND terms && ${number}::integer[]")).collect();
        // Without a condition, Postgres could not tell the type of the argument.
        let all = if shape.has_all { "AND terms @> $2::integer[]" } else { "AND $2::integer[] IS NOT NULL" };
        let blocks = format!("${}", FIRST_GROUP + shape.groups);
        template.replace("{all}", all).replace("{any}", &any.join(" ")).replace("{blocks}", &blocks)
    })
}

/// The conditions of the filter of a block that may have the terms.
fn filters(shape: Shape) -> String {
    let numbers = PROBES + 1..=PROBES + shape.groups;
    let groups = numbers.map(|number| {
        let bits: Vec<String> = (0..PROBES_PER_TERM).map(|probe| bit(&format!("(${number})[first + {probe}]"))).collect();
        format!(
            "EXISTS (SELECT FROM generate_series(1, cardinality(${number}::bigint[]), {PROBES_PER_TERM}) AS first WHERE {})",
            bits.join(" AND ")
        )
    });
    let mut conditions = if shape.has_all {
        // The first ones decide for most blocks, before the costly condition.
        let firsts = (1..=PROBES_PER_TERM).map(|probe| bit(&format!("(${PROBES}::bigint[])[{probe}]")));
        let zero = BIT.replace("{probe}", "probe");
        let rest = format!("NOT EXISTS (SELECT FROM unnest(${PROBES}) AS probe WHERE {zero} = 0)");
        firsts.chain([rest]).collect()
    } else {
        vec![format!("${PROBES}::bigint[] IS NOT NULL")]
    };
    conditions.extend(groups);
    format!("AND (filter IS NULL OR {})", conditions.join(" AND "))
}

/// Whether a bit is set.
fn bit(probe: &str) -> String {
    format!("{} = 1", BIT.replace("{probe}", probe))
}

fn statements(statement: impl Fn(Shape) -> String) -> Statements {
    [false, true].map(|has_all| {
        let groups = 0..=QUERY_CLAUSES_MAX + 1;
        groups.map(|groups| statement(Shape { has_all, groups })).collect()
    })
}
