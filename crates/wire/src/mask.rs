//! Update masks: one field of a message is set, by its path.

use prost::Message;
use prost_reflect::{DynamicMessage, ReflectMessage as _};

use crate::json::{JsonError, descriptor};

/// A message with the field at a path, such as `model.server`, of another one; a field that the other one lacks is cleared. `name`:
/// the full name of their type. `None`: the type has no such field; lists have none.
#[must_use]
pub fn copy_field<M: Message + Default>(name: &str, current: &M, given: &M, path: &str) -> Option<M> {
    let mut changed = dynamic(name, current).ok()?;
    copy(&mut changed, &dynamic(name, given).ok()?, path)?;
    changed.transcode_to().ok()
}

fn dynamic(name: &str, message: &impl Message) -> Result<DynamicMessage, JsonError> {
    let bytes = message.encode_to_vec();
    let decoded = DynamicMessage::decode(descriptor(name)?, bytes.as_slice());
    decoded.map_err(|_| JsonError::OtherType(name.to_owned()))
}

fn copy(current: &mut DynamicMessage, given: &DynamicMessage, path: &str) -> Option<()> {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let field = current.descriptor().get_field_by_name(name)?;
    let value = given.get_field(&field);
    match rest {
        Some(rest) => copy(current.get_field_mut(&field).as_message_mut()?, value.as_message()?, rest),
        None if given.has_field(&field) => {
            current.set_field(&field, value.into_owned());
            Some(())
        }
        None => {
            current.clear_field(&field);
            Some(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::operate::v1::{AgentSettings, ModelSettings, QuotaLimits, Quotas};

    const NAME: &str = "hansard.operate.v1.AgentSettings";

    fn quotas(runs: Option<u64>, conversations: Option<u64>) -> Quotas {
        Quotas { owner: Some(QuotaLimits { runs, conversations, ..QuotaLimits::default() }), ..Quotas::default() }
    }

    #[test]
    fn a_path_names_a_field_at_any_depth() {
        let model = ModelSettings { server: "a".to_owned(), steps_max: 3, ..ModelSettings::default() };
        let given = AgentSettings {
            model: Some(ModelSettings { server: "b".to_owned(), ..ModelSettings::default() }),
            quotas: Some(quotas(Some(3), None)),
            allowed_roles: vec![2],
            ..AgentSettings::default()
        };
        let current = AgentSettings {
            identity_mode: 3,
            model: Some(model.clone()),
            quotas: Some(quotas(Some(1), Some(2))),
            ..AgentSettings::default()
        };
        let check = |path: &str, expected: Option<AgentSettings>| {
            assert_eq!(copy_field(NAME, &current, &given, path), expected, "{path}");
        };
        check("identity_mode", Some(AgentSettings { identity_mode: 0, ..current.clone() }));
        check("allowed_roles", Some(AgentSettings { allowed_roles: vec![2], ..current.clone() }));
        check("model", Some(AgentSettings { model: given.model.clone(), ..current.clone() }));
        let of_server = ModelSettings { server: "b".to_owned(), ..model.clone() };
        check("model.server", Some(AgentSettings { model: Some(of_server), ..current.clone() }));
        let without_steps = ModelSettings { steps_max: 0, ..model };
        check("model.steps_max", Some(AgentSettings { model: Some(without_steps), ..current.clone() }));
        check("quotas.owner.runs", Some(AgentSettings { quotas: Some(quotas(Some(3), Some(2))), ..current.clone() }));
        check(
            "quotas.owner.conversations",
            Some(AgentSettings { quotas: Some(quotas(Some(1), None)), ..current.clone() }),
        );
        check("summaries", Some(current.clone()));
        for path in
            ["", ".", "name", "model.", "model.name", "tools.tool_name", "identity_mode.x", "quotas.owner.runs.x"]
        {
            check(path, None);
        }
        assert_eq!(copy_field("hansard.operate.v1.Nothing", &current, &given, "model"), None);
    }
}
