use uuid::Uuid;

use super::*;
use crate::bounds::{OPEN_CALLS_MAX, RECENT_COMMITS_MAX};
use crate::content::Part;
use crate::event::{
    ClientContext, ConversationCreated, Fact, HistorySummarised, MessageAppended, Role, ToolCalled, ToolOutcome,
    ToolOutput, ToolReturned,
};
use crate::head::CommitFacts;
use crate::id::{SessionId, ToolName};
use crate::json::JsonText;
use crate::owner::Owner;
use crate::position::Sequence;
use crate::request_digest::RequestDigest;
use crate::time::Timestamp;

mod forks;
mod heads;
mod owners;
mod rewinds;
mod runs;
mod summaries;
mod tokens;

/// Erases without an expected owner.
const ERASE: Action = Action::Erase { expected: None, forks: ForkRule::Refuse };
/// The tokens of each appended event of these tests.
const TOKENS: u32 = 7;

fn agent(id: &str) -> AgentId {
    AgentId::parse(id).unwrap()
}

fn created() -> Action {
    create(|_| {})
}

/// A creation, with this change.
fn create(change: impl FnOnce(&mut Create)) -> Action {
    let mut create = Create {
        created: ConversationCreated {
            agent: agent("helper"),
            owner: Owner::Session(SessionId::parse("s1").unwrap()),
            title: None,
            metadata: None,
            client_context: ClientContext::default(),
            provider_conversation_id: None,
            forked_from: None,
        },
        occurred_at: None,
        events: Vec::new(),
        run: None,
    };
    change(&mut create);
    Action::Create(Box::new(create))
}

fn append(facts: impl IntoIterator<Item = Fact>) -> Action {
    append_to(None, facts)
}

/// Appends if the conversation has this owner.
fn append_to(expected: Option<Owner>, facts: impl IntoIterator<Item = Fact>) -> Action {
    let events = facts.into_iter().map(|fact| NewEvent { tokens: TOKENS, ..NewEvent::from(fact) });
    Action::Append { events: events.collect(), expected }
}

fn said(text: &str) -> Fact {
    Fact::MessageAppended(MessageAppended::new(Role::User, vec![Part::Text(text.to_owned())]))
}

fn called(id: &str) -> Fact {
    Fact::ToolCalled(ToolCalled {
        call_id: CallId::parse(id).unwrap(),
        tool_name: ToolName::parse("search").unwrap(),
        input: JsonText::parse("{}").unwrap(),
        model: None,
        provider: None,
        provider_response_id: None,
        signature: None,
    })
}

fn returned(id: &str, tool_name: Option<&str>) -> Fact {
    Fact::ToolReturned(ToolReturned {
        call_id: CallId::parse(id).unwrap(),
        tool_name: tool_name.map(|name| ToolName::parse(name).unwrap()),
        output: ToolOutput::Json(JsonText::parse("1").unwrap()),
        outcome: ToolOutcome::Succeeded,
    })
}

fn command(n: u128, action: Action) -> Command {
    Command { commit: CommitId(Uuid::from_u128(n)), agent: agent("helper"), expectation: Expectation::Any, action }
}

/// Executes the actions in order; the n-th commit is recorded at n seconds.
fn head_after(actions: Vec<Action>) -> Option<Head> {
    let mut head: Option<Head> = None;
    for (n, action) in (0_u32..).zip(actions) {
        let command = command(n.into(), action);
        let Decision::Commit(events) = decide(head.as_ref(), &command).unwrap() else {
            continue;
        };
        let facts = CommitFacts {
            id: command.commit,
            request_digest: RequestDigest([0; 16]),
            recorded_at: Timestamp(i64::from(n) * 1_000_000_000),
            events: &events,
            body: &[],
            previous_sequence: head.as_ref().map(|_| Sequence(n.into())),
        };
        head = Head::after(head.as_ref(), &facts);
    }
    head
}

