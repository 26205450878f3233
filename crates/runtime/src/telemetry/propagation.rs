//! Propagation of traces between processes by the headers of W3C Trace Context.
//!
//! The functions take closures, so that gRPC metadata and message headers need no adapter.
//! Source: <https://www.w3.org/TR/trace-context/>.

use std::collections::HashMap;

use opentelemetry::Context;
use opentelemetry::propagation::{Injector, TextMapPropagator};
use opentelemetry::trace::TraceContextExt;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

pub(crate) const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// Passes the headers of the current span to `put(name, value)`; does not call it if nothing is traced.
pub fn inject(put: impl FnMut(&str, &str)) {
    let span = Span::current();
    if !span.is_disabled() {
        TraceContextPropagator::new().inject_context(&span.context(), &mut Put(put));
    }
}

/// Whether the trace headers of a caller are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// A service or proxy of the deployment: the request continues its trace and its sampling decision.
    Trusted,
    /// Any other caller: the request starts a new trace with a link to the caller's trace.
    Public,
}

/// Makes the remote span of the headers that `get(name)` returns the parent of `span`, or links it, if the caller is not
/// trusted.
///
/// Call it before the span is entered: the parent of a started span cannot change.
pub fn extract<'a>(span: &Span, caller: Caller, get: impl Fn(&str) -> Option<&'a str>) {
    match caller {
        Caller::Trusted => set_remote_parent(span, get),
        Caller::Public => link_remote(span, get),
    }
}

/// Makes the remote span of the headers that `get(name)` returns the parent of `span`.
///
/// Call it before the span is entered: the parent of a started span cannot change.
pub fn set_remote_parent<'a>(span: &Span, get: impl Fn(&str) -> Option<&'a str>) {
    if let Some(remote) = remote(span, get) {
        // It fails only if no traces are exported.
        let _ = span.set_parent(remote);
    }
}

/// Links `span` to the remote span of the headers that `get(name)` returns. For work on a batch of messages, which has no
/// single parent. A span keeps its first 128 links.
pub fn link_remote<'a>(span: &Span, get: impl Fn(&str) -> Option<&'a str>) {
    if let Some(remote) = remote(span, get) {
        span.add_link(remote.span().span_context().clone());
    }
}

/// The `traceparent` of the current span; `None` if nothing is traced.
#[must_use]
pub fn traceparent() -> Option<String> {
    let mut traceparent = None;
    inject(|name, value| {
        if name == TRACEPARENT {
            traceparent = Some(value.to_owned());
        }
    });
    traceparent
}

fn remote<'a>(span: &Span, get: impl Fn(&str) -> Option<&'a str>) -> Option<Context> {
    if span.is_disabled() {
        return None;
    }
    let header = |name: &str| Some((name.to_owned(), get(name)?.to_owned()));
    let headers: HashMap<String, String> = [TRACEPARENT, TRACESTATE].into_iter().filter_map(header).collect();
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &headers);
    context.span().span_context().is_valid().then_some(context)
}

struct Put<F>(F);

impl<F: FnMut(&str, &str)> Injector for Put<F> {
    fn set(&mut self, key: &str, value: String) {
        // An empty tracestate is left out.
        if !value.is_empty() {
            (self.0)(key, &value);
        }
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::TracerProvider;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    const REMOTE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn traced(run: impl FnOnce()) {
        let tracer = SdkTracerProvider::builder().build().tracer("test");
        let layer = tracing_opentelemetry::layer().with_tracer(tracer);
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, run);
    }

    fn injected() -> HashMap<String, String> {
        let mut headers = HashMap::new();
        inject(|name, value| {
            headers.insert(name.to_owned(), value.to_owned());
        });
        headers
    }

    fn check(traceparent_in: Option<&'static str>, same_trace: bool) {
        let span = tracing::info_span!("test.span.parent");
        set_remote_parent(&span, |name| traceparent_in.filter(|_| name == TRACEPARENT));
        let _entered = span.enter();
        let headers = injected();
        let out = &headers[TRACEPARENT];
        assert_eq!(headers.len(), 1, "{headers:?}");
        assert_eq!(out[3..35] == REMOTE[3..35], same_trace, "{traceparent_in:?} gave {out}");
        assert_ne!(&out[36..52], &REMOTE[36..52]);
        assert_eq!(traceparent().as_ref(), Some(out));
    }

    #[test]
    fn a_trace_is_extracted_and_injected() {
        traced(|| {
            check(Some(REMOTE), true);
            check(None, false);
            check(Some("00-zz"), false);
            let zero = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
            check(Some(zero), false);
        });
    }

    #[test]
    fn a_public_caller_starts_a_new_trace() {
        traced(|| {
            for (caller, same_trace) in [(Caller::Trusted, true), (Caller::Public, false)] {
                let span = tracing::info_span!("test.span.extract");
                extract(&span, caller, |name| (name == TRACEPARENT).then_some(REMOTE));
                let _entered = span.enter();
                let out = &injected()[TRACEPARENT];
                assert_eq!(out[3..35] == REMOTE[3..35], same_trace, "{caller:?}: {out}");
            }
        });
    }

    #[test]
    fn without_traces_nothing_is_injected() {
        assert!(injected().is_empty());
        let subscriber = tracing_subscriber::registry();
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("test.span.untraced");
            set_remote_parent(&span, |_| Some(REMOTE));
            let _entered = span.enter();
            assert!(injected().is_empty() && traceparent().is_none());
        });
    }
}
