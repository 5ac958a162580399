//! `/docs`: what requests there are, and the description of every error, as self-contained pages: no script, no other
//! host. The forms of requests and responses are in `/openapi.json` alone.

use std::sync::LazyLock;

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use memoir_console::with_code;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::description::DOCUMENT;
use crate::{Problem, errors, extract::Path};

const STYLE: &str = include_str!("docs.css");

/// The description of the interface, to read.
#[utoipa::path(get, path = "/docs", tag = "service", operation_id = "get_docs", security(()),
    responses((status = 200, description = "A page", body = String, content_type = "text/html")))]
pub(super) async fn interface() -> Response {
    static PAGE: LazyLock<String> = LazyLock::new(|| page("Memoir", interface_body(&DOCUMENT)));
    answer(PAGE.as_str())
}

/// What an error's code means, and what to do about it.
#[utoipa::path(get, path = "/docs/errors/{code}", tag = "service", operation_id = "get_error_docs", security(()),
    params(("code" = String, Path, description = "The `code` of a problem document", example = "session_open")),
    responses((status = 200, description = "A page", body = String, content_type = "text/html"),
        (status = 404, description = "`not_found`", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn error(Path(code): Path<String>) -> Result<Response, Problem> {
    let found = errors::page(&code);
    let found = found.ok_or_else(|| Problem::not_found("there is no error of that code"))?;
    let body = html! {
        p { a href="/docs#errors" { "All errors" } }
        main #main { (markdown(found.text)) }
    };
    Ok(answer(page(found.code, body)))
}

/// Allows the page its own style and nothing else.
fn answer(page: impl Into<axum::body::Body>) -> Response {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        // The page's one style by its digest, so that nothing else inline would count.
        let digest = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
        format!(
            "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'"
        )
    });
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY.as_str()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, page.into()).into_response()
}

fn page(title: &str, body: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "To the text" }
                p { a href="/" { "Back to the console" } }
                (body)
            }
        }
    };
    page.into_string()
}

/// The little Markdown that the pages about errors are written in.
fn markdown(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split("```").enumerate() {
            @if place % 2 == 1 {
                pre { (part.split_once('\n').map_or(part, |(_, code)| code)) }
            } @else {
                @for block in part.split("\n\n") { (block_of(block.trim())) }
            }
        }
    }
}

fn block_of(block: &str) -> Markup {
    html! {
        @if let Some(title) = block.strip_prefix("## ") {
            h2 { (with_code(title)) }
        } @else if let Some(title) = block.strip_prefix("# ") {
            h1 { (with_code(title)) }
        } @else if block.starts_with("- ") {
            ul { @for line in block.lines() { li { (with_code(line.trim_start_matches("- "))) } } }
        } @else if !block.is_empty() {
            p { (with_code(block)) }
        }
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Method, path and description of every operation of a tag.
fn operations<'a>(document: &'a Value, tag: &str) -> Vec<(&'a str, &'a str, &'a Value)> {
    entries(&document["paths"])
        .flat_map(|(path, item)| {
            entries(item)
                .map(move |(method, operation)| (method.as_str(), path.as_str(), operation))
        })
        .filter(|(.., operation)| items(&operation["tags"]).any(|own| own == tag))
        .collect()
}

fn interface_body(document: &Value) -> Markup {
    let info = &document["info"];
    let tags = || items(&document["tags"]).map(|tag| (text(tag, "name"), tag));
    let anchor = |name: &str| name.replace(' ', "-");
    html! {
        nav aria-label="Contents" {
            @for (name, _) in tags() {
                h2 { a href={ "#" (anchor(name)) } { (name) } }
                ul {
                    @for (method, path, operation) in operations(document, name) {
                        li {
                            a href={ "#" (text(operation, "operationId")) } {
                                b { (method.to_ascii_uppercase()) } " " (path)
                            }
                        }
                    }
                }
            }
            h2 { a href="#errors" { "errors" } }
        }
        main #main {
            h1 { (text(info, "title")) " " (text(info, "version")) }
            @for part in text(info, "description").split("\n\n") { p { (with_code(part)) } }
            p { "The fields of requests and answers, with their limits and examples, are in "
                a href="/openapi.json" { "openapi.json" } ", for programs and for viewers of OpenAPI." }
            @for (name, tag) in tags() {
                section {
                    h2 id=(anchor(name)) { (name) }
                    p { (with_code(text(tag, "description"))) }
                    @for (method, path, operation) in operations(document, name) {
                        (operation_article(method, path, operation))
                    }
                }
            }
            (errors_section())
        }
    }
}

fn operation_article(method: &str, path: &str, operation: &Value) -> Markup {
    let description = text(operation, "description").split("\n\n").map(str::trim);
    html! {
        article {
            h3 id=(text(operation, "operationId")) {
                b class=(method) { (method.to_ascii_uppercase()) } " " code { (path) }
            }
            p { (with_code(text(operation, "summary"))) }
            @for part in description.filter(|part| !part.is_empty()) { p { (with_code(part)) } }
            div.wide { table {
                @for (status, response) in entries(&operation["responses"]) {
                    tr {
                        th scope="row" { (status) }
                        td { (linked_codes(text(response, "description"))) }
                    }
                }
            } }
        }
    }
}

/// A description in which each code leads to its page.
fn linked_codes(description: &str) -> Markup {
    html! {
        @for (place, part) in description.split('`').enumerate() {
            @if place % 2 == 0 {
                (part)
            } @else if errors::page(part).is_some() {
                a href={ "/docs/errors/" (part) } { code { (part) } }
            } @else {
                code { (part) }
            }
        }
    }
}

fn errors_section() -> Markup {
    html! {
        section {
            h2 #errors { "errors" }
            div.wide { table {
                @for page in errors::PAGES {
                    tr {
                        th scope="row" { (page.status) }
                        td { a href={ "/docs/errors/" (page.code) } { code { (page.code) } } }
                        td { (with_code(page.text.split("\n\n").nth(1).unwrap_or_default())) }
                    }
                }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_leads_somewhere_on_this_host() {
        let shown = page("Memoir", interface_body(&DOCUMENT));
        for link in shown.split("href=\"").skip(1) {
            let target = link.split('"').next().unwrap();
            if let Some(anchor) = target.strip_prefix('#') {
                assert!(shown.contains(&format!("id=\"{anchor}\"")), "{target}");
            } else if let Some(code) = target.strip_prefix("/docs/errors/") {
                assert!(errors::page(code).is_some(), "{target}");
            } else {
                assert!(["/openapi.json", "/"].contains(&target), "{target}");
            }
        }
        for outside in [
            "http:", "https:", "<script", "url(", "@import", "onclick", "style=\"",
        ] {
            assert!(!shown.contains(outside), "{outside}");
        }
    }

    #[test]
    fn every_operation_is_on_the_page() {
        let shown = interface_body(&DOCUMENT).into_string();
        for (path, item) in entries(&DOCUMENT["paths"]) {
            for (method, operation) in entries(item) {
                let id = format!("id=\"{}\"", text(operation, "operationId"));
                assert!(shown.contains(&id), "{method} {path}");
            }
        }
    }

    #[test]
    fn markdown_is_escaped_and_shown() {
        assert_eq!(
            markdown("# `a`\n\nText < `b`.\n\n- one\n- two\n\n```json\n{\"a\": 1}\n```\n")
                .into_string(),
            "<h1><code>a</code></h1><p>Text &lt; <code>b</code>.</p><ul><li>one</li><li>two</li></ul>\
             <pre>{&quot;a&quot;: 1}\n</pre>"
        );
    }
}
