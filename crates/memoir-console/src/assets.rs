//! Files that the pages use. They lie in the binary under names that hold their hashes, so that browsers
//! keep them for good.

use std::{fmt::Write, sync::LazyLock};

use axum::{
    extract::Path,
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};

/// How the pages look.
const STYLE: &str = include_str!("../assets/console.css");

/// The name of the style sheet, with its hash.
static STYLE_NAME: LazyLock<String> = LazyLock::new(|| {
    let mut name = "console.".to_owned();
    for byte in &Sha256::digest(STYLE)[..8] {
        // Writing to a text does not fail.
        let _ = write!(name, "{byte:02x}");
    }
    name + ".css"
});

/// Where the style sheet is.
pub(crate) fn style_path() -> String {
    format!("/assets/{}", *STYLE_NAME)
}

pub(crate) async fn serve(Path(name): Path<String>) -> Response {
    if name != *STYLE_NAME {
        return StatusCode::NOT_FOUND.into_response();
    }
    let headers: [(HeaderName, &str); 3] = [
        (header::CONTENT_TYPE, "text/css; charset=utf-8"),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, STYLE).into_response()
}
