//! Bodies, queries and paths of requests, with problems that name what was wrong and never what was sent.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request},
    http::{StatusCode, request::Parts},
};
use serde::de::DeserializeOwned;

use crate::{Problem, Service};

/// A JSON body, whatever the request calls it: many clients call everything a form.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Service> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, service: &Service) -> Result<Self, Problem> {
        let bytes = bytes(request, service).await?;
        // A body that can be left out is an empty object.
        let bytes = if bytes.is_empty() {
            b"{}".as_slice()
        } else {
            &bytes
        };
        parse(bytes).map(Self)
    }
}

async fn bytes(request: Request, service: &Service) -> Result<Bytes, Problem> {
    let limit = service.options.body_bytes;
    Bytes::from_request(request, service)
        .await
        .map_err(|error| {
            if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
                Problem::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "body_too_large",
                    format!("the body is over the limit of {limit} bytes; send it in parts"),
                )
            } else {
                Problem::invalid("the body could not be read to its end")
            }
        })
}

/// The parser's message may quote what it read, so only names of fields that are known to be names are
/// kept of it.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    if std::str::from_utf8(bytes).is_err() {
        return Err(Problem::invalid("the body is not UTF-8"));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        Problem::invalid(format!(
            "the body cannot be read at {place}: {}",
            safe(&error)
        ))
    })
}

/// What can be said of a parser's error without repeating what was sent: the names of fields.
fn safe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let named = ["unknown field `", "missing field `", "duplicate field `"]
        .into_iter()
        .find(|start| text.starts_with(start));
    match named {
        Some(start) => {
            let rest = &text[start.len()..];
            let name: String = rest.chars().take_while(|letter| *letter != '`').collect();
            let is_name = name.len() <= 64
                && name
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            let name = if is_name { name } else { "…".to_owned() };
            format!("{}{name}`", start)
        }
        None => match error.classify() {
            serde_json::error::Category::Data => {
                "a value is of the wrong type, or not one of those allowed".to_owned()
            }
            _ => "it is not valid JSON".to_owned(),
        },
    }
}

/// What stands after the `?`.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Service> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Service) -> Result<Self, Problem> {
        let query = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        query
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|_| {
                Problem::invalid("the query has a parameter that is unknown, or of the wrong form")
                    .hint("`/docs` lists the parameters of each request")
            })
    }
}

/// The parts of a path.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Service> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Problem> {
        axum::extract::Path::<T>::from_request_parts(parts, service)
            .await
            .map(|axum::extract::Path(value)| Self(value))
            .map_err(|_| Problem::not_found("there is nothing at this path"))
    }
}
