//! `POST /dashboard/conversations/{id}/context/verify`: assembles the context of a receipt again and compares it byte for byte.

use axum::extract::State;
use domain::ViolationReason;
use formats::Format;
use pages::dashboard::context::Verification;
use runtime::http::{HttpProblem, Path};
use serde::Deserialize;
use wire::proto::read::v1::{ReadTarget, Receipt};

use super::ContextQuery;
use super::inspection::{RECEIPT, assemble, inspect_with};
use crate::form::Form;
use crate::page::Page;
use crate::person::Person;
use conversations::assembly::verification::{difference, is_same, request};
use http_listener::state::HttpState;

/// The receipt, as JSON.
#[derive(Debug, Deserialize)]
pub(crate) struct ReceiptForm {
    receipt: String,
}

pub(crate) async fn verify_receipt(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
    Form(form): Form<ReceiptForm>,
) -> Result<Page, HttpProblem> {
    let target = person.admin.target(&state, &id).await?;
    let receipt: Receipt = wire::json::read(RECEIPT, &form.receipt).map_err(|error| {
        let detail = format!("the receipt is not valid: {error}. Copy it whole from this page or a file");
        HttpProblem::of_field(ViolationReason::Malformed, "receipt", detail)
    })?;
    let format = Format::from_number(receipt.format).ok_or_else(|| {
        let detail = "the receipt names no format of this gateway".to_owned();
        HttpProblem::of_field(ViolationReason::Malformed, "receipt.format", detail)
    })?;
    let query = ContextQuery {
        version: (receipt.version > 0).then_some(receipt.version),
        format: format.as_str().to_owned(),
        ..ContextQuery::default()
    };
    let verification = if receipt.conversation_id == id {
        // The conversation of the URL decides who may read; the receipt only says how.
        let mut request = request(&receipt, None);
        request.target = Some(ReadTarget::default());
        let assembled = assemble(&state, &target, request).await?.receipt;
        let is_equal = is_same(&receipt, &assembled);
        Verification {
            is_equal,
            text: if is_equal {
                let sha256 = hex::encode(&assembled.body_sha256);
                format!("Equal: the context at event {} has sha256 {sha256}.", assembled.version)
            } else {
                format!("Not equal: {}.", difference(&receipt, &assembled))
            },
        }
    } else {
        Verification { is_equal: false, text: "Not equal: the receipt is of another conversation.".to_owned() }
    };
    inspect_with(&state, &person, &id, query, Some(verification)).await
}
