//! The embedded files of pages: style sheet, icon and ES modules.
//!
//! Their URLs contain a hash of all files, so browsers keep them for a year and a new build gets new URLs. Modules import
//! each other by relative paths.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

/// The folder of all assets; below it are the hash and the name.
pub const BASE_PATH: &str = "/dashboard/assets";
/// The header `Cache-Control` of an asset whose URL has the current [`hash`].
pub const CACHE_CONTROL: &str = "public, max-age=31536000, immutable";
/// Bytes of the hash in URLs: 16 hexadecimal digits.
const HASH_BYTES: usize = 8;

/// An embedded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// Its name, the last segment of its URL.
    pub name: &'static str,
    /// Its media type.
    pub content_type: &'static str,
    /// Its content.
    pub content: &'static str,
}

const CSS: &str = "text/css; charset=utf-8";
const MODULE: &str = "text/javascript; charset=utf-8";

/// The style sheet of every page.
pub const STYLE: Asset = Asset { name: "style.css", content_type: CSS, content: include_str!("assets/style.css") };
/// The module of every page: keys, local times, copying.
pub const DASHBOARD: Asset =
    Asset { name: "dashboard.js", content_type: MODULE, content: include_str!("assets/dashboard.js") };
/// The module of transcripts: search on the page, live events, links to events of other pages.
pub const TRANSCRIPT: Asset =
    Asset { name: "transcript.js", content_type: MODULE, content: include_str!("assets/transcript.js") };
/// The module of the editor of context policies: the preview follows while the person types.
pub const POLICY: Asset = Asset { name: "policy.js", content_type: MODULE, content: include_str!("assets/policy.js") };
/// The icon of the browser's tab.
pub const ICON: Asset =
    Asset { name: "icon.svg", content_type: "image/svg+xml", content: include_str!("assets/icon.svg") };

/// Every asset. A new file is one line here.
pub const ALL: [Asset; 5] = [STYLE, DASHBOARD, TRANSCRIPT, POLICY, ICON];

static HASH: LazyLock<String> = LazyLock::new(|| {
    let hash = ALL
        .iter()
        .fold(Sha256::new(), |hash, asset| {
            hash.chain_update(asset.name).chain_update([0]).chain_update(asset.content).chain_update([0])
        })
        .finalize();
    hex::encode(hash.get(..HASH_BYTES).unwrap_or_default())
});

/// The hash of all assets, in hexadecimal digits.
#[must_use]
pub fn hash() -> &'static str {
    &HASH
}

/// The asset with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Asset> {
    ALL.iter().find(|asset| asset.name == name)
}

impl Asset {
    /// The path of its URL.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{BASE_PATH}/{}/{}", hash(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_are_found_by_name_and_have_a_hash_in_their_path() {
        for asset in ALL {
            assert_eq!(find(asset.name), Some(&asset));
            let expected = format!("/dashboard/assets/{}/{}", hash(), asset.name);
            assert_eq!(asset.path(), expected);
        }
        assert_eq!(hash().len(), 2 * HASH_BYTES);
        assert_eq!(find("none.css"), None);
    }

    #[test]
    fn assets_request_nothing_of_others() {
        for asset in ALL {
            let text = asset.content.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("://"), "{}", asset.name);
        }
    }
}
