//! The tenants that an operator may switch to.

use maud::{Markup, html};

use super::SystemPage;
use crate::components::{Column, Tone, badge, form, table};

pub(super) fn tenants(page: SystemPage<'_>) -> Markup {
    let Some(tenants) = page.tenants else {
        return html! {};
    };
    let rows: Vec<Markup> = tenants
        .iter()
        .map(|tenant| {
            let switch = html! {
                input type="hidden" name="tenant" value=(tenant);
                button type="submit" { "Switch to " (tenant) }
            };
            let is_current = tenant == page.person.tenant;
            html! {
                tr {
                    th scope="row" { (tenant) }
                    td {
                        @if is_current {
                            (badge(Tone::Good, "this session"))
                        } @else {
                            (form(&page.person, "/dashboard/system/tenant", &switch))
                        }
                    }
                }
            }
        })
        .collect();
    let other = html! {
        label for="tenant" { "Another tenant" }
        input #tenant type="text" name="tenant" required autocomplete="off" spellcheck="false";
        button type="submit" { "Switch" }
    };
    html! {
        h2 { "Tenants" }
        p.muted { "A switch ends this session and starts one of the other tenant. Both audit logs record it." }
        (table("Tenants", &["Tenant", "Session"].map(Column::text), &rows))
        @if page.has_more_tenants { div.actions { (form(&page.person, "/dashboard/system/tenant", &other)) } }
    }
}
