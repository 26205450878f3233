//! Conversions of events, of callers (checked) and of the record.

mod from_proto;
mod lifecycle;
mod texts;
mod to_proto;

pub(crate) use from_proto::stored_event_from_proto;
pub use from_proto::{
    from_proto, message_from_proto, new_event_from_proto, tool_returned_from_proto, usage_from_proto,
};
pub(crate) use texts::check as check_texts;

pub use lifecycle::{outcome_from_proto, outcome_to_proto};
pub use texts::check_message;
pub use to_proto::{fact_to_proto, message_to_proto, role, to_proto, tool_called, tool_returned, usage_to_proto};

use domain::EventKind;

use crate::proto::read::v1 as read;

/// A kind as protobuf.
#[must_use]
pub fn kind_to_proto(kind: EventKind) -> read::EventKind {
    read::EventKind::try_from(i32::from(kind.code())).unwrap_or_default()
}

/// A kind as the domain type; `None` for one that is not given.
#[must_use]
pub fn kind_from_proto(kind: read::EventKind) -> Option<EventKind> {
    let code = i32::from(kind).try_into().ok()?;
    EventKind::from_code(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protobuf_has_every_kind_under_its_code() {
        for kind in EventKind::ALL {
            let proto = kind_to_proto(*kind);
            let name = proto.as_str_name().replace(['_'], "");
            let expected = format!("EVENTKIND{}", kind.name().to_uppercase());
            assert_eq!(name, expected);
            assert_eq!(kind_from_proto(proto), Some(*kind));
        }
        assert_eq!(kind_from_proto(read::EventKind::Unspecified), None);
    }
}
