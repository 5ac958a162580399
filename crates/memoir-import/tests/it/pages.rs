//! Folders of Markdown.

use memoir_domain::memory::Kind;
use memoir_import::{DeletionReason, ImportFormat, PageOf};

use crate::{folder, read_path, tags, time};

#[test]
fn notes_of_basic_memory_give_observations_relations_and_prose() {
    let (_home, root) = folder(&[(
        "notes/coffee.md",
        "---\ntitle: Coffee\ntype: note\ntags: [brewing, morning]\npermalink: notes/coffee\ncreated: 2026-03-01\n---\n# Coffee\n\nKai grinds by hand.\n\n- [method] Pour over at 94 °C #brewing (tested twice)\n- [ ] buy filters\n- [a page](https://example.com)\n- relates_to [[Tea]]\n- \"grows well in\" [[High valleys]] (mostly)\n",
    )]);
    let found = read_path(&root);
    assert_eq!(found.format, ImportFormat::Markdown);
    assert_eq!(
        found.texts(),
        [
            "Coffee: Pour over at 94 °C #brewing (tested twice)",
            "Coffee relates to Tea",
            "Coffee grows well in High valleys (mostly)",
            "# Coffee\n\nKai grinds by hand.\n\n- [ ] buy filters\n- [a page](https://example.com)",
        ]
    );
    assert_eq!(tags(found.of("94")), ["method", "brewing", "morning"]);
    let prose = found.of("by hand");
    assert_eq!(prose.source.expose(), "markdown:notes/coffee");
    assert_eq!(prose.created_at, Some(time("2026-03-01T00:00:00Z")));
    // A whole vault never goes to core by itself.
    assert!(found.memories.iter().all(|memory| memory.kind.is_none()));
}

#[test]
fn a_vault_of_obsidian_is_read_without_its_own_folders() {
    let long = format!(
        "Intro.\n\n## Food\n\n{}\n\nBut tea first.\n\n## Work\n\nBuilds boats. #boats/cedar\n",
        "Soup on Sundays. ".repeat(90)
    );
    let (_home, root) = folder(&[
        (".obsidian/app.json", "{}"),
        (".trash/old.md", "Thrown away."),
        ("templates/daily.md", "{{date}}"),
        ("Kai.md", &long),
        ("picture.png", "x"),
        (
            "2026-03-01.md",
            "---\ntags: diary, \"Slow day\"\n---\nRained all day.",
        ),
    ]);
    let found = read_path(&root);
    assert_eq!(found.passed(), [("template", 1), ("other_file", 1)]);
    assert_eq!(found.report.split, 1);
    let food = found.of("Soup");
    assert!(
        food.content
            .expose()
            .starts_with("# Kai\n\n## Food\n\nSoup")
    );
    assert!(food.content.expose().ends_with("\n\nBut tea first."));
    let work = found.of("boats");
    assert_eq!(
        work.content.expose(),
        "# Kai\n\n## Work\n\nBuilds boats. #boats/cedar"
    );
    let together = tags(food)
        .into_iter()
        .find(|tag| tag.starts_with("parts:"))
        .unwrap();
    assert!(tags(work).contains(&together) && tags(work).contains(&"boats/cedar"));
    let day = found.of("Rained");
    assert_eq!(
        (day.kind, day.created_at),
        (Some(Kind::Journal), Some(time("2026-03-01T00:00:00Z")))
    );
    assert_eq!(tags(day), ["diary", "Slow day"]);
}

