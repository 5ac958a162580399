//! `/docs`: the description of the interface and of every error, as self-contained pages: no script, no other host.

use std::{fmt::Write, sync::LazyLock};

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::description::DOCUMENT;
use crate::{Problem, errors, extract::Path};

const STYLE: &str = include_str!("docs.css");

/// The description of the interface, to read.
#[utoipa::path(get, path = "/docs", tag = "service", operation_id = "get_docs", security(()),
    responses((status = 200, description = "A page", body = String, content_type = "text/html")))]
pub(super) async fn interface() -> Response {
    static PAGE: LazyLock<String> = LazyLock::new(|| page("Memoir", &interface_body(&DOCUMENT)));
    html(PAGE.as_str())
}

/// What an error's code means, and what to do about it.
#[utoipa::path(get, path = "/docs/errors/{code}", tag = "service", operation_id = "get_error_docs", security(()),
    params(("code" = String, Path, description = "The `code` of a problem document", example = "session_open")),
    responses((status = 200, description = "A page", body = String, content_type = "text/html"),
        (status = 404, description = "`not_found`", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn error(Path(code): Path<String>) -> Result<Response, Problem> {
    let found = errors::page(&code);
    let found = found.ok_or_else(|| Problem::not_found("there is no error of that code"))?;
    let body = format!(
        "<p><a href=\"/docs#errors\">All errors</a></p><main id=\"main\">{}</main>",
        markdown(found.text)
    );
    Ok(html(page(found.code, &body)))
}

/// Allows the page its own style and nothing else.
fn html(body: impl Into<axum::body::Body>) -> Response {
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
    (headers, body.into()).into_response()
}

fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{}</title><style>{STYLE}</style></head><body>\
         <a class=\"skip\" href=\"#main\">To the text</a><p><a href=\"/\">Back to the console</a></p>{body}\
         </body></html>\n",
        escape(title)
    )
}

