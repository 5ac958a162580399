//! Bodies, queries and paths of requests, with problems that name the wrong field and its limits, and never its value.

use std::{borrow::Cow, fmt, marker::PhantomData};

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use memoir_domain::{PrivateJson, memory::Number, mend};
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer,
    },
};

use crate::{Problem, Service, limits::too_large};

/// A JSON body, whatever its content type: many clients send that of a form.
pub(crate) struct JsonBody<T>(pub(crate) T);

/// The body of a request without parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

impl<T: DeserializeOwned> FromRequest<Service> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, service: &Service) -> Result<Self, Problem> {
        let Object(body) = parse(&bytes(request, service).await?)?;
        Ok(Self(body))
    }
}

/// A JSON body of any kind: a tool's arguments, which the tool checks itself.
pub(crate) struct Arguments(pub(crate) PrivateJson);

impl FromRequest<Service> for Arguments {
    type Rejection = Problem;

    async fn from_request(request: Request, service: &Service) -> Result<Self, Problem> {
        parse(&bytes(request, service).await?).map(Self)
    }
}

/// A value that is written as an object. By itself, the parser also accepts a list of the values.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

/// A list of at most `MOST` items. Further ones are counted and not kept: an item takes many times the room of the shortest
/// text that gives one, and of such texts a body holds very many.
#[derive(Debug)]
pub(crate) struct Bounded<T, const MOST: usize> {
    pub(crate) items: Vec<T>,
    /// How many the list has, those over `MOST` included, which may have any form.
    pub(crate) given: usize,
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Bounded<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(BoundedVisitor(PhantomData))
    }
}

struct BoundedVisitor<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for BoundedVisitor<T, MOST> {
    type Value = Bounded<T, MOST>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < MOST {
            let Some(item) = list.next_element()? else {
                break;
            };
            items.push(item);
        }
        let mut given = items.len();
        while given >= MOST && list.next_element::<IgnoredAny>()?.is_some() {
            given += 1;
        }
        Ok(Bounded { items, given })
    }
}

async fn bytes(request: Request, service: &Service) -> Result<Bytes, Problem> {
    let limit = service.options.body_bytes;
    Bytes::from_request(request, service)
        .await
        .map_err(|error| {
            if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
                too_large(limit)
            } else {
                Problem::invalid("the body could not be read to its end")
            }
        })
}

/// A body as JSON, repaired where part of it is no text (SPEC 2.1).
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let text = mend::json(bytes);
    // A body that can be left out is an empty object, and so is null.
    let text = match text.as_ref() {
        "" | "null" => "{}",
        text => text,
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    let parsed = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let inner = error.inner();
        match inner.classify() {
            serde_json::error::Category::Data => {
                Problem::invalid(problem_text(&error.path().to_string(), &inner.to_string()))
            }
            _ => not_json(inner),
        }
    })?;
    // Two consecutive objects are a mistake; the first alone must not count.
    reader.end().map_err(|error| not_json(&error))?;
    Ok(parsed)
}

fn not_json(error: &serde_json::Error) -> Problem {
    Problem::invalid(format!(
        "the body is not valid JSON: line {}, column {}",
        error.line(),
        error.column()
    ))
}

/// The fault, without the sent values: of a parser's message only names of fields are kept, and the expectations of
/// this code.
fn problem_text(path: &str, message: &str) -> String {
    // Without line and column: the path of the field is the better place.
    let message = message.split(" at line ").next().unwrap_or_default();
    let quoted = |start: &str| {
        let rest = message.strip_prefix(start)?;
        Some(name(rest.split('`').next().unwrap_or_default()))
    };
    // The expected part comes last, after the found one.
    let expected = || message.rsplit_once(", expected ").map(|(_, what)| what);
    if let Some(name) = quoted("unknown field `") {
        return match expected() {
            Some(known) => format!("{name}: is no field here; there are {}", listed(known)),
            None => format!("{name}: is no field here; there are none"),
        };
    }
    if let Some(name) = quoted("missing field `") {
        return format!("{}: is missing", inside(path, &name));
    }
    if let Some(name) = quoted("duplicate field `") {
        return format!("{name}: is given twice");
    }
    let place = match path {
        "." | "" => "the body".to_owned(),
        path => name(path),
    };
    if message.starts_with("not a time") {
        return format!("{place}: {message}");
    }
    let length = message.strip_prefix("invalid length ");
    let length = length.and_then(|rest| rest.split_once(',')?.0.parse::<u64>().ok());
    match (length, expected()) {
        (Some(given), Some(what)) => format!("{place}: has {given}; give {what}"),
        (None, Some(what)) => format!("{place}: must be {}", listed(what)),
        (_, None) => format!("{place}: has a value of the wrong form"),
    }
}

