//! What the gateway reports of quotas.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_gateway_quota_exceeded_total{quota,scope}` | refusals | requests and runs refused by a quota; quota `runs` or `model_tokens_per_day`, scope `tenant`, `agent`, `key`, `owner` or `address` |
//! | `hansard_gateway_model_tokens_total{kind}` | tokens | of all calls of models, stateless ones included; kind `input` or `output` |
//! | `hansard_gateway_model_calls_total{tokens}` | calls | of models; tokens `reported` by the server, or `estimated` from bytes where it reports none or the call was cut off |
//! | `hansard_gateway_metered_calls_total{outcome}` | calls | of models that were to be metered; outcome `kept`; not metered: `no_stream` in the record, `refused` by the writer, or the writer was `unreachable` at the gateway's end |
//! | `hansard_gateway_quota_reads_failed_total` | reads | of the tokens of the day from the read model, without an answer in time; the last known count is in force |

use ::metrics::counter;
use ::quotas::Exceeded;
use domain::event::Usage;

/// A quota refused a use.
pub(super) fn refused(exceeded: &Exceeded) {
    let (quota, scope) = (exceeded.quota.as_str(), exceeded.scope.as_str());
    counter!("hansard_gateway_quota_exceeded_total", "quota" => quota, "scope" => scope)
        .increment(1);
}

/// The tokens of the day could not be read.
pub(super) fn unread() {
    counter!("hansard_gateway_quota_reads_failed_total").increment(1);
}

/// A call of a model was to be metered.
pub(super) fn metered(outcome: &'static str) {
    counter!("hansard_gateway_metered_calls_total", "outcome" => outcome).increment(1);
}

/// A call of a model was counted.
pub(crate) fn spent(usage: &Usage, is_reported: bool) {
    let tokens = if is_reported { "reported" } else { "estimated" };
    counter!("hansard_gateway_model_calls_total", "tokens" => tokens).increment(1);
    counter!("hansard_gateway_model_tokens_total", "kind" => "input").increment(usage.input_tokens);
    counter!("hansard_gateway_model_tokens_total", "kind" => "output")
        .increment(usage.output_tokens);
}