fn escape(text: &str) -> String {
    // First, or the signs of the other three would be escaped again.
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Inline Markdown: code between backticks, and nothing else.
fn inline(text: &str) -> String {
    let mut shown = String::new();
    for (place, part) in text.split('`').enumerate() {
        let part = escape(part);
        if place % 2 == 1 {
            let _ = write!(shown, "<code>{part}</code>");
        } else {
            shown += &part;
        }
    }
    shown
}

/// The little Markdown that the pages about errors are written in.
fn markdown(text: &str) -> String {
    let mut shown = String::new();
    for (place, part) in text.split("```").enumerate() {
        if place % 2 == 1 {
            let code = part.split_once('\n').map_or(part, |(_, code)| code);
            let _ = write!(shown, "<pre>{}</pre>", escape(code));
            continue;
        }
        for block in part.split("\n\n") {
            shown += &block_of(block.trim());
        }
    }
    shown
}

fn block_of(block: &str) -> String {
    if block.is_empty() {
        String::new()
    } else if let Some(title) = block.strip_prefix("## ") {
        format!("<h2>{}</h2>", inline(title))
    } else if let Some(title) = block.strip_prefix("# ") {
        format!("<h1>{}</h1>", inline(title))
    } else if block.starts_with("- ") {
        let items: String = block
            .lines()
            .map(|line| format!("<li>{}</li>", inline(line.trim_start_matches("- "))))
            .collect();
        format!("<ul>{items}</ul>")
    } else {
        format!("<p>{}</p>", inline(block))
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

fn interface_body(document: &Value) -> String {
    let info = &document["info"];
    let mut navigation = String::new();
    let mut sections = String::new();
    for tag in items(&document["tags"]) {
        let name = text(tag, "name");
        let anchor = name.replace(' ', "-");
        let _ = write!(
            navigation,
            "<h2><a href=\"#{anchor}\">{}</a></h2><ul>",
            escape(name)
        );
        let about = inline(text(tag, "description"));
        let _ = write!(
            sections,
            "<section><h2 id=\"{anchor}\">{}</h2><p>{about}</p>",
            escape(name)
        );
        for (method, path, operation) in operations(document, name) {
            let id = text(operation, "operationId");
            let _ = write!(
                navigation,
                "<li><a href=\"#{id}\"><b>{}</b> {}</a></li>",
                method.to_ascii_uppercase(),
                escape(path)
            );
            sections += &operation_section(document, method, path, operation);
        }
        navigation += "</ul>";
        sections += "</section>";
    }
    navigation +=
        "<h2><a href=\"#schemas\">schemas</a></h2><h2><a href=\"#errors\">errors</a></h2>";
    let introduction: String = text(info, "description")
        .split("\n\n")
        .map(|part| format!("<p>{}</p>", inline(part)))
        .collect();
    format!(
        "<nav aria-label=\"Contents\">{navigation}</nav><main id=\"main\"><h1>{} {}</h1>{introduction}\
         <p>For programs: <a href=\"/openapi.json\">openapi.json</a></p>{sections}{}{}</main>",
        escape(text(info, "title")),
        escape(text(info, "version")),
        schemas_section(document),
        errors_section(),
    )
}

fn operation_section(document: &Value, method: &str, path: &str, operation: &Value) -> String {
    let mut shown = format!(
        "<article><h3 id=\"{}\"><b class=\"{method}\">{}</b> <code>{}</code></h3><p>{}</p>",
        text(operation, "operationId"),
        method.to_ascii_uppercase(),
        escape(path),
        inline(text(operation, "summary")),
    );
    for part in text(operation, "description").split("\n\n") {
        if !part.trim().is_empty() {
            let _ = write!(shown, "<p>{}</p>", inline(part.trim()));
        }
    }
    shown += &parameters_table(operation);
    shown += &request_body(document, operation);
    shown += &responses_table(operation);
    shown + "</article>"
}

fn parameters_table(operation: &Value) -> String {
    let rows: String = items(&operation["parameters"])
        .map(|parameter| {
            let needed = if parameter["required"] == true { "required" } else { "" };
            format!(
                "<tr><th scope=\"row\"><code>{}</code></th><td>{} {needed}</td><td>{}</td><td>{}</td></tr>",
                escape(text(parameter, "name")),
                text(parameter, "in"),
                form(&parameter["schema"]),
                inline(text(parameter, "description")),
            )
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("<h4>Parameters</h4><div class=\"wide\"><table>{rows}</table></div>")
}

fn request_body(document: &Value, operation: &Value) -> String {
    let body = &operation["requestBody"];
    if body.is_null() {
        return String::new();
    }
    let schema = &body["content"]["application/json"]["schema"];
    let needed = if body["required"] == true {
        "required"
    } else {
        "can be left out"
    };
    let mut shown = format!("<h4>Body</h4><p>{}, {needed}</p>", form(schema));
    if let Some(example) = example(document, schema) {
        let pretty = serde_json::to_string_pretty(&example).unwrap_or_default();
        let _ = write!(shown, "<pre>{}</pre>", escape(&pretty));
    }
    shown
}

/// An object of the examples that the schema's properties have.
fn example(document: &Value, schema: &Value) -> Option<Value> {
    let schema = resolve(document, schema);
    if let Some(example) = schema.get("example") {
        return Some(example.clone());
    }
    if let Some(items) = schema.get("items") {
        return example(document, items).map(|item| Value::Array(vec![item]));
    }
    let fields: serde_json::Map<String, Value> = entries(&schema["properties"])
        .filter_map(|(name, property)| Some((name.clone(), example(document, property)?)))
        .collect();
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// The schema that a reference names; of a choice with null, the other one.
fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let choice = items(&schema["oneOf"]).find(|choice| choice["type"] != "null");
    let schema = choice.unwrap_or(schema);
    let name = text(schema, "$ref").rsplit('/').next().unwrap_or_default();
    document["components"]["schemas"]
        .get(name)
        .unwrap_or(schema)
}

fn responses_table(operation: &Value) -> String {
    let rows: String = entries(&operation["responses"])
        .map(|(status, response)| {
            let forms: Vec<String> = entries(&response["content"])
                .map(|(kind, content)| {
                    format!(
                        "{} <small>{}</small>",
                        form(&content["schema"]),
                        escape(kind)
                    )
                })
                .collect();
            format!(
                "<tr><th scope=\"row\">{status}</th><td>{}</td><td>{}</td></tr>",
                linked_codes(text(response, "description")),
                forms.join("<br>"),
            )
        })
        .collect();
    format!("<h4>Answers</h4><div class=\"wide\"><table>{rows}</table></div>")
}

/// A description in which each code leads to its page.
fn linked_codes(description: &str) -> String {
    let mut shown = String::new();
    for (place, part) in description.split('`').enumerate() {
        let escaped = escape(part);
        if place % 2 == 0 {
            shown += &escaped;
        } else if errors::page(part).is_some() {
            let _ = write!(
                shown,
                "<a href=\"/docs/errors/{escaped}\"><code>{escaped}</code></a>"
            );
        } else {
            let _ = write!(shown, "<code>{escaped}</code>");
        }
    }
    shown
}

/// A schema in a few words.
fn form(schema: &Value) -> String {
    let reference = text(schema, "$ref");
    if !reference.is_empty() {
        let name = escape(reference.rsplit('/').next().unwrap_or_default());
        return format!("<a href=\"#schema-{name}\">{name}</a>");
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let choices: Vec<String> = choices.iter().map(form).collect();
        return choices.join(" or ");
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values
            .iter()
            .map(|value| format!("<code>{}</code>", escape(value.as_str().unwrap_or("null"))))
            .collect();
        return values.join(", ");
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" or "),
        kind => kind.as_str().unwrap_or("anything").to_owned(),
    };
    let mut shown = match schema.get("items") {
        Some(items) => kinds.replace("array", &format!("list of {}", form(items))),
        None => kinds,
    };
    for (key, name) in [
        ("format", ""),
        ("minimum", "from "),
        ("exclusiveMinimum", "over "),
        ("maximum", "to "),
        ("minLength", "at least "),
        ("maxLength", "at most "),
        ("minItems", "at least "),
        ("maxItems", "at most "),
    ] {
        match &schema[key] {
            Value::Null => {}
            Value::String(limit) => {
                let _ = write!(shown, ", {name}{}", escape(limit));
            }
            limit => {
                let _ = write!(shown, ", {name}{limit}");
            }
        }
    }
    shown
}

fn schemas_section(document: &Value) -> String {
    let mut shown = "<section><h2 id=\"schemas\">schemas</h2>".to_owned();
    for (name, schema) in entries(&document["components"]["schemas"]) {
        let name = escape(name);
        let about = inline(text(schema, "description"));
        let _ = write!(
            shown,
            "<article><h3 id=\"schema-{name}\">{name}</h3><p>{about}</p>"
        );
        let parts: Vec<&Value> = items(&schema["allOf"]).collect();
        let parts = if parts.is_empty() {
            vec![schema]
        } else {
            parts
        };
        let mut rows = String::new();
        for part in parts {
            if part.get("$ref").is_some() {
                let _ = write!(shown, "<p>All of {}, and:</p>", form(part));
            }
            rows.extend(
                entries(&part["properties"])
                    .map(|(field, property)| property_row(part, field, property)),
            );
        }
        if rows.is_empty() {
            let _ = write!(shown, "<p>{}</p>", form(schema));
        } else {
            let _ = write!(shown, "<div class=\"wide\"><table>{rows}</table></div>");
        }
        shown += "</article>";
    }
    shown + "</section>"
}

fn property_row(schema: &Value, field: &str, property: &Value) -> String {
    let is_always_there = items(&schema["required"]).any(|name| name == field);
    let there = if is_always_there {
        ""
    } else {
        "can be left out"
    };
    format!(
        "<tr><th scope=\"row\"><code>{}</code></th><td>{}</td><td>{there}</td><td>{}</td></tr>",
        escape(field),
        form(property),
        inline(text(property, "description")),
    )
}

fn errors_section() -> String {
    let rows: String = errors::PAGES
        .iter()
        .map(|page| {
            let meaning = page.text.split("\n\n").nth(1).unwrap_or_default();
            format!(
                "<tr><th scope=\"row\">{}</th><td><a href=\"/docs/errors/{1}\"><code>{1}</code></a></td><td>{2}</td></tr>",
                page.status,
                page.code,
                inline(meaning)
            )
        })
        .collect();
    format!(
        "<section><h2 id=\"errors\">errors</h2><div class=\"wide\"><table>{rows}</table></div></section>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_leads_somewhere_on_this_host() {
        let shown = page("Memoir", &interface_body(&DOCUMENT));
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
    fn every_operation_and_every_schema_is_on_the_page() {
        let shown = interface_body(&DOCUMENT);
        for (path, item) in entries(&DOCUMENT["paths"]) {
            for (method, operation) in entries(item) {
                let id = format!("id=\"{}\"", text(operation, "operationId"));
                assert!(shown.contains(&id), "{method} {path}");
            }
        }
        for (name, _) in entries(&DOCUMENT["components"]["schemas"]) {
            assert!(shown.contains(&format!("id=\"schema-{name}\"")), "{name}");
        }
    }

    #[test]
    fn markdown_is_escaped_and_shown() {
        assert_eq!(
            markdown("# `a`\n\nText < `b`.\n\n- one\n- two\n\n```json\n{\"a\": 1}\n```\n"),
            "<h1><code>a</code></h1><p>Text &lt; <code>b</code>.</p><ul><li>one</li><li>two</li></ul>\
             <pre>{&quot;a&quot;: 1}\n</pre>"
        );
    }
}
