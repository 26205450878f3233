//! The client context as templates see it: data only.

use domain::ClientContext;
use minijinja::Value;

use crate::template::CLIENT_NAMES;
use crate::template::values::{clean, json};

/// The values by name. Missing and null values are undefined and print as nothing.
pub(super) fn values(client: &ClientContext) -> Value {
    let texts = [&client.page_url, &client.referrer, &client.user_agent, &client.locale, &client.timezone]
        .map(|text| text.as_deref().map(|text| Value::from(clean(text))));
    let metadata = client.custom_metadata.as_ref().map(json);
    let values = texts.into_iter().chain([metadata]);
    CLIENT_NAMES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect()
}
