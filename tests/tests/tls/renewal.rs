//! Certificates that are renewed while the listeners are open.

use std::time::Instant;

use runtime::tls::{RELOAD_INTERVAL, endpoint};
use tests::eventually::eventually;

use super::system::System;
use tests::authority::{Authority, ca_parameters};

#[tokio::test(flavor = "multi_thread")]
async fn renewed_certificates_are_used_without_a_restart() {
    let system = System::start().await;
    let next = Authority::new("next");
    let addr = system.stack.gateway.settings.gateway.http.server.addr;
    let trusts = async |authority: &Authority| {
        let url = format!("https://{addr}{}", ca_parameters(&authority.ca()));
        endpoint(&url).unwrap().connect().await.is_ok()
    };
    assert!(trusts(&system.authority).await);
    assert!(!trusts(&next).await);
    // An invalid pair of files changes nothing.
    let files = system.authority.sign("http");
    next.sign_into("http", &files);
    std::fs::write(&files.key, "no key").unwrap();
    let begun = Instant::now();
    while begun.elapsed() < RELOAD_INTERVAL * 2 {
        assert!(trusts(&system.authority).await);
    }
    next.sign_into("http", &files);
    eventually("the renewed certificate", || async { trusts(&next).await.then_some(()) }).await;
    assert!(!trusts(&system.authority).await);
}