/// The parser's list of names, for a sentence.
fn listed(expected: &str) -> &str {
    expected.strip_prefix("one of ").unwrap_or(expected)
}

/// A missing field's name after the path of its object.
fn inside(path: &str, field: &str) -> String {
    match path {
        "." | "" => field.to_owned(),
        // Where the path already ends with it, the parser was there.
        path if path.ends_with(field) => name(path),
        path => format!("{}.{field}", name(path)),
    }
}

/// A name as it was sent, if it is one: anything else might be text.
pub(crate) fn name(text: &str) -> String {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-.[]".contains(letter);
    // Longer than every name, and shorter than a pasted text without spaces.
    if text.len() <= 80 && !text.is_empty() && text.chars().all(is_name) {
        text.to_owned()
    } else {
        "a name that is none".to_owned()
    }
}

/// The query after the `?`. Unknown names are refused before, for every request (`routes/guard.rs`).
pub(crate) struct UrlQuery<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Service> for UrlQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Service) -> Result<Self, Problem> {
        let text = parts.uri.query().unwrap_or_default();
        // A blank value leaves the parameter out, as in a body. A name alone has no value, and stays an error.
        let is_blank = |pair: &&str| {
            let read = serde_urlencoded::from_str::<Vec<(&str, Cow<'_, str>)>>(pair);
            pair.contains('=')
                && read.is_ok_and(|read| read.iter().all(|(_, value)| value.trim().is_empty()))
        };
        let given = text.split('&').filter(|pair| !is_blank(pair));
        serde_urlencoded::from_str(&given.collect::<Vec<_>>().join("&"))
            .map(Self)
            .map_err(|error| Problem::invalid(problem_text("the query", &error.to_string())))
    }
}

