//! The client context as templates see it: data only.

use domain::{ClientContext, JsonText};
use minijinja::Value;

use crate::template::values::{clean, json};
use crate::template::{CLIENT_NAMES, Values};

/// The values by name. Missing and null values are undefined and print as nothing.
pub(super) fn values(client: &ClientContext) -> Values {
    let texts = [&client.page_url, &client.referrer, &client.user_agent, &client.locale, &client.timezone];
    let metadata_bytes = client.custom_metadata.as_ref().map_or(0, |metadata| JsonText::as_str(metadata).len());
    let bytes = metadata_bytes + texts.iter().filter_map(|text| text.as_deref()).map(str::len).sum::<usize>();
    let texts = texts.map(|text| text.as_deref().map(|text| Value::from(clean(text))));
    let metadata = client.custom_metadata.as_ref().map(json);
    let values = texts.into_iter().chain([metadata]);
    let named = CLIENT_NAMES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?)));
    Values { values: named.collect(), bytes }
}
