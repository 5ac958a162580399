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

/// A file of the folder `assets`.
macro_rules! file {
    ($stem:literal, $kind:ident, $path:literal) => {
        AssetFile::new(
            $stem,
            AssetKind::$kind,
            include_str!(concat!("../assets/", $path)),
        )
    };
}

/// Every file, in the order in which a page loads them.
static FILES: LazyLock<[AssetFile; 6]> = LazyLock::new(|| {
    [
        file!("console", Style, "console.css"),
        file!("light", Script, "light.js"),
        file!("live", Script, "live.js"),
        file!("access", Script, "access.js"),
        file!("slider", Script, "slider.js"),
        file!("search", Script, "search.js"),
    ]
});

#[derive(Clone, Copy, PartialEq, Eq)]
enum AssetKind {
    Style,
    Script,
}

impl AssetKind {
    fn extension(self) -> &'static str {
        match self {
            Self::Style => "css",
            Self::Script => "js",
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Style => "text/css; charset=utf-8",
            Self::Script => "text/javascript; charset=utf-8",
        }
    }
}

struct AssetFile {
    /// What it is called without its hash and its ending.
    stem: &'static str,
    /// The last part of its path, with its hash.
    name: String,
    kind: AssetKind,
    text: &'static str,
}

impl AssetFile {
    fn new(stem: &'static str, kind: AssetKind, text: &'static str) -> Self {
        // 64 bits distinguish versions; the name has no other purpose.
        let digest = HEXLOWER.encode(&Sha256::digest(text)[..8]);
        let name = format!("{stem}.{digest}.{}", kind.extension());
        Self {
            stem,
            name,
            kind,
            text,
        }
    }

    fn path(&self) -> String {
        format!("/assets/{}", self.name)
    }

    /// The element that loads it, in the head of a page. Scripts run once the page is read, in their order.
    fn tag(&self) -> Markup {
        html! {
            @match self.kind {
                AssetKind::Style => link rel="stylesheet" href=(self.path());,
                AssetKind::Script => script src=(self.path()) defer {},
            }
        }
    }
}

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

impl PageScript {
    /// What its file is called.
    fn stem(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Live => "live",
            Self::Access => "access",
            Self::Slider => "slider",
            Self::Search => "search",
        }
    }
}

/// The elements that load the style of every page, and these scripts.
pub(crate) fn tags(scripts: &[PageScript]) -> Markup {
    let stems = scripts.iter().map(|script| script.stem());
    html! {
        @for stem in ["console"].into_iter().chain(stems) {
            @for file in FILES.iter().filter(|file| file.stem == stem) { (file.tag()) }
        }
    }
}

pub(crate) async fn serve(Path(name): Path<String>) -> Response {
    // Names hold a digest of the content. A page of another version asks for another name and must not get this file.
    let Some(file) = FILES.iter().find(|file| file.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers: [(HeaderName, &str); 3] = [
        (header::CONTENT_TYPE, file.kind.media_type()),
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
        let scripts = [
            PageScript::Light,
            PageScript::Live,
            PageScript::Access,
            PageScript::Slider,
            PageScript::Search,
        ];
        for stem in scripts.map(PageScript::stem) {
            let mut served = FILES.iter();
            let is_script = served.any(|file| file.stem == stem && file.kind == AssetKind::Script);
            assert!(is_script, "{stem}");
        }
    }
}