/// A value in a query.
pub(crate) fn read<T, E: std::fmt::Display>(
    field: &str,
    text: Option<&str>,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, Problem> {
    text.map(parse)
        .transpose()
        .map_err(|error| Problem::invalid(format!("{field}: {error}")))
}

pub(crate) fn flag(field: &str, text: Option<&str>) -> Result<Option<bool>, Problem> {
    let wrong = |_| "must be `true` or `false`";
    read(field, text, |text| text.parse::<bool>().map_err(wrong))
}

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

/// The number of a memory in a path.
pub(crate) fn number(text: &str) -> Result<Number, Problem> {
    let number = text
        .parse()
        .ok()
        // Databases keep signed numbers: numbers beyond them are not found.
        .filter(|number| *number <= i64::MAX as u64);
    number
        .map(Number)
        .ok_or_else(|| Problem::not_found("there is no memory of that number"))
}

/// The number of a memory in a query.
pub(crate) fn number_of(field: &str, text: Option<&str>) -> Result<Option<Number>, Problem> {
    let number = text.map(number).transpose().ok();
    number
        .filter(|number| number.is_none_or(|number| number >= Number(1)))
        .ok_or_else(|| Problem::invalid(format!("{field}: must be a number from 1, such as 17")))
}

/// The media ranges that the client accepts, with their weights in thousandths (RFC 9110, 12.5.1).
pub(crate) fn accepted(headers: &HeaderMap) -> Vec<(String, u32)> {
    let values = headers.get_all(header::ACCEPT).iter();
    let ranges = values.filter_map(|value| value.to_str().ok());
    let ranges = ranges.flat_map(|value| value.split(','));
    let ranges = ranges.filter(|range| !range.trim().is_empty());
    ranges.filter_map(weight_of).collect()
}

/// Whether the client prefers plain text to JSON.
pub(crate) fn prefers_text(headers: &HeaderMap) -> bool {
    let accepted = accepted(headers);
    let weight = |wanted: &[&str]| {
        let found = wanted
            .iter()
            .find_map(|kind| accepted.iter().find(|(name, _)| name == kind));
        found.map_or(0, |(_, weight)| *weight)
    };
    // `*/*` names no text.
    let text = weight(&["text/plain", "text/*"]);
    // Text where both have one weight: a client that names it wants it.
    text > 0 && text >= weight(&["application/json", "application/*", "*/*"])
}

/// A media range and its weight.
fn weight_of(range: &str) -> Option<(String, u32)> {
    let (kind, parameters) = range.split_once(';').unwrap_or((range, ""));
    let mut parameters = parameters.split(';').filter_map(|one| one.split_once('='));
    let weight = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    let weight: f32 = weight.map_or(Some(1.0), |(_, weight)| weight.trim().parse().ok())?;
    let weight = (weight.clamp(0.0, 1.0) * 1_000.0) as u32;
    Some((kind.trim().to_ascii_lowercase(), weight))
}

#[cfg(test)]
mod tests {
    use memoir_domain::Timestamp;
    use memoir_testkit::rows;

    use super::*;

    fn accepts(value: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, value.parse().unwrap());
        prefers_text(&headers)
    }

    #[test]
    fn text_is_sent_to_a_client_that_prefers_it() {
        for wanted in [
            "text/plain",
            "TEXT/PLAIN; charset=utf-8",
            "text/plain, */*",
            "application/json;q=0.5, text/plain",
            "text/*",
        ] {
            assert!(accepts(wanted), "{wanted}");
        }
        for other in [
            "*/*",
            "application/json",
            "application/json, text/plain;q=0.5",
            "text/plain;q=0.5, */*;q=0.8",
            "text/plain;q=0",
            "text/html",
        ] {
            assert!(!accepts(other), "{other}");
        }
        assert!(!prefers_text(&HeaderMap::new()));
    }

    #[test]
    fn spec_2_1_items_over_the_limit_are_counted_and_not_read() {
        for (sent, items, given) in [
            ("[]", vec![], 0),
            ("[1]", vec![1], 1),
            ("[1, 2]", vec![1, 2], 2),
            (r#"[1, 2, {"no": ["number"]}, "nor this"]"#, vec![1, 2], 4),
        ] {
            let list = parse::<Bounded<u32, 2>>(sent.as_bytes()).unwrap();
            assert_eq!((list.items, list.given), (items, given), "{sent}");
        }
        let wrong = parse::<Bounded<u32, 2>>(br#"[1, "SECRET", 3]"#).unwrap_err();
        assert!(!format!("{wrong:?}").contains("SECRET"));
        parse::<Bounded<u32, 2>>(b"[1, 2, 3").unwrap_err();
    }

    #[test]
    fn what_was_sent_is_not_repeated() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only parsed")]
        struct Thing {
            count: u32,
            at: Option<Timestamp>,
            rest: Option<Vec<Thing>>,
        }
        let cases = rows(
            r#"{"count": "SECRET, expected nothing"} | count: must be u32
            {"SECRET words": 1} | a name that is none: is no field here; there are `count`, `at`, `rest`
            {"colour": 1} | colour: is no field here; there are `count`, `at`, `rest`
            {} | count: is missing
            {"count": 1, "count": 2} | count: is given twice
            {"count": 1, "rest": [{"count": 1}, {}]} | rest[1].count: is missing
            ["SECRET"] | the body: must be an object
            {"count": 1} SECRET | the body is not valid JSON: line 1, column 14
            {"count": SECRET} | the body is not valid JSON: line 1, column 11"#,
        );
        for [sent, expected] in cases {
            let problem = parse::<Object<Thing>>(sent.as_bytes()).unwrap_err();
            let shown = format!("{problem:?}");
            assert!(shown.contains(expected), "{sent}: {shown}");
            assert!(!shown.contains("SECRET"), "{sent}: {shown}");
        }
        let wrong = parse::<Thing>(br#"{"count": 1, "at": "May SECRET"}"#).unwrap_err();
        let shown = format!("{wrong:?}");
        assert!(shown.contains("at: not a time: expected a date"), "{shown}");
        assert!(!shown.contains("SECRET"));
    }
}
