//! The methods of a server: names, kinds and metric handles, built from descriptor sets.
//!
//! They are built once, so that a call finds its metric handles by its path without an allocation.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use prost::{DecodeError, Message};
use prost_types::{FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto};
use tonic::Code;

/// Services of gRPC itself. They need no slot: operators need them when the server is overloaded.
const INFRASTRUCTURE_PREFIX: &str = "grpc.";

/// The name of unknown methods in traces and metrics.
const UNKNOWN: &str = "unknown";

const CODES: usize = 17;

/// The kind of a method; it decides how a drain ends the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One request, one response: it has a deadline, and finishes within the drain.
    Unary,
    /// One request, many responses: a drain ends it as soon as it has nothing to send.
    ServerStreaming,
    /// Many requests: its handler sees the shutdown, and ends it within the drain.
    ClientStreaming,
}

#[derive(Debug)]
pub(super) struct Method {
    pub(super) service: String,
    pub(super) name: String,
    /// The name of spans: `grpc.<service>.<method>`.
    pub(super) span_name: String,
    pub(super) kind: Kind,
    /// Needs no slot, and is served during a drain.
    pub(super) infrastructure: bool,
    pub(super) in_flight: Gauge,
    pub(super) seconds: Histogram,
    calls: [OnceLock<Counter>; CODES],
}

impl Method {
    fn new(service: &str, name: &str, kind: Kind) -> Self {
        let labels = [("service", service.to_owned()), ("method", name.to_owned())];
        Self {
            service: service.to_owned(),
            name: name.to_owned(),
            span_name: format!("grpc.{service}.{name}"),
            kind,
            infrastructure: service.starts_with(INFRASTRUCTURE_PREFIX),
            in_flight: gauge!("grpc_server_calls_in_flight", &labels),
            seconds: histogram!("grpc_server_call_seconds", &labels),
            calls: [const { OnceLock::new() }; CODES],
        }
    }

    /// Whether the caller may pause between two request messages.
    pub(super) fn may_pause(&self) -> bool {
        self.infrastructure || self.kind == Kind::ClientStreaming
    }

    pub(super) fn count(&self, code: Code) {
        let slot = usize::try_from(i32::from(code)).ok().and_then(|code| self.calls.get(code));
        if let Some(slot) = slot {
            slot.get_or_init(|| self.counter(code)).increment(1);
        }
    }

    fn counter(&self, code: Code) -> Counter {
        counter!(
            "grpc_server_calls_total",
            "service" => self.service.clone(),
            "method" => self.name.clone(),
            "code" => format!("{code:?}")
        )
    }
}

#[derive(Debug)]
pub(super) struct Methods {
    by_path: HashMap<String, Arc<Method>>,
    unknown: Arc<Method>,
}

impl Methods {
    /// The methods of encoded `FileDescriptorSet`s.
    pub(super) fn from_descriptors(sets: &[&[u8]]) -> Result<Self, DecodeError> {
        let mut by_path = HashMap::new();
        for set in sets {
            for file in FileDescriptorSet::decode(*set)?.file {
                add_file(&file, &mut by_path);
            }
        }
        let unknown = Arc::new(Method::new(UNKNOWN, UNKNOWN, Kind::Unary));
        Ok(Self { by_path, unknown })
    }

    pub(super) fn find(&self, path: &str) -> &Arc<Method> {
        self.by_path.get(path).unwrap_or(&self.unknown)
    }

    pub(super) fn describes(&self, service: &str) -> bool {
        self.by_path.values().any(|method| method.service == service)
    }
}

fn add_file(file: &FileDescriptorProto, by_path: &mut HashMap<String, Arc<Method>>) {
    for service in &file.service {
        let service_name = match file.package() {
            "" => service.name().to_owned(),
            package => format!("{package}.{}", service.name()),
        };
        for method in &service.method {
            let path = format!("/{service_name}/{}", method.name());
            let kind = kind_of(&service_name, method);
            by_path.entry(path).or_insert_with(|| Arc::new(Method::new(&service_name, method.name(), kind)));
        }
    }
}

fn kind_of(service: &str, method: &MethodDescriptorProto) -> Kind {
    match (method.client_streaming(), method.server_streaming()) {
        (false, false) => Kind::Unary,
        (true, _) if !service.starts_with(INFRASTRUCTURE_PREFIX) => Kind::ClientStreaming,
        // Reflection is client streaming, but its handler is not ours and does not see the shutdown.
        (true | false, _) => Kind::ServerStreaming,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, span_name: &str, kind: Kind, infrastructure: bool) {
        let sets = [tonic_health::pb::FILE_DESCRIPTOR_SET, tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET];
        let methods = Methods::from_descriptors(&sets).unwrap();
        let method = methods.find(path);
        assert_eq!((method.span_name.as_str(), method.kind), (span_name, kind), "{path}");
        assert_eq!(method.infrastructure, infrastructure, "{path}");
    }

    #[test]
    fn methods_are_read_from_descriptors() {
        check("/grpc.health.v1.Health/Check", "grpc.grpc.health.v1.Health.Check", Kind::Unary, true);
        check("/grpc.health.v1.Health/Watch", "grpc.grpc.health.v1.Health.Watch", Kind::ServerStreaming, true);
        check(
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            "grpc.grpc.reflection.v1.ServerReflection.ServerReflectionInfo",
            Kind::ServerStreaming,
            true,
        );
        check("/x.Y/Z", "grpc.unknown.unknown", Kind::Unary, false);
        assert!(Methods::from_descriptors(&[b"\xff"]).is_err());
    }
}
