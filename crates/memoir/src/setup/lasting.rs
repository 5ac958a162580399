//! The path by which programs start Memoir, which must survive updates.
//!
//! A package manager's cache (`uvx`, `npx`) is emptied without notice, a name with a version ends with the next version,
//! and the packages of one project go with it. None of them is written into a program's settings. Setup writes the path
//! by which `PATH` finds the same file, or the path of a copy in the user's data directory (`--copy`).

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use crate::{database, failure::Failure, hook::written, private_file};

/// Why a path does not last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    /// It is in the cache of a package manager, or in a folder for temporary files.
    Cache,
    /// A name holds a version.
    Versioned,
    /// It is among the packages of one project.
    OfProject,
}

impl Passing {
    /// The end of a sentence that begins with the path.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Cache => "is in a cache, which is emptied without notice",
            Self::Versioned => "names one version, and goes with the next version",
            Self::OfProject => "is among the packages of one project, and goes with them",
        }
    }

    /// Why the path does not last; `None` without a reason.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let names = path.components().filter_map(|component| match component {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        let names: Vec<&str> = names.collect();
        // The file's own name is no folder.
        let folders = names.split_last().map_or(&[][..], |(_, folders)| folders);
        if is_cache(folders) || is_in_named_cache(path) {
            return Some(Self::Cache);
        }
        // A snap's folder has its revision (`/snap/NAME/12`), and the store of Nix or Guix has a path for each build.
        let is_revision = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        let is_snap = matches!(folders, ["snap", _, revision, ..] if is_revision(revision));
        let is_stored = matches!(folders, ["nix" | "gnu", "store", ..]);
        if is_snap || is_stored || names.iter().any(|name| has_version(name)) {
            return Some(Self::Versioned);
        }
        is_of_project(path, folders).then_some(Self::OfProject)
    }
}

/// Whether one of the folders is a cache: those of npm, pnpm, Yarn, Bun, Deno, uv and pipx, and those of the user.
fn is_cache(folders: &[&str]) -> bool {
    const NAMES: &str = "_npx _cacache npm-cache .cache Caches dlx archive-v0 .pnpm-store pnpm/store Yarn/Cache \
        .yarn/cache .yarn/unplugged berry/cache install/cache uv/cache deno/npm";
    let is_run = |name: &&str| name.starts_with("dlx-") || name.starts_with("bunx-");
    has_one(folders, NAMES) || folders.iter().any(is_run)
}

/// Whether one of these is among the folders: a name, or two of which one is in the other.
fn has_one(folders: &[&str], names: &str) -> bool {
    let pairs = folders.windows(2).map(|pair| pair.join("/"));
    let mut found = pairs.chain(folders.iter().map(|name| (*name).to_owned()));
    found.any(|found| names.split(' ').any(|name| name == found))
}

/// Whether it is in `node_modules` or the virtual environment of one project.
fn is_of_project(path: &Path, folders: &[&str]) -> bool {
    const NAMES: &str = "node_modules .venv venv .virtualenvs virtualenvs .tox .nox";
    /// Of packages that are installed for a user or the whole system.
    const GLOBAL: &str =
        "lib/node_modules npm/node_modules global/node_modules uv/tools pipx/venvs pnpm/global";
    let is_environment = || {
        let mut above = path.ancestors().skip(1).take(3);
        above.any(|folder| folder.join("pyvenv.cfg").is_file())
    };
    !has_one(folders, GLOBAL) && (has_one(folders, NAMES) || is_environment())
}

/// Whether the path is in a cache that the environment names, or in the folder for temporary files.
fn is_in_named_cache(path: &Path) -> bool {
    const NAMES: &str = "UV_CACHE_DIR XDG_CACHE_HOME npm_config_cache YARN_CACHE_FOLDER BUN_INSTALL_CACHE_DIR DENO_DIR";
    let named = NAMES.split(' ').filter_map(std::env::var_os);
    let mut named = named.filter(|folder| !folder.is_empty()).map(PathBuf::from);
    if named.any(|folder| is_below(path, &folder)) {
        return true;
    }
    let temporary = std::env::temp_dir();
    let home = etcetera::home_dir().ok();
    // A home in it belongs to a test or a container, and lasts as long as its other files.
    let is_home_in_it = home.is_some_and(|home| is_below(&home, &temporary));
    is_below(path, &temporary) && !is_home_in_it
}

fn is_below(path: &Path, folder: &Path) -> bool {
    folder.parent().is_some() && path.starts_with(folder)
}

/// Whether a part of the name is a version, such as `0.1.0` or `v22.1.0`.
fn has_version(name: &str) -> bool {
    let is_version = |part: &str| {
        let part = part.strip_prefix('v').unwrap_or(part);
        let is_number =
            |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        part.contains('.') && part.split('.').all(is_number)
    };
    name.split(['-', '_', '@', '+']).any(is_version)
}

/// The path by which a program is to start this binary; with `copy`, that of its copy.
///
/// # Errors
/// No path of it lasts, or its path is not known.
pub(super) fn program(copy: bool) -> Result<PathBuf, Failure> {
    if copy {
        return copy_path();
    }
    let own = own_path()?;
    if let Some(found) = in_path(&own) {
        return Ok(found);
    }
    match Passing::of(&own) {
        None => Ok(own),
        Some(passing) => Err(Failure::new(format!(
            "nothing was changed: `{}` {}",
            own.display(),
            passing.why()
        ))
        .hint(
            "install Memoir (`uv tool install`, `npm install --global`, a package of your system) and call that, or \
             give `--copy`, which puts a copy into your data directory",
        )),
    }
}

