//! The agent of a project: the one whose name is that of the folder, told apart from others of the name by where
//! the folder is.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

/// Most characters of the folder's name that are taken over.
const NAME_CHARACTERS: usize = 60;

/// The name of the agent of the project that `folder` is in.
pub(crate) fn agent(folder: &Path, prefix: &str) -> String {
    let root = root(folder);
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name
        .chars()
        .map(
            |letter| match letter.is_alphanumeric() || "-_.".contains(letter) {
                true => letter,
                false => '-',
            },
        )
        .take(NAME_CHARACTERS)
        .collect();
    // One that began with a dash would be taken for an option wherever it is typed.
    let name = match name.trim_start_matches('-') {
        "" => "project",
        name => name,
    };
    let mut place = DefaultHasher::new();
    root.to_string_lossy().hash(&mut place);
    // 24 bits are enough to tell the few folders of one name apart.
    format!("{prefix}{name}-{:06x}", place.finish() & 0xff_ffff)
}

/// The folder that holds `.git`, the repository's own also from another of its working trees, or else the folder
/// itself.
fn root(folder: &Path) -> PathBuf {
    // Links are resolved, since a link to a folder means the same project.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let Some(root) = folder.ancestors().find(|above| above.join(".git").exists()) else {
        return folder;
    };
    // In another working tree `.git` is a file that names the repository; in the repository itself it is a folder,
    // which reads as an empty text here.
    let link = std::fs::read_to_string(root.join(".git")).unwrap_or_default();
    let of_another = link
        .strip_prefix("gitdir: ")
        .and_then(|place| place.trim().split_once("/.git/worktrees/"));
    of_another.map_or_else(|| root.to_owned(), |(root, _)| PathBuf::from(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_project_keeps_its_agent_whatever_version_of_rust_builds_memoir() {
        // The standard library promises no hash: where this fails, the one from before must be made in another way,
        // or every project would begin anew with an empty memory.
        assert_eq!(agent(Path::new("/"), ""), "project-cb5a7a");
    }

    #[test]
    fn a_project_has_one_agent_in_all_its_folders_and_working_trees() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let make = |path: &str| {
            let path = home.join(path);
            std::fs::create_dir_all(&path).unwrap();
            path
        };
        make("one/my shop/.git/worktrees/next");
        let (inner, other) = (make("one/my shop/src/deep"), make("two/my shop"));
        let tree = make("next");
        let link = format!(
            "gitdir: {}/one/my shop/.git/worktrees/next\n",
            home.display()
        );
        std::fs::write(tree.join(".git"), link).unwrap();
        let name = agent(&inner, "code-");
        assert!(name.starts_with("code-my-shop-"), "{name}");
        assert_eq!(name, agent(&home.join("one/my shop"), "code-"));
        assert_eq!(name, agent(&tree, "code-"));
        assert_ne!(name, agent(&other, "code-"));
        for (folder, name) in [("-rf", "rf-"), ("🐝", "project-"), ("a\nb", "a-b-")] {
            let agent = agent(&make(folder), "");
            assert!(agent.starts_with(name), "{agent}");
        }
    }
}