#[test]
fn a_workspace_gives_what_is_memory_and_offers_the_soul_as_a_prompt() {
    let (_home, root) = folder(&[
        ("SOUL.md", "I am the harbour's voice."),
        ("USER.md", "Kai, boat builder."),
        ("MEMORY.md", "Cedar comes on Tuesdays."),
        ("AGENTS.md", "Never swear."),
        ("TOOLS.md", "Use the crane."),
        ("DREAMS.md", "A sea of milk."),
        ("memory/2026-03-02.md", "Launched the sloop."),
    ]);
    let found = read_path(&root);
    assert_eq!(
        (found.format, found.by.as_str()),
        (ImportFormat::Markdown, "SOUL.md, USER.md, MEMORY.md")
    );
    assert_eq!(
        found.texts(),
        [
            "Cedar comes on Tuesdays.",
            "I am the harbour's voice.",
            "Kai, boat builder.",
            "Launched the sloop."
        ]
    );
    let kinds: Vec<_> = found
        .memories
        .iter()
        .map(|memory| memory.kind.unwrap())
        .collect();
    assert_eq!(kinds, [Kind::Core, Kind::Core, Kind::Core, Kind::Journal]);
    assert!(found.of("voice").is_persona);
    assert_eq!(
        found.report.system_prompt.as_ref().unwrap().expose(),
        "I am the harbour's voice."
    );
    assert_eq!(tags(found.of("boat builder")), ["user"]);
    assert_eq!(found.passed(), [("instruction", 2), ("derived", 1)]);
}

#[test]
fn folders_of_codex_and_hermes_are_read() {
    let (_home, root) = folder(&[
        ("MEMORY.md", "Runs tests with nextest."),
        ("memory_summary.md", "v1\nRuns tests."),
        ("raw_memories.md", "raw"),
        ("rollout_summaries/one.md", "a rollout"),
    ]);
    let found = read_path(&root);
    assert_eq!(found.texts(), ["Runs tests with nextest."]);
    assert_eq!(found.passed(), [("derived", 3)]);
    let (_home, root) = folder(&[
        ("MEMORY.md", "Likes rope.\n§\nHates tar.\n§\n"),
        ("USER.md", "Is called Kai."),
    ]);
    let found = read_path(&root);
    assert_eq!(
        found.texts(),
        ["Likes rope.", "Hates tar.", "Is called Kai."]
    );
}

#[test]
fn pages_of_the_open_knowledge_format_keep_their_standing() {
    let (_home, root) = folder(&[
        ("index.md", "# All\n\n- [Allergy](allergy.md)\n"),
        (
            "allergy.md",
            "---\ntype: fact\ntitle: Allergy\ntags: [health]\ngenerated: {by: \"x/1\", at: 2026-03-01T10:00:00Z}\nstatus: stable\n---\nKai is allergic to shellfish.\n",
        ),
        (
            "berth.md",
            "---\ntype: fact\ntitle: Berth\nstale_after: 2026-03-15\n---\nBerth four.\n",
        ),
        (
            "mast.md",
            "---\ntype: fact\ntitle: Mast\nstatus: deprecated\n---\nThe mast is oak.\n",
        ),
    ]);
    let found = read_path(&root);
    assert_eq!(found.passed(), [("index", 1)]);
    let allergy = found.of("shellfish");
    assert_eq!(
        (tags(allergy), allergy.created_at),
        (vec!["health"], Some(time("2026-03-01T10:00:00Z")))
    );
    assert_eq!(allergy.gone, None);
    assert_eq!(
        found.of("Berth four").gone.unwrap().why,
        DeletionReason::Expired
    );
    assert_eq!(
        found.of("oak").gone.unwrap().why,
        DeletionReason::Invalidated
    );
}