/// The result of `action` after `before`: the number of events, or the rejection.
#[expect(clippy::needless_pass_by_value, reason = "cases read better without a reference")]
fn check(before: Vec<Action>, action: Action, expected: Result<usize, Rejection>) {
    let outcome = decide(head_after(before).as_ref(), &command(99, action)).map(|decision| match decision {
        Decision::Commit(events) => events.len(),
        Decision::Unchanged => 0,
    });
    assert_eq!(outcome, expected);
}

#[test]
fn lifecycle() {
    check(vec![], created(), Ok(1));
    check(vec![created()], created(), Err(Rejection::AlreadyExists));
    check(vec![created(), Action::Archive], created(), Err(Rejection::AlreadyExists));
    check(vec![created(), ERASE], created(), Err(Rejection::Erased));
    check(vec![], append([said("a")]), Err(Rejection::NotFound));
    check(vec![created()], append([said("a"), said("b")]), Ok(2));
    check(vec![created(), Action::Archive], append([said("a")]), Err(Rejection::Archived));
    check(vec![created(), Action::Archive, Action::Restore], append([said("a")]), Ok(1));
    check(vec![created(), Action::Archive], Action::Archive, Ok(0));
    check(vec![created()], Action::Restore, Ok(0));
    check(vec![created(), Action::Archive], ERASE, Ok(1));
    check(vec![created(), ERASE], ERASE, Ok(0));
    check(vec![created(), ERASE], append([said("a")]), Err(Rejection::Erased));
    check(vec![created(), ERASE], Action::Restore, Err(Rejection::Erased));
    check(vec![created()], Action::Update(Box::default()), Ok(0));
}

/// A new conversation with these events.
fn created_with(facts: impl IntoIterator<Item = Fact>) -> Action {
    let Action::Append { events, .. } = append(facts) else { panic!("another command") };
    create(|create| create.events = events)
}

#[test]
fn a_conversation_is_created_with_its_first_events() {
    check(vec![], created_with([called("a"), returned("a", None)]), Ok(3));
    check(
        vec![],
        created_with([said("x"), returned("a", None)]),
        Err(Rejection::CallNotOpen { index: 1, call_id: CallId::parse("a").unwrap() }),
    );
    check(vec![created()], created_with([said("x")]), Err(Rejection::AlreadyExists));
    let head = head_after(vec![created_with([said("x"), called("a")])]).unwrap();
    assert_eq!((head.version, head.totals.commits), (Version(3), 1));
    assert_eq!(head.open_calls[0].version, Version(3));
    let summarised = |through| {
        let (through, text) = (Version(through), "They spoke.".to_owned());
        Fact::from(HistorySummarised { through, text, model: None, previous: None })
    };
    check(vec![], created_with([said("x"), summarised(2)]), Ok(3));
    check(
        vec![],
        created_with([said("x"), summarised(3)]),
        Err(Rejection::SummaryBeyondHistory { index: 1, through: Version(3), last: Version(2) }),
    );
    let Decision::Commit(events) = decide(None, &command(9, created_with([said("x")]))).unwrap() else {
        panic!("nothing was decided")
    };
    assert_ne!(events[0].id, events[1].id);
    assert_eq!(events[1].tokens.through, u64::from(TOKENS));
}

#[test]
fn tool_calls_and_results() {
    let not_open = |index, id: &str| Rejection::CallNotOpen { index, call_id: CallId::parse(id).unwrap() };
    let call_a = || CallId::parse("a").unwrap();
    let open = || vec![created(), append([called("a")])];
    check(open(), append([returned("a", None)]), Ok(1));
    check(open(), append([returned("a", Some("search"))]), Ok(1));
    check(open(), append([returned("a", Some("other"))]), Err(Rejection::ToolMismatch { index: 0, call_id: call_a() }));
    check(open(), append([said("x"), returned("b", None)]), Err(not_open(1, "b")));
    check(open(), append([returned("a", None), returned("a", None)]), Err(not_open(1, "a")));
    check(open(), append([called("a")]), Err(Rejection::CallAlreadyOpen { index: 0, call_id: call_a() }));
    check(open(), append([returned("a", None), called("a")]), Ok(2));
    check(vec![created()], append([called("a"), returned("a", None)]), Ok(2));
    let closed = vec![created(), append([called("a")]), append([returned("a", None)])];
    check(closed, append([returned("a", None)]), Err(not_open(0, "a")));
}

