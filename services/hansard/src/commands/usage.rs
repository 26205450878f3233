//! `hansard usage`: corrections of counted usage.

use std::io::Write as _;

use clap::{Subcommand, ValueEnum};
use domain::{Owner, OwnerDigest, UserId};
use read_model::Day;
use uuid::Uuid;
use wire::proto::operate::v1::CorrectUsageRequest;
use wire::proto::run::v1::usage_correction::Counts;
use wire::proto::run::v1::{CorrectedMessages, CorrectedModelCalls, UsageCorrection};

use super::registry::{Call, print_json};
use crate::client::answer;
use crate::console;
use crate::exit::{Exit, UsageError};

const MESSAGE: &str = "hansard.run.v1.UsageCorrection";

/// Correct counted usage.
///
/// Needs a service token with the scope `operate`. The audit log of the tenant has an entry of each correction.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Numbers are added to the counts of the day; negative ones lower them, at most to 0. Model calls and
recorded messages are counted separately: a wrong answer of a recorded turn is in both.
`GET /v1/admin/usage` shows the counts.

Examples:
  hansard usage correct --agent support --day 2026-11-28 --user ada --input=-90000 --reason bug
  hansard usage correct --agent support --day 2026-11-28 --of messages --output=-90 --reason bug")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add to the counts of an agent on one day.
    Correct(Box<Correction>),
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("tokens").required(true).multiple(true))]
struct Correction {
    /// Agent of the usage; its tenant is corrected too.
    #[arg(long)]
    agent: String,
    /// The day, in UTC, such as `2026-11-28`.
    #[arg(long, value_parser = parse_day)]
    day: Day,
    /// What was counted.
    #[arg(long, value_name = "COUNTS", default_value = "calls")]
    of: Counted,
    /// API key of the calls, as `hansard key list` shows it. By default the counts of keys stay.
    #[arg(long)]
    key: Option<String>,
    /// User of the calls. By default the counts of owners stay.
    #[arg(long)]
    user: Option<String>,
    /// Model of the messages. By default messages that name none.
    #[arg(long)]
    model: Option<String>,
    /// Input tokens to add.
    #[arg(long, value_name = "TOKENS", default_value_t = 0, allow_negative_numbers = true, group = "tokens")]
    input: i64,
    /// Output tokens to add.
    #[arg(long, value_name = "TOKENS", default_value_t = 0, allow_negative_numbers = true, group = "tokens")]
    output: i64,
    /// Input tokens from a cache to add; of messages only.
    #[arg(long, value_name = "TOKENS", default_value_t = 0, allow_negative_numbers = true, group = "tokens")]
    cached: i64,
    /// Output tokens of reasoning to add; of messages only.
    #[arg(long, value_name = "TOKENS", default_value_t = 0, allow_negative_numbers = true, group = "tokens")]
    reasoning: i64,
    /// Why, for the audit log; at most 512 bytes.
    #[arg(long)]
    reason: String,
    /// Id of the correction, to repeat a command whose outcome is unknown. By default a new one.
    #[arg(long, value_name = "UUID")]
    id: Option<Uuid>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Counted {
    /// Model calls, which quotas use.
    Calls,
    /// Recorded messages.
    Messages,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let Action::Correct(given) = args.action;
    let reason = given.reason.clone();
    let correction = correction(*given)?;
    let request = CorrectUsageRequest { correction: Some(correction.clone()), reason };
    let corrected = answer(args.call.registry()?.correct_usage(request).await)?;
    if !corrected.is_stored {
        anyhow::bail!("the record has no stream for usage, so nothing was corrected: see docs/how-to/meter-usage.md");
    }
    if args.call.json {
        return print_json(MESSAGE, &[correction]);
    }
    let id = correction.correction_id;
    writeln!(console::out(), "recorded correction {id}; counts change when a projector has read it")?;
    Ok(Exit::Done)
}

fn correction(given: Correction) -> Result<UsageCorrection, UsageError> {
    Ok(UsageCorrection {
        correction_id: given.id.unwrap_or_else(Uuid::now_v7).to_string(),
        day: Some(wire::time::to_proto(given.day.start())),
        input_tokens: given.input,
        output_tokens: given.output,
        cached_tokens: given.cached,
        reasoning_tokens: given.reasoning,
        counts: Some(counts(given.of, given.key, given.user, given.model)?),
        agent_id: given.agent,
    })
}

fn counts(of: Counted, key: Option<String>, user: Option<String>, model: Option<String>) -> Result<Counts, UsageError> {
    match of {
        Counted::Messages if key.is_some() || user.is_some() => {
            Err(UsageError("messages are counted by agent and model: leave out --key and --user".to_owned()))
        }
        Counted::Messages => Ok(Counts::Messages(CorrectedMessages { model: model.unwrap_or_default() })),
        Counted::Calls if model.is_some() => {
            Err(UsageError("calls are not counted by model: leave out --model, or give --of messages".to_owned()))
        }
        Counted::Calls => {
            let user = user.map(UserId::parse).transpose();
            let user = user.map_err(|violation| UsageError(format!("--user {violation}")))?;
            let owner = user.map(|user| OwnerDigest::of(&Owner::User(user)).as_str().to_owned());
            let (api_key_id, owner_digest) = (key.unwrap_or_default(), owner.unwrap_or_default());
            Ok(Counts::ModelCalls(CorrectedModelCalls { api_key_id, owner_digest }))
        }
    }
}

fn parse_day(text: &str) -> Result<Day, String> {
    Day::parse(text).ok_or_else(|| "give a day such as 2026-11-28".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_own_subjects() {
        let check = |of: Counted, (key, user, model): (&str, &str, &str), is_valid: bool| {
            let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let counts = counts(of, given(key), given(user), given(model));
            assert_eq!(counts.is_ok(), is_valid, "{of:?} {key} {user} {model}");
        };
        check(Counted::Calls, ("", "", ""), true);
        check(Counted::Calls, ("k", "ada", ""), true);
        check(Counted::Calls, ("", "a\u{0}", ""), false);
        check(Counted::Calls, ("", "", "m"), false);
        check(Counted::Messages, ("", "", "m"), true);
        check(Counted::Messages, ("", "", ""), true);
        check(Counted::Messages, ("k", "", ""), false);
        check(Counted::Messages, ("", "ada", ""), false);
    }
}
