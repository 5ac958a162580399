//! The content of a sent form, with its faults.

use std::str::FromStr;

use axum::{
    body::Body,
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use memoir_domain::Timestamp;
use serde::{Serialize, de::DeserializeOwned};

use crate::{answer::PageFailure, browser, field::Faults};

/// The largest form of a signed-in user: all prompts of the greatest length, percent-encoded: twelve bytes a character.
pub(crate) const MOST_BYTES: usize = 2 << 20;
/// The largest form of any other client.
// A password of 1,000 characters takes up to 12,000 bytes: four bytes a character, each written as three (`%F0`).
pub(crate) const MOST_BYTES_OF_STRANGERS: usize = 16 << 10;

/// The field that shows that a form was shown to this very browser.
pub(crate) const TOKEN: &str = "form_token";

/// The input of a form, and what is wrong with it: a page shows the form again with both.
#[derive(Clone, Default)]
pub(crate) struct SentForm {
    fields: Vec<(String, String)>,
    pub(crate) faults: Faults,
}

impl SentForm {
    /// Reads the body of a request. Browsers send line breaks as two characters; here they are one.
    ///
    /// # Errors
    /// It has more than `most_bytes`, or is no form.
    pub(crate) async fn read(body: Body, most_bytes: usize) -> Result<Self, PageFailure> {
        // A broken connection gives the same error, but then no client reads the response.
        let bytes = axum::body::to_bytes(body, most_bytes).await.map_err(|_| {
            PageFailure::new(StatusCode::PAYLOAD_TOO_LARGE, "The form is too long.")
        })?;
        // Without the parser's message, which may quote the typed text.
        let fields: Vec<(String, String)> = serde_urlencoded::from_bytes(&bytes)
            .map_err(|_| PageFailure::invalid("The form cannot be read."))?;
        let with_one = |(name, value): (String, String)| (name, value.replace("\r\n", "\n"));
        Ok(Self {
            fields: fields.into_iter().map(with_one).collect(),
            faults: Faults::default(),
        })
    }

    /// A form with these values, which was not sent.
    pub(crate) fn filled(fields: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self {
            fields: fields.iter().map(owned).collect(),
            faults: Faults::default(),
        }
    }

    pub(crate) fn all(&self) -> &[(String, String)] {
        &self.fields
    }

    /// The value of a field; blank where it was not sent.
    pub(crate) fn field(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// The number in a field; `None` where it holds none.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.field(name).trim().parse().ok()
    }

    /// The place of the newest record that was shown, to which an act is bound.
    pub(crate) fn newest(&self) -> Result<u64, PageFailure> {
        let missing = || PageFailure::invalid("The form does not say what was shown.");
        self.number("newest").ok_or_else(missing)
    }

    pub(crate) fn is_ticked(&self, name: &str) -> bool {
        self.field(name) == "yes"
    }
}

impl<S: Sync> FromRequestParts<S> for SentForm {
    type Rejection = PageFailure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, PageFailure> {
        browser::attached(parts)
    }
}

pub(crate) struct PageQuery<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for PageQuery<T> {
    type Rejection = PageFailure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, PageFailure> {
        query(parts.uri.query()).map(Self)
    }
}

/// The query after the `?`; blanks count as omitted, as browsers send them.
///
/// # Errors
/// A value that the page does not accept.
pub(crate) fn query<T: DeserializeOwned>(text: Option<&str>) -> Result<T, PageFailure> {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(text.unwrap_or_default())
        .map_err(|_| PageFailure::invalid("The address cannot be read."))?;
    let all = pairs.into_iter();
    let given: Vec<_> = all.filter(|(_, value)| !value.trim().is_empty()).collect();
    // Encoded again, since the deserializer would read a blank as a value and not as omitted.
    let text = serde_urlencoded::to_string(given)
        .map_err(|_| PageFailure::invalid("The address cannot be read."))?;
    serde_urlencoded::from_str(&text)
        .map_err(|error| PageFailure::invalid(format!("The address cannot be read: {error}.")))
}

/// A parameter as typed; blank where it was omitted.
pub(crate) fn typed(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or_default()
}

/// The last entry of the page before, by its time in microseconds and its identifier; `None` for the first page.
///
/// # Errors
/// They belong to no entry.
pub(crate) fn place<I: FromStr>(
    at: Option<i64>,
    id: Option<&str>,
) -> Result<Option<(Timestamp, I)>, PageFailure> {
    let Some((at, id)) = at.zip(id) else {
        return Ok(None);
    };
    let place = Timestamp::from_microseconds(at).zip(id.parse().ok());
    let unknown = || PageFailure::invalid("There is no such page.");
    place.map(Some).ok_or_else(unknown)
}

/// Cuts the rows, of which one more than `most` was read, to those of a page. Returns the last one where there is
/// another page.
pub(crate) fn cut<T>(rows: &mut Vec<T>, most: usize) -> Option<&T> {
    let is_more = rows.len() > most;
    rows.truncate(most);
    rows.last().filter(|_| is_more)
}

/// An address with these parameters, without blank ones.
pub(crate) fn address(path: &str, parameters: &[(&str, &str)]) -> String {
    address_of(path, &parameters)
}

/// An address with the parameters of a query, without blank ones.
pub(crate) fn address_of(path: &str, query: &impl Serialize) -> String {
    // This cannot fail: a query has texts and numbers.
    let text = serde_urlencoded::to_string(query).unwrap_or_default();
    // A value has no `=`: it is encoded.
    let given = text.split('&').filter(|pair| !pair.ends_with('='));
    match given.collect::<Vec<_>>().join("&") {
        given if given.is_empty() => path.to_owned(),
        given => format!("{path}?{given}"),
    }
}

/// A place as a part of an address; blank for the beginning.
pub(crate) fn after(place: u64) -> String {
    match place {
        0 => String::new(),
        place => place.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_blank_is_left_out() {
        let read: Vec<(String, String)> = query(Some("q=&sort=mass&session=%20")).unwrap();
        assert_eq!(read, [("sort".to_owned(), "mass".to_owned())]);
        assert_eq!(address("/", &[("q", ""), ("page", "")]), "/");
        assert_eq!(address("/", &[("q", "a&b"), ("x", "1")]), "/?q=a%26b&x=1");
    }
}