#[test]
fn a_recorded_result_names_its_tool() {
    let head = head_after(vec![created(), append([called("a")])]);
    let decision = decide(head.as_ref(), &command(9, append([returned("a", None)]))).unwrap();
    let Decision::Commit(events) = decision else { panic!("nothing was decided") };
    assert_eq!(events[0].fact, returned("a", Some("search")));
}

#[test]
fn open_calls_at_their_bound_and_one_past() {
    let calls = |count: usize| append((0..count).map(|n| called(&format!("c{n}"))));
    check(vec![created()], calls(OPEN_CALLS_MAX), Ok(OPEN_CALLS_MAX));
    check(
        vec![created()],
        calls(OPEN_CALLS_MAX + 1),
        Err(Rejection::TooManyOpenCalls { index: OPEN_CALLS_MAX, open_max: OPEN_CALLS_MAX }),
    );
}

#[test]
fn versions_that_callers_expect() {
    let head = head_after(vec![created(), append([said("a")])]);
    let expecting =
        |version| Command { expectation: Expectation::Exact(Version(version)), ..command(9, append([said("b")])) };
    assert!(decide(head.as_ref(), &expecting(2)).is_ok());
    for expected in [0, 1, 3] {
        assert_eq!(
            decide(head.as_ref(), &expecting(expected)),
            Err(Rejection::VersionConflict { expected: Version(expected), current: Version(2) })
        );
    }
}

#[test]
fn a_foreign_agent_finds_no_conversation() {
    let head = head_after(vec![created()]);
    for action in [append([said("a")]), Action::Archive, ERASE] {
        let foreign = Command { agent: agent("other"), ..command(9, action) };
        assert_eq!(decide(head.as_ref(), &foreign), Err(Rejection::NotFound));
    }
}

#[test]
fn the_head_after_many_commits() {
    let mut actions = vec![created()];
    actions.extend((0..10).map(|_| append([said("a"), said("b")])));
    let head = head_after(actions).unwrap();
    assert_eq!(head.version, Version(21));
    assert_eq!((head.totals.commits, head.totals.messages), (11, 20));
    assert_eq!(head.recent.len(), RECENT_COMMITS_MAX);
    assert!(!head.lists_every_commit());
    let last = head.recent.last().unwrap();
    assert_eq!((last.first_version, last.last_version, last.sequence), (Version(20), Version(21), None));
    let before = head.recent[RECENT_COMMITS_MAX - 2];
    assert_eq!((before.last_version, before.sequence), (Version(19), Some(Sequence(10))));
}

#[test]
fn the_head_names_every_commit_up_to_its_bound() {
    let commits = |count: usize| {
        let mut actions = vec![created()];
        actions.extend((1..count).map(|_| append([said("a")])));
        head_after(actions).unwrap()
    };
    assert!(commits(RECENT_COMMITS_MAX).lists_every_commit());
    assert!(!commits(RECENT_COMMITS_MAX + 1).lists_every_commit());
}

#[test]
fn a_tombstone_contains_the_fork_rule() {
    let head = head_after(vec![created()]).unwrap();
    for forks in [ForkRule::Refuse, ForkRule::Sever, ForkRule::Undo] {
        let erase = Action::Erase { expected: None, forks };
        let Ok(Decision::Commit(events)) = decide(Some(&head), &command(9, erase)) else {
            panic!("nothing was decided")
        };
        assert_eq!(ForkRule::from_tombstone(&events[0]), forks);
    }
}

#[test]
fn an_erased_head_has_no_owner() {
    let head = head_after(vec![created(), append([called("a")]), ERASE]).unwrap();
    assert_eq!((head.owner, head.open_calls.len(), head.version), (None, 0, Version(3)));
}
