//! Files of the pages. They are in the binary under names with their hashes, so that browsers can cache them for ever.

use std::sync::LazyLock;

use axum::{
    extract::Path,
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use data_encoding::HEXLOWER;
use maud::{Markup, html};
use sha2::{Digest, Sha256};

/// An addition to pages where scripts run; every page is complete without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageScript {
    /// Shows that an agent's program has called, once it has.
    Light,
    /// Follows a session that runs.
    Live,
    /// Counts down the rest of an access grant, and closes its text.
    Access,
    /// Shows an agent's history at the place of a slider.
    Slider,
    /// Shows the result of a form while it is filled in.
    Search,
}

struct AssetFile {
    /// `None` for the style of every page.
    script: Option<PageScript>,
    /// Its path, with its hash.
    path: String,
    text: &'static str,
}

/// A file of the folder `assets`.
macro_rules! file {
    ($script:expr, $stem:literal, $ending:literal) => {
        AssetFile::new(
            $script,
            ($stem, $ending),
            include_str!(concat!("../assets/", $stem, ".", $ending)),
        )
    };
}

static FILES: LazyLock<[AssetFile; 6]> = LazyLock::new(|| {
    [
        file!(None, "console", "css"),
        file!(Some(PageScript::Light), "light", "js"),
        file!(Some(PageScript::Live), "live", "js"),
        file!(Some(PageScript::Access), "access", "js"),
        file!(Some(PageScript::Slider), "slider", "js"),
        file!(Some(PageScript::Search), "search", "js"),
    ]
});

impl AssetFile {
    fn new(script: Option<PageScript>, (stem, ending): (&str, &str), text: &'static str) -> Self {
        // 64 bits distinguish versions; the name has no other purpose.
        let digest = HEXLOWER.encode(&Sha256::digest(text)[..8]);
        let path = format!("/assets/{stem}.{digest}.{ending}");
        Self { script, path, text }
    }

    /// The element that loads it, in the head of a page. A script runs once the page is read.
    fn tag(&self) -> Markup {
        html! {
            @match self.script {
                None => link rel="stylesheet" href=(self.path);,
                Some(_) => script src=(self.path) defer {},
            }
        }
    }
}

/// The elements that load the style of every page, and these scripts.
pub(crate) fn tags(scripts: &[PageScript]) -> Markup {
    let is_loaded = |file: &&AssetFile| file.script.is_none_or(|script| scripts.contains(&script));
    html! { @for file in FILES.iter().filter(is_loaded) { (file.tag()) } }
}

pub(crate) async fn serve(Path(name): Path<String>) -> Response {
    // Names hold a digest of the content. A page of another version asks for another name and must not get this file.
    let path = format!("/assets/{name}");
    let Some(file) = FILES.iter().find(|file| file.path == path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let media_type = match file.script {
        None => "text/css; charset=utf-8",
        Some(_) => "text/javascript; charset=utf-8",
    };
    let headers: [(HeaderName, &str); 3] = [
        (header::CONTENT_TYPE, media_type),
        // Permanently: another content has another name.
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, file.text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_of_a_page_is_served() {
        for script in [
            PageScript::Light,
            PageScript::Live,
            PageScript::Access,
            PageScript::Slider,
            PageScript::Search,
        ] {
            let loaded = tags(&[script]).into_string();
            assert_eq!(loaded.matches("<script").count(), 1, "{script:?}");
        }
    }
}
