//! Invalid requests for a form, at the edge of every bound: code, reason and path.

use tests::errors::check_failure;
use tests::events::user;
use tests::stack::Stack;
use tonic::Code::InvalidArgument;
use wire::proto::read::v1::assemble_context_request::Policy;
use wire::proto::read::v1::{
    AssembleContextRequest, CallOutputs, ContextFormat, InstructionsRole, RenderSettings, Thoughts,
};

use super::{form_request, try_assemble};
use crate::write::with;

/// The maximum size of a policy, in bytes.
const POLICY_BYTES_MAX: usize = 256 * 1_024;

const RANGE: &str = "FIELD_OUT_OF_RANGE";
const MALFORMED: &str = "FIELD_MALFORMED";

type Case = (&'static str, Option<(&'static str, &'static str)>, fn(&mut AssembleContextRequest));

fn no_form(request: &mut AssembleContextRequest) {
    request.format = ContextFormat::Unspecified.into();
}

fn policy(request: &mut AssembleContextRequest, json: &str) {
    request.policy = Some(Policy::PolicyJson(json.to_owned()));
}

fn digest(request: &mut AssembleContextRequest, bytes: usize) {
    request.policy = Some(Policy::PolicyDigest(vec![7; bytes].into()));
}

fn render(request: &mut AssembleContextRequest, instructions_role: i32, thoughts: i32) {
    request.render = Some(RenderSettings { instructions_role, thoughts, call_outputs: CallOutputs::Adjacent.into() });
}

fn call_outputs(request: &mut AssembleContextRequest, call_outputs: i32) {
    request.render = Some(RenderSettings { call_outputs, ..RenderSettings::default() });
}

/// White space only changes the size of a document.
fn policy_of_size(bytes: usize) -> String {
    format!("{{{}}}", " ".repeat(bytes - 2))
}

#[rustfmt::skip]
const CASES: [Case; 28] = [
    ("as it is", None, |_| ()),
    ("the newest version", None, |r| r.at_version = 3),
    ("the first version", None, |r| r.at_version = 1),
    ("past the newest", Some((RANGE, "at_version")), |r| r.at_version = 4),
    ("far past the newest", Some((RANGE, "at_version")), |r| r.at_version = u64::MAX),
    ("an unknown form", Some((RANGE, "format")), |r| r.format = 7),
    ("a negative form", Some((RANGE, "format")), |r| r.format = -1),
    ("every setting of a form", None, |r| render(r, InstructionsRole::Developer.into(), Thoughts::Omit.into())),
    ("an unknown role", Some((RANGE, "render.instructions_role")), |r| render(r, 3, 0)),
    ("unknown thoughts", Some((RANGE, "render.thoughts")), |r| render(r, 0, 3)),
    ("an unknown order of outputs", Some((RANGE, "render.call_outputs")), |r| call_outputs(r, 3)),
    ("1,000 messages", None, |r| r.messages_max = 1_000),
    ("1,001 messages", Some((RANGE, "messages_max")), |r| r.messages_max = 1_001),
    ("a version without a form", Some((RANGE, "at_version")), |r| { no_form(r); r.at_version = 1; }),
    ("a policy without a form", Some((RANGE, "policy")), |r| { no_form(r); policy(r, "{}"); }),
    ("a digest without a form", Some((RANGE, "policy")), |r| { no_form(r); digest(r, 32); }),
    ("outcomes", None, |r| r.with_outcomes = true),
    ("outcomes without a form", Some((RANGE, "with_outcomes")), |r| { no_form(r); r.with_outcomes = true; }),
    ("settings without a form", Some((RANGE, "render")), |r| { no_form(r); render(r, 0, 0); }),
    ("no digest", Some((MALFORMED, "policy_digest")), |r| digest(r, 0)),
    ("a digest of 31", Some((MALFORMED, "policy_digest")), |r| digest(r, 31)),
    ("a digest of 33", Some((MALFORMED, "policy_digest")), |r| digest(r, 33)),
    ("no document", Some((MALFORMED, "policy_json")), |r| policy(r, "")),
    ("a list", Some((MALFORMED, "policy_json")), |r| policy(r, "[]")),
    ("an unknown setting", Some((MALFORMED, "policy_json")), |r| policy(r, r#"{"budgets": {}}"#)),
    ("a setting out of its bounds", Some((MALFORMED, "policy_json.budget.low_water_percent")),
        |r| policy(r, r#"{"budget": {"low_water_percent": 96}}"#)),
    ("256 KiB of policy", None, |r| policy(r, &policy_of_size(POLICY_BYTES_MAX))),
    ("256 KiB and a byte of policy", Some((MALFORMED, "policy_json")), |r| policy(r, &policy_of_size(POLICY_BYTES_MAX + 1))),
];

#[tokio::test(flavor = "multi_thread")]
async fn of_forms() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("one"), user("two")]).await;
    for (case, refused, change) in CASES {
        let request = with(form_request(&agent, ContextFormat::Canonical), change);
        let outcome = try_assemble(&agent, request).await;
        match refused {
            None => drop(outcome.unwrap_or_else(|status| panic!("{case}: {status:?}"))),
            Some((reason, field)) => {
                check_failure(case, outcome, (InvalidArgument, reason, field));
            }
        }
    }
}
