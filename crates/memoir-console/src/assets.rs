//! Files of the pages. They are in the binary under names with their hashes, so that browsers can cache them
//! permanently.

use std::sync::LazyLock;

use axum::{
    extract::Path,
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use data_encoding::HEXLOWER;
use maud::{Markup, html};
use sha2::{Digest, Sha256};

/// The style of the pages.
static STYLE: LazyLock<AssetFile> = LazyLock::new(|| {
    AssetFile::new(
        "console",
        AssetKind::Style,
        include_str!("../assets/console.css"),
    )
});

/// The library that draws curves; not ours, see the README beside it.
static UPLOT_STYLE: LazyLock<AssetFile> = LazyLock::new(|| {
    AssetFile::new(
        "uplot",
        AssetKind::Style,
        include_str!("../assets/vendor/uplot/uPlot.min.css"),
    )
});
static UPLOT: LazyLock<AssetFile> = LazyLock::new(|| {
    AssetFile::new(
        "uplot",
        AssetKind::Script,
        include_str!("../assets/vendor/uplot/uPlot.iife.min.js"),
    )
});

static UPLOT_LICENCE: LazyLock<AssetFile> = LazyLock::new(|| {
    AssetFile::new(
        "uplot",
        AssetKind::Licence,
        include_str!("../assets/vendor/uplot/LICENSE"),
    )
});

static PLOT: LazyLock<AssetFile> =
    LazyLock::new(|| AssetFile::new("plot", AssetKind::Script, include_str!("../assets/plot.js")));

static LIVE: LazyLock<AssetFile> =
    LazyLock::new(|| AssetFile::new("live", AssetKind::Script, include_str!("../assets/live.js")));

static ACCESS: LazyLock<AssetFile> = LazyLock::new(|| {
    AssetFile::new(
        "access",
        AssetKind::Script,
        include_str!("../assets/access.js"),
    )
});

static SLIDER: LazyLock<AssetFile> = LazyLock::new(|| {
    AssetFile::new(
        "slider",
        AssetKind::Script,
        include_str!("../assets/slider.js"),
    )
});

static SEARCH: LazyLock<AssetFile> = LazyLock::new(|| {
    AssetFile::new(
        "search",
        AssetKind::Script,
        include_str!("../assets/search.js"),
    )
});

/// Every file, for lookup.
static FILES: [&LazyLock<AssetFile>; 9] = [
    &STYLE,
    &UPLOT_STYLE,
    &UPLOT,
    &UPLOT_LICENCE,
    &PLOT,
    &LIVE,
    &ACCESS,
    &SLIDER,
    &SEARCH,
];

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

/// A file in the binary.
struct AssetFile {
    /// The last part of its path, with its hash.
    name: String,
    kind: AssetKind,
    text: &'static str,
}

impl AssetFile {
    fn new(stem: &str, kind: AssetKind, text: &'static str) -> Self {
        // 64 bits distinguish versions; the name has no other purpose.
        let digest = HEXLOWER.encode(&Sha256::digest(text)[..8]);
        let name = format!("{stem}.{digest}.{}", kind.extension());
        Self { name, kind, text }
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
    fn files(self) -> Vec<&'static AssetFile> {
        match self {
            // The files run in this order: uPlot must be loaded before the script that draws with it.
            Self::Plot => vec![&UPLOT_STYLE, &UPLOT, &UPLOT_LICENCE, &PLOT],
            Self::Live => vec![&LIVE],
            Self::Access => vec![&ACCESS],
            Self::Slider => vec![&SLIDER],
            Self::Search => vec![&SEARCH],
        }
    }
}

/// The elements that load the style of every page, and these scripts.
pub(crate) fn tags(scripts: &[PageScript]) -> Markup {
    html! {
        (STYLE.tag())
        @for script in scripts {
            @for file in script.files() { (file.tag()) }
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
        for (name, text) in [
            ("uPlot.iife.min.js", UPLOT.text),
            ("uPlot.min.css", UPLOT_STYLE.text),
            ("LICENSE", UPLOT_LICENCE.text),
        ] {
            let sum = HEXLOWER.encode(&Sha256::digest(text));
            assert!(
                readme.contains(&format!("{sum}  {name}\n")),
                "{name}: {sum}"
            );
        }
        let banner = UPLOT.text.lines().next().unwrap();
        assert!(banner.contains("(v1.6.32)") && readme.starts_with("# uPlot 1.6.32\n"));
    }

    #[test]
    fn every_script_of_a_page_is_served() {
        let scripts = [
            PageScript::Plot,
            PageScript::Live,
            PageScript::Access,
            PageScript::Slider,
            PageScript::Search,
        ];
        for file in scripts.into_iter().flat_map(PageScript::files) {
            let mut served = FILES.iter();
            assert!(served.any(|other| other.name == file.name), "{}", file.name);
        }
    }
}
