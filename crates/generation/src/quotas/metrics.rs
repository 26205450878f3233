//! Metrics of quotas.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_gateway_quota_exceeded_total{quota,scope}` | requests | rejected by a quota; quota `runs` or `model_tokens_per_day`, scope `tenant`, `agent`, `key`, `owner` or `address` |
//! | `hansard_gateway_model_tokens_total{kind}` | tokens | of all model calls, including stateless turns; kind `input` or `output` |
//! | `hansard_gateway_model_calls_total{tokens}` | calls | of models; tokens `reported` by the server; estimated from bytes: `estimated` if the server reports none or the call was interrupted, `implausible` if it reports more than can be true |
//! | `hansard_gateway_metered_calls_total{outcome}` | calls | of models; outcome `kept`; not metered: `no_stream` in the record, `refused` by the writer, writer `unreachable` until the gateway ended |
//! | `hansard_gateway_quota_reads_failed_total` | reads | of today's tokens from the read model that failed or timed out; the last known count is used |

use ::metrics::counter;
use ::quotas::Exceeded;
use domain::event::Usage;

use super::counted_usage::CountSource;

/// A quota rejected a request.
pub(super) fn refused(exceeded: &Exceeded) {
    let (quota, scope) = (exceeded.quota.as_str(), exceeded.scope.as_str());
    counter!("hansard_gateway_quota_exceeded_total", "quota" => quota, "scope" => scope).increment(1);
}

/// The tokens of the day could not be read.
pub(super) fn read_failed() {
    counter!("hansard_gateway_quota_reads_failed_total").increment(1);
}

/// A model call was metered, or could not be.
pub(super) fn metered(outcome: &'static str) {
    counter!("hansard_gateway_metered_calls_total", "outcome" => outcome).increment(1);
}

/// The tokens of a model call were counted.
pub(crate) fn spent(usage: &Usage, source: CountSource) {
    counter!("hansard_gateway_model_calls_total", "tokens" => source.as_str()).increment(1);
    counter!("hansard_gateway_model_tokens_total", "kind" => "input").increment(usage.input_tokens);
    counter!("hansard_gateway_model_tokens_total", "kind" => "output").increment(usage.output_tokens);
}
