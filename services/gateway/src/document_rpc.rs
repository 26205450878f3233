//! The document service over gRPC. One file per rpc.

mod delete_document;
mod get_document;
mod list_document_namespaces;
mod list_document_versions;
mod put_document;
mod request;
mod search_documents;

use tonic::{Request, Response, Status};
use wire::proto::document::v1 as proto;
use wire::proto::document::v1::document_service_server::DocumentService;

use conversations::Gateway;
use conversations::commands::Commands;
use conversations::documents::Document;

/// The document service over gRPC.
#[derive(Debug, Clone)]
pub struct DocumentRpc {
    gateway: Gateway,
    commands: Commands,
}

impl DocumentRpc {
    /// The service of a gateway; `commands` record documents.
    #[must_use]
    pub fn new(gateway: Gateway, commands: Commands) -> Self {
        Self { gateway, commands }
    }
}

#[tonic::async_trait]
impl DocumentService for DocumentRpc {
    async fn put_document(
        &self,
        request: Request<proto::PutDocumentRequest>,
    ) -> Result<Response<proto::PutDocumentResponse>, Status> {
        put_document::handle(self, request).await
    }

    async fn get_document(
        &self,
        request: Request<proto::GetDocumentRequest>,
    ) -> Result<Response<proto::GetDocumentResponse>, Status> {
        get_document::handle(self, request).await
    }

    async fn delete_document(
        &self,
        request: Request<proto::DeleteDocumentRequest>,
    ) -> Result<Response<proto::DeleteDocumentResponse>, Status> {
        delete_document::handle(self, request).await
    }

    async fn search_documents(
        &self,
        request: Request<proto::SearchDocumentsRequest>,
    ) -> Result<Response<proto::SearchDocumentsResponse>, Status> {
        search_documents::handle(self, request).await
    }

    async fn list_document_namespaces(
        &self,
        request: Request<proto::ListDocumentNamespacesRequest>,
    ) -> Result<Response<proto::ListDocumentNamespacesResponse>, Status> {
        list_document_namespaces::handle(self, request).await
    }

    async fn list_document_versions(
        &self,
        request: Request<proto::ListDocumentVersionsRequest>,
    ) -> Result<Response<proto::ListDocumentVersionsResponse>, Status> {
        list_document_versions::handle(self, request).await
    }
}

/// A document for answers.
fn document(document: Document) -> proto::Document {
    let value = document.value;
    proto::Document {
        namespace: document.name.namespace.labels().to_vec(),
        key: document.name.key,
        value_json: value.value_json,
        version: value.version.0,
        created_at: Some(wire::time::to_proto(value.created_at)),
        updated_at: Some(wire::time::to_proto(value.updated_at)),
        expires_at: value.expires_at.map(wire::time::to_proto),
        conversation_id: document.conversation.to_string(),
    }
}
