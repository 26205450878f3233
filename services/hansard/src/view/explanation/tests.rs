use wire::proto::event::v1::{HistoryRewound, HistorySummarised, MessageAppended, ToolCalled, ToolReturned};
use wire::proto::read::v1::{ContextLoss, ContextTokens, DroppedPart, Epoch, LeftOut, LeftOutReason, Redaction};

use super::*;

fn event(version: u64, tokens: u32, fact: Fact) -> RecordedEvent {
    RecordedEvent {
        version,
        event: Some(Event { tokens, fact: Some(fact), ..Event::default() }),
        ..RecordedEvent::default()
    }
}

fn message(version: u64, tokens: u32, role: Role) -> RecordedEvent {
    let message = MessageAppended { role: role.into(), ..MessageAppended::default() };
    event(version, tokens, Fact::MessageAppended(message))
}

fn call(version: u64, tokens: u32, id: &str, tool: &str) -> RecordedEvent {
    let call = ToolCalled { call_id: id.to_owned(), tool_name: tool.to_owned(), ..ToolCalled::default() };
    event(version, tokens, Fact::ToolCalled(call))
}

fn result(version: u64, tokens: u32, id: &str, tool: &str) -> RecordedEvent {
    let result = ToolReturned { call_id: id.to_owned(), tool_name: tool.to_owned(), ..ToolReturned::default() };
    event(version, tokens, Fact::ToolReturned(result))
}

fn outcomes<const N: usize>(outcomes: [(u64, u64, StageEffect); N]) -> Vec<StageOutcome> {
    let outcomes = outcomes.map(|(first_version, last_version, effect)| StageOutcome {
        first_version,
        last_version,
        effect: effect.into(),
        ..StageOutcome::default()
    });
    outcomes.to_vec()
}

fn shown(receipt: &Receipt, outcomes: &[StageOutcome], events: &[RecordedEvent]) -> String {
    let mut out = Vec::new();
    write(&mut out, receipt, outcomes, events).unwrap();
    String::from_utf8(out).unwrap()
}

/// With a value in every field that is printed.
fn receipt() -> Receipt {
    Receipt {
        version: 1_019,
        policy_digest: vec![0xab; 32].into(),
        format: ContextFormat::Anthropic.into(),
        body_sha256: vec![0xcd; 32].into(),
        body_bytes: 4_321,
        epoch: Some(Epoch { first_version: 1_004, line_tokens: 9_000, summary_version: 1_000, revised_version: 1_012 }),
        tokens: Some(ContextTokens { instructions: 120, opening: 80, turns: 700, closing: 60, room: 1_000 }),
        left_out: Some(LeftOut { before_version: 1_004, tokens: 8_400, reason: LeftOutReason::Budget.into() }),
        summarised_through: 990,
        redactions: [("api_key", 1), ("card", 2)]
            .map(|(rule, count)| Redaction { rule: rule.to_owned(), count })
            .to_vec(),
        dropped_parts: [(1_007, "thinking"), (1_010, "call_signature")]
            .map(|(version, what)| DroppedPart { version, what: what.to_owned() })
            .to_vec(),
        losses: vec![ContextLoss {
            version: 1_007,
            lost: "thinking_signature".to_owned(),
            became: "nothing".to_owned(),
        }],
        ..Receipt::default()
    }
}

#[test]
fn every_event_has_an_outcome() {
    let summary = Fact::HistorySummarised(HistorySummarised::default());
    let events = [
        message(990, 10, Role::User),
        event(1_000, 300, summary),
        message(1_002, 12, Role::User),
        result(1_003, 30, "lost", "search"),
        message(1_004, 14, Role::User),
        call(1_005, 55, "old", "se\u{1b}[31march"),
        result(1_006, 400, "old", "search"),
        message(1_007, 25, Role::Assistant),
        message(1_008, 9, Role::Developer),
        call(1_010, 50, "left", "search"),
        message(1_012, 20, Role::Assistant),
        message(1_013, 20, Role::Assistant),
        result(1_014, 20, "older", "search"),
        call(1_019, 50, "waits", "search"),
    ];
    let outcomes = outcomes([
        (1, 990, StageEffect::Summarised),
        (991, 1_003, StageEffect::OverBudget),
        (1_006, 1_006, StageEffect::Cleared),
        (1_013, 1_013, StageEffect::Repeated),
        (1_019, 1_019, StageEffect::Pending),
        (1_010, 1_010, StageEffect::Interrupted),
        (1_014, 1_014, StageEffect::OverBudget),
        (1_003, 1_003, StageEffect::Orphaned),
        (1_005, 1_006, StageEffect::Redacted),
        (1_007, 1_007, StageEffect::PartDropped),
    ]);
    insta::assert_snapshot!(shown(&receipt(), &outcomes, &events));
}

