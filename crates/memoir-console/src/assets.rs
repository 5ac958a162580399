//! Files that the pages use. They lie in the binary under names that hold their hashes, so that browsers
//! keep them for good.

use std::{fmt::Write, sync::LazyLock};

use axum::{
    extract::Path,
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use maud::{Markup, html};
use sha2::{Digest, Sha256};

/// How the pages look.
static STYLE: LazyLock<File> = LazyLock::new(|| {
    File::new(
        "console",
        Kind::Style,
        include_str!("../assets/console.css"),
    )
});

/// Every file, by which it is found.
static FILES: [&LazyLock<File>; 1] = [&STYLE];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Style,
    #[expect(dead_code)]
    Script,
}

impl Kind {
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

/// A file in the binary.
struct File {
    /// The last part of its path, with its hash.
    name: String,
    kind: Kind,
    text: &'static str,
}

impl File {
    fn new(stem: &str, kind: Kind, text: &'static str) -> Self {
        let mut name = format!("{stem}.");
        for byte in &Sha256::digest(text)[..8] {
            // Writing to a text does not fail.
            let _ = write!(name, "{byte:02x}");
        }
        name.push('.');
        name.push_str(kind.extension());
        Self { name, kind, text }
    }

    fn path(&self) -> String {
        format!("/assets/{}", self.name)
    }

    /// What loads it, in the head of a page. Scripts run once the page is read, in their order.
    fn tag(&self) -> Markup {
        html! {
            @match self.kind {
                Kind::Style => link rel="stylesheet" href=(self.path());,
                Kind::Script => script src=(self.path()) defer {},
            }
        }
    }
}

/// What makes a page more than its markup where scripts run; every page tells what it has to tell without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {}

impl Script {
    fn files(self) -> &'static [&'static LazyLock<File>] {
        match self {}
    }
}

/// What loads the style of every page, and these scripts.
pub(crate) fn tags(scripts: &[Script]) -> Markup {
    html! {
        (STYLE.tag())
        @for script in scripts {
            @for file in script.files() { (file.tag()) }
        }
    }
}

pub(crate) async fn serve(Path(name): Path<String>) -> Response {
    let Some(file) = FILES.iter().find(|file| file.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers: [(HeaderName, &str); 3] = [
        (header::CONTENT_TYPE, file.kind.media_type()),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, file.text).into_response()
}
