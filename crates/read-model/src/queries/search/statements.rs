//! The statements of the search. They differ in the way to the candidates and in the number of groups of alternative terms, so each
//! combination is a statement with a plan of its own.

use std::sync::LazyLock;

use search::QUERY_CLAUSES_MAX;

use crate::queries::statements::by_owner;

/// The first argument of a group of alternatives.
const FIRST_GROUP: usize = 13;

/// The condition of a search in the conversations of all owners.
const NO_OWNER: &str = "$12::text IS NULL";

/// The ways to candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Those that have the terms, by the index of terms: few enough to sort.
    Terms,
    /// Those of all words, the newest first: for words that many documents have.
    Time,
    /// Those of the conversations of one owner: `session_id`, `user_id` or `channel_id`.
    Owner(usize),
}

/// The statements of one way, by the number of groups; without and with terms that all documents have.
type Statements = [Vec<String>; 2];

static BY_TERMS: LazyLock<Statements> = LazyLock::new(|| {
    let candidates = include_str!("candidates_by_terms.sql");
    statements(&candidates_and_page(candidates).replace("{owner}", NO_OWNER))
});
static BY_TIME: LazyLock<Statements> = LazyLock::new(|| {
    let page = include_str!("page.sql").replace("{candidates}", include_str!("newest.sql"));
    let page = page.replace("{owner}", NO_OWNER);
    statements(&include_str!("newest_page.sql").replace("{page}", &page))
});
static BY_OWNER: LazyLock<[Statements; 3]> = LazyLock::new(|| {
    let sql = candidates_and_page(include_str!("candidates_of_owner.sql"));
    let sql = sql.replace("{owner}", "conversation.{owner_id} = $12");
    by_owner(&sql).map(|sql| statements(&sql))
});

/// The statement for a number of groups of alternatives; `None`: there are more groups than a query can have.
pub(super) fn statement(way: Way, has_all: bool, groups: usize) -> Option<&'static str> {
    let statements = match way {
        Way::Terms => &*BY_TERMS,
        Way::Time => &*BY_TIME,
        Way::Owner(column) => BY_OWNER.get(column)?,
    };
    let [without, with] = statements;
    let statements = if has_all { with } else { without };
    statements.get(groups).map(String::as_str)
}

/// The statement that sorts candidates and reads the rows of the first ones.
fn candidates_and_page(candidates: &str) -> String {
    let page = include_str!("page.sql").replace("{candidates}", include_str!("sorted.sql"));
    let counted = include_str!("counted_page.sql").replace("{page}", &page);
    format!("{candidates}{counted}")
}

fn statements(template: &str) -> Statements {
    ["", "AND terms @> $2::bigint[]"].map(|all| {
        let groups = 0..=QUERY_CLAUSES_MAX + 1;
        let statement = |groups: usize| {
            let numbers = FIRST_GROUP..FIRST_GROUP + groups;
            let any: Vec<String> = numbers
                .map(|number| format!("AND terms && ${number}::bigint[]"))
                .collect();
            // Without it, Postgres could not tell the type of the argument.
            let all = if all.is_empty() {
                "AND $2::bigint[] IS NOT NULL"
            } else {
                all
            };
            template
                .replace("{all}", all)
                .replace("{any}", &any.join(" "))
        };
        groups.map(statement).collect()
    })
}
