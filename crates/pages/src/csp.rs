//! The Content-Security-Policy of pages.
//!
//! Only files of the gateway itself are loaded; there is no inline script and no inline style. A page that needs a width, such
//! as a bar, uses SVG attributes or `<meter>`, never `style=`. Source: <https://www.w3.org/TR/CSP3/>.

/// The header's value, the same for every page.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";
