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
static FILES: LazyLock<[AssetFile; 10]> = LazyLock::new(|| {
    [
        file!("console", Style, "console.css"),
        // The library that draws curves; not ours, see the README beside it.
        file!("uplot", Style, "vendor/uplot/uPlot.min.css"),
        file!("uplot", Script, "vendor/uplot/uPlot.iife.min.js"),
        file!("uplot", Licence, "vendor/uplot/LICENSE"),
        file!("plot", Script, "plot.js"),
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
    /// The licence of the foreign files, delivered with them.
    Licence,
}

impl AssetKind {
    fn extension(self) -> &'static str {
        match self {
            Self::Style => "css",
            Self::Script => "js",
            Self::Licence => "txt",
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Style => "text/css; charset=utf-8",
            Self::Script => "text/javascript; charset=utf-8",
            Self::Licence => "text/plain; charset=utf-8",
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
                AssetKind::Licence => link rel="license" href=(self.path());,
            }
        }
    }
}

/// An addition to pages where scripts run; every page is complete without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageScript {
    /// Draws curves where the page has figures for one.
    Plot,
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
    /// What its files are called.
    fn stems(self) -> &'static [&'static str] {
        match self {
            // uPlot must be loaded before the script that draws with it.
            Self::Plot => &["uplot", "plot"],
            Self::Light => &["light"],
            Self::Live => &["live"],
            Self::Access => &["access"],
            Self::Slider => &["slider"],
            Self::Search => &["search"],
        }
    }
}

/// The elements that load the style of every page, and these scripts.
pub(crate) fn tags(scripts: &[PageScript]) -> Markup {
    let stems = scripts.iter().flat_map(|script| script.stems());
    let stems = ["console"].iter().chain(stems);
    html! {
        @for stem in stems {
            @for file in FILES.iter().filter(|file| file.stem == *stem) { (file.tag()) }
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
    fn what_is_not_ours_is_what_its_readme_says() {
        let readme = include_str!("../assets/vendor/uplot/README.md");
        let of_uplot = |kind| {
            let mut files = FILES.iter().filter(|file| file.stem == "uplot");
            files.find(|file| file.kind == kind).unwrap().text
        };
        for (name, kind) in [
            ("uPlot.iife.min.js", AssetKind::Script),
            ("uPlot.min.css", AssetKind::Style),
            ("LICENSE", AssetKind::Licence),
        ] {
            let sum = HEXLOWER.encode(&Sha256::digest(of_uplot(kind)));
            let line = format!("{sum}  {name}\n");
            assert!(readme.contains(&line), "{line}");
        }
        let banner = of_uplot(AssetKind::Script).lines().next().unwrap();
        assert!(banner.contains("(v1.6.32)") && readme.starts_with("# uPlot 1.6.32\n"));
    }

    #[test]
    fn every_script_of_a_page_is_served() {
        let scripts = [
            PageScript::Plot,
            PageScript::Light,
            PageScript::Live,
            PageScript::Access,
            PageScript::Slider,
            PageScript::Search,
        ];
        for stem in scripts.into_iter().flat_map(PageScript::stems) {
            let mut served = FILES.iter();
            let is_script = served.any(|file| file.stem == *stem && file.kind == AssetKind::Script);
            assert!(is_script, "{stem}");
        }
    }
}