fn own_path() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::new(format!("the path of this program is not known: {error}")))?;
    match own.is_file() {
        true => Ok(own),
        false => Err(
            Failure::new("this program's file was removed or replaced while it ran")
                .hint("call `memoir` again"),
        ),
    }
}

/// The first lasting path by which `PATH` finds the same file.
fn in_path(own: &Path) -> Option<PathBuf> {
    let name = own.file_name()?;
    let whole = own.canonicalize().ok()?;
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| {
            let is_same = path.canonicalize().is_ok_and(|found| found == whole);
            // A lasting link is useless where its target is in a cache. A link to a versioned folder is valid, since
            // the next version changes it.
            is_same && Passing::of(path).is_none() && Passing::of(&whole) != Some(Passing::Cache)
        })
}

/// Another program that a shell starts by Memoir's name: the first one of that name in `PATH`, where that is not this
/// binary. Its content is not read, and it is not run.
pub(super) fn other_in_path() -> Option<PathBuf> {
    let own = own_path().ok()?.canonicalize().ok()?;
    let name = format!("memoir{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(&name));
    let first = files.find(|path| path.is_file())?;
    (first.canonicalize().ok()? != own).then_some(first)
}

fn copy_path() -> Result<PathBuf, Failure> {
    let folder = database::default_path()?.with_file_name("bin");
    Ok(folder.join(format!("memoir{}", std::env::consts::EXE_SUFFIX)))
}

pub(super) fn write_copy(path: &Path) -> Result<(), Failure> {
    let own = own_path()?;
    if own.canonicalize().ok() == path.canonicalize().ok() {
        return Ok(());
    }
    let copied = || -> io::Result<()> {
        let folder = private_file::folder_of(path);
        private_file::make_private_folder(folder)?;
        // A copy in one step, since a hook may start the previous one.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        io::copy(&mut fs::File::open(&own)?, &mut file)?;
        file.as_file()
            .set_permissions(fs::metadata(&own)?.permissions())?;
        file.as_file().sync_all()?;
        file.persist(path).map(drop).map_err(|error| error.error)
    };
    copied().map_err(|error| Failure::file("write", path, &error))
}

/// Removes the copy where no program is set up with it. A copy that cannot be removed stays.
pub(super) fn remove_unused_copy() {
    let Ok(path) = copy_path() else { return };
    let is_used = written::all()
        .iter()
        .any(|(_, written)| written.call.program == path);
    if !is_used {
        let _ = fs::remove_file(&path);
        // A folder with other files stays.
        let _ = fs::remove_dir(private_file::folder_of(&path));
    }
}

#[cfg(test)]
mod tests {
    use memoir_testkit::rows;

    use super::*;

    #[test]
    fn caches_versions_and_packages_of_one_project_do_not_last() {
        let cases = rows(
            "lasting | /usr/bin/memoir
            lasting | /home/ada/.local/bin/memoir
            lasting | /home/ada/.local/share/uv/tools/memoir/bin/memoir
            lasting | /opt/homebrew/bin/memoir
            lasting | /home/ada/.local/share/pipx/venvs/memoir/bin/memoir
            lasting | /usr/lib/node_modules/memoir-linux-x64/memoir
            lasting | /home/ada/.bun/install/global/node_modules/memoir/memoir
            lasting | /home/ada/.config/yarn/global/node_modules/memoir/memoir
            lasting | /home/ada/.deno/bin/memoir
            lasting | /snap/bin/memoir
            lasting | /snap/memoir/current/bin/memoir
            lasting | /home/ada/memoir/target/release/memoir
            lasting | /home/ada/x86_64-linux/memoir
            versioned | /srv/memoir-0.1.0
            versioned | /snap/memoir/12/bin/memoir
            versioned | /opt/homebrew/Cellar/memoir/0.1.0/bin/memoir
            versioned | /home/ada/.nvm/versions/node/v22.1.0/bin/memoir
            versioned | /nix/store/abc-memoir/bin/memoir
            versioned | /home/ada/memoir-0.1.0-x86_64-linux/memoir
            of a project | /home/ada/shop/.venv/lib/python3.12/site-packages/bin/memoir
            of a project | /home/ada/shop/.venv/bin/memoir
            of a project | /home/ada/shop/node_modules/memoir-linux-x64/memoir
            cache | /home/ada/.bun/install/cache/memoir/memoir
            cache | /home/ada/shop/.yarn/unplugged/memoir/memoir
            cache | /home/ada/.local/share/pnpm/store/v10/memoir
            cache | /home/ada/.cache/uv/archive-v0/a1/bin/memoir
            cache | /home/ada/.npm/_npx/1a/node_modules/memoir-linux-x64/memoir
            cache | /Users/ada/Library/Caches/pnpm/dlx/1/memoir",
        );
        for [passing, path] in cases {
            let expected = match passing {
                "versioned" => Some(Passing::Versioned),
                "of a project" => Some(Passing::OfProject),
                "cache" => Some(Passing::Cache),
                _ => None,
            };
            assert_eq!(Passing::of(Path::new(path)), expected, "{path}");
        }
    }
}