#[test]
fn pages_of_memoir_keep_their_kind_and_number() {
    let page = |fields: &str, text: &str| {
        format!(
            "---\ntitle: \"x\"\ncreated: 2026-03-01T10:00:00Z\nmemoir:\n  agent: \"wren\"\n{fields}---\n{text}\n"
        )
    };
    let summary = page(
        "  number: 9\n  kind: core\n  is_summary: true\n",
        "Kai sails the Marta.",
    );
    let archival = page(
        "  number: 4\n  kind: archival\n  under: 9\n  archived_at: 2026-04-01T10:00:00Z\n",
        "Kai bought the sloop Marta.",
    );
    let journal = page("  number: 10\n  kind: journal\n", "Calm today.");
    let (_home, root) = folder(&[
        ("archival/00004-kai.md", &archival),
        ("core/00009-kai.md", &summary),
        ("journal/00010-calm.md", &journal),
        ("loose.md", "---\nkind: archival\n---\nThe mast is spruce."),
    ]);
    let found = read_path(&root);
    let bought = found.of("bought");
    assert_eq!(bought.kind, Some(Kind::Archival));
    assert_eq!(bought.content.expose(), "Kai bought the sloop Marta.");
    let of = PageOf {
        agent: "wren".to_owned(),
        number: 4,
    };
    assert_eq!(bought.page_of, Some(of));
    let sails = found.of("sails");
    let of = PageOf {
        agent: "wren".to_owned(),
        number: 9,
    };
    assert_eq!((sails.kind, &sails.page_of), (Some(Kind::Core), &Some(of)));
    assert_eq!(found.of("Calm").kind, Some(Kind::Journal));
    // A page of another program can name its kind, too.
    let mast = found.of("mast");
    assert_eq!((mast.kind, &mast.page_of), (Some(Kind::Archival), &None));
}

#[test]
fn the_tree_of_letta_s_memfs_has_its_dates_from_git() {
    let (home, root) = folder(&[
        (
            "system/persona.md",
            "---\ndescription: Who I am\nread_only: true\n---\nI am Evie.",
        ),
        (
            "system/human.md",
            "---\ndescription: Who they are\n---\nKai sails.",
        ),
        (
            "reference/tides.md",
            "---\ndescription: Tides\n---\nHigh water at six.",
        ),
        (
            "skills/knots/SKILL.md",
            "---\ndescription: Knots\n---\nTie a bowline.",
        ),
    ]);
    let git = |arguments: &[&str]| {
        let done = std::process::Command::new("git")
            .arg("-C")
            .arg(&root)
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .args(arguments)
            .env("HOME", home.path())
            .env("GIT_COMMITTER_DATE", "2026-02-03T04:05:06Z")
            .env("GIT_AUTHOR_DATE", "2026-02-03T04:05:06Z")
            .output();
        done.is_ok_and(|done| done.status.success())
    };
    let has_git = git(&["init", "-q"]) && git(&["add", "."]) && git(&["commit", "-qm", "first"]);
    // A program that the repository names is not run.
    let config = root.join(".git/config");
    if has_git {
        let marker = home.path().join("ran");
        let trap = format!(
            "[core]\n\tfsmonitor = \"touch {0}\"\n\tpager = \"touch {0}\"\n[log]\n\tshowSignature = true\n[gpg]\n\tprogram = \"{0}\"\n",
            marker.display()
        );
        let before = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, before + &trap).unwrap();
    }
    let found = read_path(&root);
    assert_eq!(found.format, ImportFormat::Letta);
    assert_eq!(
        found.texts(),
        ["High water at six.", "Kai sails.", "I am Evie."]
    );
    assert_eq!(found.passed(), [("instruction", 1)]);
    let tides = found.of("High water");
    assert_eq!(
        (tides.kind, tags(tides)),
        (Some(Kind::Journal), vec!["tides", "reference"])
    );
    assert!(found.of("Evie").constitutional && found.of("Evie").is_persona);
    assert!(!home.path().join("ran").exists());
    if has_git {
        assert_eq!(
            found.of("Kai").created_at,
            Some(time("2026-02-03T04:05:06Z"))
        );
    }
}

#[test]
fn notes_of_basic_memory_in_a_folder_called_system_are_no_memfs() {
    let note = "---\ntitle: Tide\npermalink: system/tide\n---\nThe tide turns at six.";
    let (_home, root) = folder(&[("system/tide.md", note)]);
    assert_eq!(read_path(&root).format, ImportFormat::Markdown);
    // By its fields, and not by its file name.
    let page = "---\ndescription: about permalinks\n---\nKai likes permalinks.";
    let (_home, root) = folder(&[("system/permalink.md", page)]);
    assert_eq!(read_path(&root).format, ImportFormat::Letta);
}
