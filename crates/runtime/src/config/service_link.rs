//! Recognizes the variables by which Kubernetes links the services of a namespace into each container.
//!
//! The links of a service whose name begins with `hansard` begin with `HANSARD_`, as settings do. Source: "Environment variables" of
//! <https://kubernetes.io/docs/concepts/services-networking/service/#discovering-services>.

use std::net::{IpAddr, SocketAddr};

/// The protocols of a service.
const PROTOCOLS: [&str; 3] = ["tcp", "udp", "sctp"];

/// Whether a variable has the name and the value of a service link. A name with `__`, as that of a setting in a section, is never one.
pub(super) fn is_service_link(name: &str, value: &str) -> bool {
    if name.contains("__") {
        return false;
    }
    if name.ends_with("_SERVICE_HOST") {
        return is_address(value);
    }
    let named_port = name.split_once("_SERVICE_PORT_").is_some_and(|(_, port)| !port.is_empty());
    if named_port || name.ends_with("_SERVICE_PORT") {
        return is_port(value);
    }
    let of_port = name.rsplit_once("_PORT_").is_some_and(|(_, port)| is_port_link(port, value));
    of_port || (name.ends_with("_PORT") && endpoint(value).is_some())
}

/// Whether a name, after `…_PORT_`, and a value are those of one port: `8080_TCP`, or a part of it such as `8080_TCP_ADDR`.
fn is_port_link(name: &str, value: &str) -> bool {
    let words: Vec<&str> = name.split('_').collect();
    let (port, protocol, field) = match words.as_slice() {
        [port, protocol] => (*port, protocol.to_ascii_lowercase(), None),
        [port, protocol, field] => (*port, protocol.to_ascii_lowercase(), Some(*field)),
        _ => return false,
    };
    let expected = port.parse().ok().map(|port: u16| (protocol.as_str(), port));
    match field {
        None => expected.is_some() && endpoint(value) == expected,
        Some("PROTO") => is_port(port) && PROTOCOLS.contains(&value) && value == protocol,
        Some("PORT") => is_port(port) && value == port,
        Some("ADDR") => is_port(port) && is_address(value),
        Some(_) => false,
    }
}

/// The protocol and the port of `tcp://10.0.0.1:8080`.
fn endpoint(value: &str) -> Option<(&str, u16)> {
    let (protocol, address) = value.split_once("://")?;
    let address: SocketAddr = address.parse().ok()?;
    PROTOCOLS.contains(&protocol).then(|| (protocol, address.port()))
}

fn is_address(value: &str) -> bool {
    value.parse::<IpAddr>().is_ok()
}

fn is_port(value: &str) -> bool {
    value.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_links_are_recognized_by_name_and_value() {
        for (name, value, expected) in [
            ("HANSARD_SERVICE_HOST", "10.0.0.1", true),
            ("HANSARD_SERVICE_HOST", "fd00::1", true),
            ("HANSARD_SERVICE_HOST", "gateway", false),
            ("HANSARD_SERVICE_PORT", "7303", true),
            ("HANSARD_SERVICE_PORT", "65536", false),
            ("HANSARD_GATEWAY_SERVICE_PORT_GRPC", "7302", true),
            ("HANSARD_GATEWAY_SERVICE_PORT_GRPC_WEB", "7302", true),
            ("HANSARD_GATEWAY_SERVICE_PORT_", "7302", false),
            ("HANSARD_PORT", "tcp://10.0.0.1:7303", true),
            ("HANSARD_GATEWAY_PORT", "udp://[fd00::1]:7303", true),
            ("HANSARD_GATEWAY_PORT", "7303", false),
            ("HANSARD_GATEWAY_PORT", "http://10.0.0.1:7303", false),
            ("HANSARD_GATEWAY_PORT", "tcp://10.0.0.1", false),
            ("HANSARD_PORT_8080_TCP", "tcp://10.0.0.1:8080", true),
            ("HANSARD_PORT_8080_TCP", "tcp://10.0.0.1:8081", false),
            ("HANSARD_PORT_8080_TCP", "udp://10.0.0.1:8080", false),
            ("HANSARD_PORT_8080_TCP_PROTO", "tcp", true),
            ("HANSARD_PORT_8080_TCP_PROTO", "udp", false),
            ("HANSARD_PORT_8080_TCP_PORT", "8080", true),
            ("HANSARD_PORT_8080_TCP_PORT", "8081", false),
            ("HANSARD_PORT_8080_TCP_ADDR", "10.0.0.1", true),
            ("HANSARD_PORT_8080_TCP_ADDR", "here", false),
            ("HANSARD_PORT_8080_TCP_NAME", "tcp", false),
            ("HANSARD_PORT_HTTP_TCP", "tcp://10.0.0.1:8080", false),
            ("HANSARD_A_PORT_B_PORT_53_UDP", "udp://10.0.0.1:53", true),
            ("HANSARD_GRPC__SERVICE_PORT", "7302", false),
            ("HANSARD_ADMIN_ADDR", "10.0.0.1", false),
        ] {
            assert_eq!(is_service_link(name, value), expected, "{name}={value}");
        }
    }
}
