//! Searches documents and lists their namespaces, from the rows.

use domain::bounds::DOCUMENT_LABELS_MAX;
use domain::{DocumentName, DocumentNamespace, Position, Timestamp, Violation};
use history::{Deadline, FencedTables};
use read_model::ReadModel;
use read_model::queries::documents as rows;
use read_model::queries::documents::{DocumentCondition, DocumentQuery, NamespaceQuery};
use registry::AgentAccess;
use wire::status::Problem;

use super::find::Document;
use super::scope::{self, DocumentScope};
use crate::Gateway;
use crate::problem::position_not_reached;
use crate::request::{BoundedNumber, out_of_range};

/// The number of documents of an answer.
pub const DOCUMENTS_PAGE: BoundedNumber = BoundedNumber { field: "limit", default: 10, max: 100 };
/// The number of namespaces of an answer.
pub const DOCUMENT_NAMESPACES_PAGE: BoundedNumber = BoundedNumber { field: "limit", default: 100, max: 1_000 };
/// The number of first labels of a namespace that are returned; 0: all.
pub const DOCUMENT_DEPTH: BoundedNumber = BoundedNumber { field: "max_depth", default: 0, max: 16 };
const _: () = assert!(DOCUMENT_LABELS_MAX == 16);
/// Maximum size of an answer's values, in bytes. An answer has at least one.
pub const DOCUMENTS_PAGE_BYTES_MAX: usize = 3 * 1024 * 1024;
/// Maximum number of documents or namespaces that a request skips.
pub const DOCUMENT_OFFSET_MAX: u32 = 10_000;

/// Which documents to return.
#[derive(Debug)]
pub struct DocumentSearch {
    /// Permission to read the agent's documents.
    pub access: AgentAccess,
    /// Whose documents.
    pub scope: DocumentScope,
    /// The first labels of their namespaces.
    pub prefix: DocumentNamespace,
    /// Conditions on their values.
    pub conditions: Vec<DocumentCondition>,
    /// Where the answer starts.
    pub page: DocumentsPage,
    /// Documents that expire until this time are not returned.
    pub now: Timestamp,
}

/// Which namespaces to return.
#[derive(Debug)]
pub struct NamespaceSearch {
    /// Permission to read the agent's documents.
    pub access: AgentAccess,
    /// Whose documents.
    pub scope: DocumentScope,
    /// Their first labels.
    pub prefix: DocumentNamespace,
    /// Their last labels.
    pub suffix: DocumentNamespace,
    /// Only this many first labels are returned; 0: all.
    pub depth_max: u32,
    /// Where the answer starts.
    pub page: DocumentsPage,
    /// Documents that expire until this time do not count.
    pub now: Timestamp,
}

/// Where an answer starts, and what it must include.
#[derive(Debug, Clone)]
pub struct DocumentsPage {
    /// How many are skipped.
    pub offset: u32,
    /// How many are returned.
    pub limit: u32,
    /// The rows must include these positions.
    pub fences: Vec<Position>,
    /// The deadline of the read.
    pub deadline: Deadline,
}

impl DocumentsPage {
    /// Checks the offset.
    ///
    /// # Errors
    /// It is over [`DOCUMENT_OFFSET_MAX`].
    pub fn check_offset(offset: u32) -> Result<u32, Violation> {
        if offset <= DOCUMENT_OFFSET_MAX {
            return Ok(offset);
        }
        let rule = format!("is {offset}, the maximum is {DOCUMENT_OFFSET_MAX}: search a longer namespace prefix");
        Err(out_of_range(rule).within("offset"))
    }
}

/// The documents that match, the last updated first, and whether there are more.
///
/// # Errors
/// The rows are unavailable, or do not include the positions in time.
pub async fn search(gateway: &Gateway, search: DocumentSearch) -> Result<(Vec<Document>, bool), Problem> {
    let page = search.page;
    let model = rows_at(gateway, &search.access, &search.scope, &page).await?;
    let query = DocumentQuery {
        scope: search.scope.rows(gateway, &search.access)?,
        agent: search.access.agent.clone(),
        prefix: search.prefix,
        conditions: search.conditions,
        now: search.now,
        offset: page.offset,
        limit: page.limit.saturating_add(1),
    };
    let found = page.deadline.rows(rows::search_documents(&model, &search.access.tenant, &query)).await?;
    let count_max = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let (mut documents, mut bytes) = (Vec::new(), 0);
    for found in found {
        bytes += found.value.value_json.len();
        let is_full = documents.len() >= count_max;
        if is_full || (!documents.is_empty() && bytes > DOCUMENTS_PAGE_BYTES_MAX) {
            return Ok((documents, true));
        }
        documents.push(Document {
            conversation: found.conversation,
            name: DocumentName { namespace: found.namespace, key: found.key },
            value: found.value,
        });
    }
    Ok((documents, false))
}

/// The namespaces with documents, in the order of their labels, and whether there are more.
///
/// # Errors
/// As [`search()`].
pub async fn namespaces(gateway: &Gateway, search: NamespaceSearch) -> Result<(Vec<DocumentNamespace>, bool), Problem> {
    let page = search.page;
    let model = rows_at(gateway, &search.access, &search.scope, &page).await?;
    let query = NamespaceQuery {
        scope: search.scope.rows(gateway, &search.access)?,
        agent: search.access.agent.clone(),
        prefix: search.prefix,
        suffix: search.suffix,
        depth_max: match search.depth_max {
            0 => u32::MAX,
            depth => depth,
        },
        now: search.now,
        offset: page.offset,
        limit: page.limit.saturating_add(1),
    };
    let mut found = page.deadline.rows(rows::list_document_namespaces(&model, &search.access.tenant, &query)).await?;
    let count_max = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let has_more = found.len() > count_max;
    found.truncate(count_max);
    Ok((found, has_more))
}

/// Rows that include the positions of the page and, for the documents of one conversation, its last commit.
async fn rows_at(
    gateway: &Gateway,
    access: &AgentAccess,
    scope: &DocumentScope,
    page: &DocumentsPage,
) -> Result<ReadModel, Problem> {
    let tenant = access.tenant.tenant();
    let reader = gateway.reader.for_request(tenant);
    if let DocumentScope::Conversation(conversation) = scope {
        scope::wait_for_rows(&reader, access, conversation, page.deadline).await?;
    }
    let rows = page.deadline.rows(reader.rows_at(tenant, &page.fences, FencedTables::Conversations)).await?;
    rows.ok_or_else(position_not_reached)
}
