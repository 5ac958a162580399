//! The passphrase of an archive: from the environment, from a file, from a terminal, or generated.

use std::{
    io::{self, IsTerminal},
    path::Path,
};

use memoir_vault::archive::Passphrase;
use zeroize::Zeroizing;

use crate::{failure::Failure, parse};

/// Holds an archive's passphrase.
const VARIABLE: &str = "MEMOIR_ARCHIVE_PASSPHRASE";
/// A longer file is no passphrase.
const MOST_BYTES: u64 = 4_096;

/// The passphrase of the file or the environment; `None` where neither is given.
pub(crate) fn given(file: Option<&Path>) -> Result<Option<Passphrase>, Failure> {
    if let Some(path) = file {
        let text = Zeroizing::new(parse::text_file(path, MOST_BYTES)?);
        return read(&text, &format!("`{}`", path.display())).map(Some);
    }
    let given = parse::secret_variable(VARIABLE);
    given.map(|text| read(&text, VARIABLE)).transpose()
}

pub(crate) async fn given_or_typed(file: Option<&Path>) -> Result<Passphrase, Failure> {
    if let Some(passphrase) = given(file)? {
        return Ok(passphrase);
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::new("the archive's passphrase is not given")
            .hint(format!("set {VARIABLE}, or give `--passphrase-file FILE`")));
    }
    let typed = parse::typed_secret("the archive's passphrase").await?;
    read(&typed, "the typed text")
}

fn read(text: &str, origin: &str) -> Result<Passphrase, Failure> {
    Passphrase::from_text(text)
        .map_err(|error| Failure::new(format!("{origin} holds no passphrase: {error}")))
}
