//! Lists by pages (`?limit=&cursor=`). A cursor holds the end of the last page, so that later writes shift nothing.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use utoipa::{IntoParams, ToSchema};

use crate::Problem;

/// Items of a page where no limit is given.
const DEFAULT_LIMIT: u32 = 50;
/// Most items of a page.
// As many as one recall answers with (`RECALL_LIMIT`).
const MOST: u32 = 200;

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Page<T> {
    /// The items.
    pub(crate) items: Vec<T>,
    /// Gives the next page; null on the last one.
    #[schema(required)]
    pub(crate) next_cursor: Option<String>,
}

/// Which page.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageParameters {
    /// At most so many items, 1 to 200; 50 where it is left out.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 200, example = 50)]
    limit: Option<String>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

impl PageParameters {
    pub(crate) fn limit(&self) -> Result<u32, Problem> {
        let Some(limit) = &self.limit else {
            return Ok(DEFAULT_LIMIT);
        };
        let limit = limit
            .parse()
            .ok()
            .filter(|limit| (1..=MOST).contains(limit));
        limit.ok_or_else(|| Problem::invalid(format!("limit: must be a number from 1 to {MOST}")))
    }

    /// The end of the page before.
    pub(crate) fn after<C: DeserializeOwned>(&self) -> Result<Option<C>, Problem> {
        let unknown =
            || Problem::invalid("cursor: is none that this list gave; leave it out to begin anew");
        self.cursor
            .as_ref()
            .map(|cursor| {
                let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| unknown())?;
                // Unsealed: a client that changes the place reads on from there in its own list.
                serde_json::from_slice(&bytes).map_err(|_| unknown())
            })
            .transpose()
    }
}

impl<T> Page<T> {
    pub(crate) fn map<U>(self, show: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(show).collect(),
            next_cursor: self.next_cursor,
        }
    }

    /// From up to `limit + 1` items: one more than wanted shows that there is a next page.
    pub(crate) fn of<C: Serialize>(mut items: Vec<T>, limit: u32, place: impl Fn(&T) -> C) -> Self {
        let limit = limit as usize;
        let has_more = items.len() > limit;
        items.truncate(limit);
        Self::cut(items, has_more, place)
    }

    /// From the items of the page; `has_more` where others follow them.
    pub(crate) fn cut<C: Serialize>(
        items: Vec<T>,
        has_more: bool,
        place: impl Fn(&T) -> C,
    ) -> Self {
        let last = items.last().filter(|_| has_more);
        let cursor = last.and_then(|last| serde_json::to_vec(&place(last)).ok());
        Self {
            items,
            next_cursor: cursor.map(|cursor| URL_SAFE_NO_PAD.encode(cursor)),
        }
    }
}