#[test]
fn rewound_events_are_omitted() {
    let receipt =
        Receipt { version: 6, epoch: Some(Epoch { first_version: 2, ..Epoch::default() }), ..Receipt::default() };
    let rewound = Fact::HistoryRewound(HistoryRewound { to_version: 2 });
    let events = [
        message(2, 12, Role::User),
        message(3, 9, Role::Assistant),
        event(4, 0, rewound),
        message(5, 9, Role::Assistant),
    ];
    let outcomes = outcomes([(3, 3, StageEffect::Rewound)]);
    insta::assert_snapshot!(shown(&receipt, &outcomes, &events));
}

#[test]
fn a_turn_that_continues_after_the_summary_is_included() {
    let receipt = Receipt {
        version: 8,
        epoch: Some(Epoch { first_version: 3, ..Epoch::default() }),
        summarised_through: 5,
        left_out: Some(LeftOut { before_version: 3, tokens: 20, reason: LeftOutReason::Budget.into() }),
        ..Receipt::default()
    };
    let events = [
        message(3, 10, Role::Assistant),
        call(4, 10, "a", "search"),
        message(5, 10, Role::User),
        result(6, 10, "a", "search"),
        message(8, 10, Role::User),
    ];
    let outcomes = outcomes([
        (3, 3, StageEffect::Carried),
        (4, 4, StageEffect::Carried),
        (1, 5, StageEffect::Summarised),
        (1, 2, StageEffect::OverBudget),
    ]);
    insta::assert_snapshot!(shown(&receipt, &outcomes, &events));
}

#[test]
fn calls_are_in_the_digest_or_omitted() {
    let receipt =
        Receipt { version: 5, epoch: Some(Epoch { first_version: 1, ..Epoch::default() }), ..Receipt::default() };
    let events = [
        message(1, 10, Role::User),
        call(2, 10, "a", "search"),
        result(3, 10, "a", "search"),
        call(4, 10, "b", "search"),
        result(5, 10, "b", "search"),
    ];
    let outcomes = outcomes([
        (4, 4, StageEffect::Digested),
        (5, 5, StageEffect::Digested),
        (2, 2, StageEffect::NotDigested),
        (3, 3, StageEffect::NotDigested),
    ]);
    insta::assert_snapshot!(shown(&receipt, &outcomes, &events));
}

#[test]
fn a_short_conversation_has_a_short_table() {
    let receipt = Receipt {
        version: 2,
        format: ContextFormat::Canonical.into(),
        epoch: Some(Epoch { first_version: 2, ..Epoch::default() }),
        tokens: Some(ContextTokens { turns: 12, room: 100, ..ContextTokens::default() }),
        ..Receipt::default()
    };
    insta::assert_snapshot!(shown(&receipt, &[], &[message(2, 12, Role::User)]));
}

#[test]
fn a_long_conversation_lists_its_newest_events() {
    let receipt = Receipt {
        version: 4_000,
        epoch: Some(Epoch { first_version: 2_000, ..Epoch::default() }),
        left_out: Some(LeftOut { before_version: 2_000, tokens: 30_000, reason: LeftOutReason::Bound.into() }),
        ..Receipt::default()
    };
    let events = [message(3_001, 12, Role::User), message(3_002, 9, Role::System)];
    let outcomes = outcomes([(1, 1_999, StageEffect::OverBound)]);
    insta::assert_snapshot!(shown(&receipt, &outcomes, &events));
}
