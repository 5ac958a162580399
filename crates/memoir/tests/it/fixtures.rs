//! Installations of earlier versions are opened, verified, refined and undone (SPEC 6.2). Each is in `tests/fixtures`,
//! made by `scripts/make-fixture` with the binary of its version; new ones are added, and none is replaced.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::Value;

use crate::installation::{Installation, Ran};

/// A copy of one installation, in a home of its own.
struct Fixture {
    installation: Installation,
    token: String,
    database: String,
}

impl Fixture {
    fn copy(folder: &Path) -> Self {
        let installation = Installation::new();
        for file in fs::read_dir(folder).unwrap() {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            let copy = installation.write(&name, fs::read(file.path()).unwrap());
            // A key's file is refused where others can read it, and a repository does not keep such modes.
            fs::set_permissions(copy, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let text = |name: &str| fs::read_to_string(installation.path(name)).unwrap();
        Self {
            token: text("agent-token").trim().to_owned(),
            database: format!("sqlite:{}", installation.path("memoir.db").display()),
            installation,
        }
    }

    fn ran(&self, arguments: &[&str], token: &str) -> Ran {
        let all = [&["--database", &self.database], arguments].concat();
        self.installation.with_token(token, &all)
    }

    fn run(&self, arguments: &[&str], token: &str) -> String {
        self.ran(arguments, token).ok(arguments)
    }

    /// As the agent, whose installation is closed.
    fn json(&self, arguments: &[&str]) -> Value {
        let printed = self.run(&[arguments, &["--json"]].concat(), &self.token);
        serde_json::from_str(&printed).unwrap()
    }

    /// The texts of that kind in a list.
    fn texts(&self, list: &str, kind: &str) -> Vec<String> {
        let listed = self.json(&[list, "wren"]);
        let items = listed["items"].as_array().unwrap().iter();
        items
            .filter(|memory| memory["kind"] == kind)
            .map(|memory| memory["content"].as_str().unwrap().to_owned())
            .collect()
    }

    fn core(&self) -> Vec<String> {
        self.texts("ledger", "core")
    }

    fn archived(&self) -> Vec<String> {
        self.texts("archive", "archival")
    }

    /// Reads all tables directly: vectors and stored responses among them, which no other test reads.
    fn rows_of_all_tables_are_read(&self) {
        let doctor = self.ran(&["doctor"], "");
        doctor.prints("ok       database      intact");
    }

    fn a_message_that_waits_is_known_again(&self) {
        let said = "Ada: The mill is to be sold next week.\n";
        let file = self.installation.write("talk.txt", said);
        let later = ["absorb", "wren", &file, "--later"];
        let ran = self.ran(&later, &self.token);
        let known = "stored 0 new messages to be read; 1 message had been stored before";
        ran.reports(known);
    }

    /// By its counts: its texts are shown to it alone, and it has no token here.
    fn the_archive_makes_the_same_agent(&self) {
        let path = |name| self.installation.path(name).display().to_string();
        let (archive, passphrase) = (path("wren.memoir"), path("archive-passphrase"));
        let import = ["import", "robin", &archive];
        let passphrase = ["--passphrase-file", &passphrase];
        self.run(&[&import[..], &passphrase].concat(), "");
        let counts = |name| {
            let shown = self.run(&["agent", "show", name, "--json"], "");
            let shown: Value = serde_json::from_str(&shown).unwrap();
            (shown["core_tokens"].clone(), shown["originals"].clone())
        };
        assert_ne!(counts("robin").0, Value::Null);
        assert_eq!(counts("robin"), counts("wren"));
    }

    fn verify(&self) {
        let verified = self.run(&["audit", "verify", "--all"], "");
        assert!(verified.starts_with("valid"), "{verified}");
    }
}

#[test]
fn spec_6_2_installations_of_earlier_versions_are_opened_verified_refined_and_undone() {
    let all = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let mut folders: Vec<_> = fs::read_dir(all)
        .unwrap()
        .map(|folder| folder.unwrap().path())
        .collect();
    folders.sort();
    assert!(!folders.is_empty());
    for folder in folders {
        let fixture = Fixture::copy(&folder);
        fixture.verify();
        let press = "old press came from Lisbon and needs oil every month.";
        let before = [
            "The kiln is fired on Thursdays at the old mill.",
            "Marta prefers linen thread for the spine of every book.",
            "The cat sleeps on the paper in the morning.",
            "Лена приносит бумагу по пятницам.",
            "The fair is in June, on the meadow.",
            "The bills of last year are in the loft.",
            "Saturdays in summer: Marta sells linen notebooks on the market square.",
        ];
        let duplicates = ["The", "the"].map(|article| format!("{article} {press}"));
        let duplicates = duplicates.each_ref().map(String::as_str);
        let all: Vec<&str> = before.into_iter().chain(duplicates).collect();
        assert_eq!(fixture.core(), all, "{}", folder.display());
        let archived = [
            "the cat sleeps on the paper in the morning.",
            "The fair is in May, on the meadow.",
            "The wheel of the mill was new in 1911.",
            "On Saturdays in the summer, Marta sells her small linen notebooks on the market square.",
        ];
        assert_eq!(fixture.archived(), archived);
        let prompt = fixture.json(&["agent", "show", "wren"])["refinement_prompt"].clone();
        assert_eq!(prompt, "Leave what I said of the kiln as it is.");

        fixture.rows_of_all_tables_are_read();
        fixture.a_message_that_waits_is_known_again();
        fixture.the_archive_makes_the_same_agent();

        fixture.run(&["refine", "wren"], &fixture.token);
        assert_eq!(fixture.core(), all[..all.len() - 1]);
        assert_eq!(fixture.archived().len(), archived.len() + 1);
        let sessions = fixture.json(&["sessions", "wren"]);
        assert_eq!(sessions["items"].as_array().unwrap().len(), 3);
        assert_eq!(sessions["items"][0]["state"], "completed");
        fixture.verify();

        let moment = fs::read_to_string(fixture.installation.path("moment")).unwrap();
        fixture.run(&["rewind", "wren", "--to", moment.trim()], "");
        assert_eq!(fixture.core(), before[..2]);
        fixture.verify();
    }
}
