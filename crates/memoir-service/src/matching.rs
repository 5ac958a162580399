//! `If-Match`: a change is made only where its object is still in the state that was read (RFC 9110, 13.1.1). The check
//! is part of the decision, so that no other change gets in between.

use axum::http::{HeaderMap, header};
use utoipa::IntoParams;

use crate::Problem;

/// The condition of a change.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct IfMatch {
    /// The `ETag` that was read: the change is made only where nothing was changed since.
    #[param(rename = "If-Match", value_type = Option<String>, required = false)]
    tags: Option<Vec<String>>,
}

impl IfMatch {
    /// The condition in the request's head.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let mut tags = Vec::new();
        for value in headers.get_all(header::IF_MATCH) {
            let value = value.to_str();
            let value = value.map_err(|_| Problem::invalid("If-Match: must be an `ETag`"))?;
            tags.extend(value.split(',').map(|tag| tag.trim().to_owned()));
        }
        let is_given = headers.contains_key(header::IF_MATCH);
        Ok(Self {
            // Given but empty admits nothing; left out admits everything.
            tags: is_given.then_some(tags),
        })
    }

    /// Whether the change is to be made to what has that tag now.
    pub(crate) fn admits(&self, now: impl FnOnce() -> String) -> bool {
        let Some(tags) = &self.tags else { return true };
        // The change itself finds out whether the object exists, which `*` asks for.
        if tags.iter().any(|tag| tag == "*") {
            return true;
        }
        let now = now();
        tags.contains(&now)
    }
}
