//! The code generated from `proto/`.

/// Includes one generated package.
macro_rules! package {
    ($name:ident, $package:literal, $doc:literal) => {
        #[doc = $doc]
        pub mod $name {
            #[doc = $doc]
            #[allow(
                missing_docs,
                unused_qualifications,
                clippy::pedantic,
                clippy::as_conversions,
                clippy::large_enum_variant,
                clippy::clone_on_ref_ptr,
                clippy::allow_attributes_without_reason,
                reason = "generated code"
            )]
            pub mod v1 {
                tonic::include_proto!($package);
            }
        }
    };
}

package!(event, "hansard.event.v1", "The formats of the record: events, commits and heads.");
package!(write, "hansard.write.v1", "The write service.");
package!(read, "hansard.read.v1", "The read service.");
package!(run, "hansard.run.v1", "The run service.");
package!(history, "hansard.history.v1", "The history service.");
package!(document, "hansard.document.v1", "The document service.");
package!(operate, "hansard.operate.v1", "The operators' services.");

/// The encoded `FileDescriptorSet` of all packages, for reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
