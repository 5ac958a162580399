//! Folders of Markdown.

use std::path::Path;

use memoir_domain::{memory::Kind, origin::Origin};
use memoir_import::{DateProblem, DeletionReason, ImportFormat, PageOf};

use crate::{folder, read_path, tags, time};

#[test]
fn notes_of_basic_memory_give_observations_relations_and_prose() {
    let (_home, root) = folder(&[(
        "notes/coffee.md",
        "---\ntitle: Coffee\ntype: note\ntags: [brewing, morning]\npermalink: notes/coffee\ncreated: 2026-03-01\n---\n# Coffee\n\nKai grinds by hand.\n\n- [method] Pour over at 94 °C #brewing (tested twice)\n- [ ] buy filters #morning\n- [a page](https://example.com)\n- Decaf is for evenings #brewing\n- Sundays\n- relates_to [[Tea]]\n- \"grows well in\" [[High valleys]] (mostly)\n",
    )]);
    let found = read_path(&root);
    assert_eq!(found.format, ImportFormat::Markdown);
    assert_eq!(
        found.texts(),
        [
            "Coffee: Pour over at 94 °C #brewing (tested twice)",
            "Coffee: Decaf is for evenings #brewing",
            "Coffee relates to Tea",
            "Coffee grows well in High valleys (mostly)",
            "# Coffee\n\nKai grinds by hand.\n\n- [ ] buy filters #morning\n- [a page](https://example.com)\n- Sundays",
        ]
    );
    assert_eq!(tags(found.of("94")), ["method", "brewing", "morning"]);
    assert_eq!(tags(found.of("Decaf")), ["Note", "brewing", "morning"]);
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
    let git = |arguments: &[&str]| git(home.path(), &root, arguments);
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

#[test]
fn spec_2_4_entries_of_hermes_are_parted_by_a_line_and_by_no_sign_within_a_text() {
    for ending in ["\n", "\r\n"] {
        let page = [
            "Rent rule: see § 14 of the lease, and § 15 for pets.",
            "§",
            "A § B",
            " § ",
            "Tax: §§ 12–13 apply. #tax",
            "",
        ];
        let (_home, root) = folder(&[("MEMORY.md", &page.join(ending))]);
        let found = read_path(&root);
        assert_eq!(found.texts(), [page[0], page[2], page[4]]);
        assert!(tags(found.of("Rent")).is_empty());
        assert_eq!(tags(found.of("Tax")), ["tax"]);
        assert_eq!(found.passed(), []);
    }
    // A text that has the sign, and no line of it, is one page, and so is every page that is not named as theirs.
    for text in ["See § 14.\n\nAnd § 15.", "The sign\n§\nis on a line."] {
        let (_home, root) = folder(&[("lease.md", text)]);
        assert_eq!(read_path(&root).texts(), [format!("# lease\n\n{text}")]);
    }
}

#[test]
fn spec_2_4_no_sign_of_a_hermes_page_is_lost_or_parts_what_it_does_not_part() {
    let (rent, tax) = ("Rent rule: see § 14 of the lease.", "Tax: §§ 12–13 apply.");
    // `R` and `T` are the two texts, and `|` parts the expected ones.
    for (page, expected) in [
        ("R\n§\nT\n", "R|T"),
        ("R\n§\nT", "R|T"),
        ("§\nR\n§\nT\n§\n", "R|T"),
        ("\u{feff}R\n§\nT\n", "R|T"),
        ("\u{feff}§\nR\n§\nT\n", "R|T"),
        ("R\n§\n\n§\n§\nT\n", "R|T"),
        ("R\n\n  §\t\n\nT\n", "R|T"),
        ("R\r\n§\r\nT\r\n", "R|T"),
        ("R\u{a0}\n\u{a0}§\u{a0}\nT\n", "R|T"),
        ("R\n§ T\n", "R\n§ T"),
        ("R §\nT\n", "R §\nT"),
        ("R\n§§\nT\n", "R\n§§\nT"),
        ("R\n", "R"),
        (
            "R\n§\nSee:\n§ 4 and\n§ 5 of it.\n",
            "R|See:\n§ 4 and\n§ 5 of it.",
        ),
    ] {
        let filled = |text: &str| text.replace('T', tax).replace('R', rent);
        let expected: Vec<String> = expected.split('|').map(filled).collect();
        for name in ["MEMORY.md", "USER.md", "memories/MEMORY.md"] {
            let (_home, root) = folder(&[(name, &filled(page))]);
            let found = read_path(&root);
            assert_eq!(found.texts(), expected, "{page:?}");
            assert_eq!(found.passed(), [], "{page:?}");
        }
    }
    // A page of another program keeps such a line.
    let (_home, root) = folder(&[("lease.md", "First.\n§\nSecond.\n")]);
    assert!(read_path(&root).texts()[0].ends_with("First.\n§\nSecond."));
}

#[test]
fn spec_2_4_a_date_of_a_page_is_read_in_the_forms_that_people_write() {
    let ten = time("2026-03-01T10:15:00Z");
    let day = time("2026-03-01T00:00:00Z");
    for (date, at) in [
        ("created: 2026-03-01", Some(day)),
        ("created: '2026-03-01'", Some(day)),
        ("created: \"2026-03-01\"", Some(day)),
        ("created: 2026-03-01 # a Sunday", Some(day)),
        ("created: [[2026-03-01]]", Some(day)),
        ("created: 20260301", Some(day)),
        ("created: 2026/03/01", Some(day)),
        ("created: March 1, 2026", Some(day)),
        ("created: 1 March 2026", Some(day)),
        ("created: 202603011015", Some(ten)),
        ("created: 20260301101500", Some(ten)),
        ("created: 2026-03-01T10:15", Some(ten)),
        ("created: 2026-03-01 10:15", Some(ten)),
        ("created: 2026-03-01T10:15:00.000Z", Some(ten)),
        ("created: 2026-03-01 12:15:00 +0200", Some(ten)),
        (
            "created: 2026-03-01T11:15:00+01:00[Europe/Berlin]",
            Some(ten),
        ),
        ("created: 1772360100", Some(ten)),
        ("created: 1772360100000", Some(ten)),
        ("created: 2026-02-30", None),
        ("created: 2026-3", None),
        ("created: 2026-W09", None),
        ("created: 01.02.2026", None),
        ("created: spring of 2026", None),
        ("created: Sunday, March 1st, 2026", None),
        ("created: 2026-03-01T25:00", None),
    ] {
        let (_home, root) = folder(&[(
            "trip.md",
            &format!("---\n{date}\n---\nThe trip begins at nine.\n"),
        )]);
        let found = read_path(&root);
        let unreadable = found.report.dates.get(&DateProblem::Unreadable).copied();
        assert_eq!(
            unreadable.unwrap_or_default(),
            u64::from(at.is_none()),
            "{date}"
        );
        if at.is_some() {
            assert_eq!(found.memories[0].created_at, at, "{date}");
        }
    }
}

#[test]
fn spec_2_4_the_name_behind_the_day_of_a_page_stays_with_its_text() {
    let day = Some(time("2026-03-01T00:00:00Z"));
    for (name, title, at) in [
        ("2026-03-01 Meeting with Kim.md", "Meeting with Kim", day),
        ("memory/2026-03-01-vendor-pitch.md", "vendor pitch", day),
        ("2026-03-01_vendor_pitch.md", "vendor pitch", day),
        ("2026.03.01 Ärger.md", "Ärger", day),
        ("20260301 Knots.md", "Knots", day),
        (
            "202603011015 Knots.md",
            "Knots",
            Some(time("2026-03-01T10:15:00Z")),
        ),
        (
            "20260301101530-knots.md",
            "knots",
            Some(time("2026-03-01T10:15:30Z")),
        ),
        (
            "2026-03-01T10-15 Knots.md",
            "Knots",
            Some(time("2026-03-01T10:15:00Z")),
        ),
        (
            "2026-03-01T10 15 call.md",
            "call",
            Some(time("2026-03-01T10:15:00Z")),
        ),
        ("2026-03-01 Tea.md", "Tea", day),
        ("2026-03-01.md", "", day),
        ("2026-03-01 (2).md", "", day),
        ("20260301.md", "", day),
    ] {
        let (_home, root) = folder(&[(name, "We agreed on oak.")]);
        let found = read_path(&root);
        let text = match title {
            "" => "We agreed on oak.".to_owned(),
            title => format!("# {title}\n\nWe agreed on oak."),
        };
        assert_eq!(found.texts(), [text], "{name}");
        let memory = &found.memories[0];
        assert_eq!(
            (memory.kind, memory.created_at),
            (Some(Kind::Journal), at),
            "{name}"
        );
    }
    for name in [
        "2026 plans.md",
        "12 rules.md",
        "20269901 x.md",
        "2026-03-011 x.md",
    ] {
        let (_home, root) = folder(&[(name, "We agreed on oak.")]);
        assert_eq!(read_path(&root).memories[0].kind, None, "{name}");
    }
}

#[test]
fn spec_2_4_a_date_that_cannot_be_read_is_reported_with_its_place() {
    let page = |date: &str| format!("---\n{date}\n---\nThe trip begins at nine.\n");
    let (_home, root) = folder(&[
        ("bad.md", &page("date: last spring")),
        ("either.md", &page("date: 03/04/2026")),
        ("good.md", &page("created: 202603011015")),
        ("none.md", &page("title: x")),
        ("two.md", &page("created: soon\ndate: 2026-03-01")),
        ("year.md", &page("date: 2026")),
    ]);
    let found = read_path(&root);
    assert_eq!(found.memories.len(), 6);
    let places: Vec<_> = found
        .report
        .date_places
        .iter()
        .map(|(place, problem)| (place.file.as_ref().unwrap().expose(), *problem))
        .collect();
    let unreadable = DateProblem::Unreadable;
    assert_eq!(
        places,
        [
            ("bad.md", unreadable),
            ("either.md", unreadable),
            ("year.md", unreadable)
        ]
    );
    assert_eq!(found.report.dates[&unreadable], 3);
    // The file's own time is better than none.
    assert_eq!(found.report.undated, 0);
    let of = |name: &str| {
        let of_page = |memory: &&memoir_import::ImportedMemory| {
            memory
                .place
                .file
                .as_ref()
                .is_some_and(|file| file.expose() == name)
        };
        found.memories.iter().find(of_page).unwrap().created_at
    };
    assert_eq!(of("good.md"), Some(time("2026-03-01T10:15:00Z")));
    assert_eq!(of("two.md"), Some(time("2026-03-01T00:00:00Z")));
}

#[test]
fn spec_2_4_a_page_of_memoir_keeps_an_origin_that_is_weaker_than_import() {
    let page = |origin: &str| {
        format!(
            "---\ncreated: 2026-03-01\nmemoir:\n  agent: \"wren\"\n  number: 1\n  kind: core\n  origin: {origin}\n---\nThe page says so.\n"
        )
    };
    for (named, origin) in [
        ("external", Some(Origin::External)),
        ("import", None),
        ("agent", None),
        ("administrator", None),
        ("no origin", None),
    ] {
        let (_home, root) = folder(&[("core/00001-page.md", &page(named))]);
        assert_eq!(read_path(&root).memories[0].origin, origin, "{named}");
    }
}

/// Whether git did that in a folder, on 2026-02-03.
fn git(home: &Path, root: &Path, arguments: &[&str]) -> bool {
    let done = std::process::Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
        .args(arguments)
        .env("HOME", home)
        .env("GIT_COMMITTER_DATE", "2026-02-03T04:05:06Z")
        .env("GIT_AUTHOR_DATE", "2026-02-03T04:05:06Z")
        .output();
    done.is_ok_and(|done| done.status.success())
}

/// A repository with these files, committed on 2026-02-03; `None` without git.
fn committed(
    files: &[(&str, &str)],
    format: &str,
) -> Option<(tempfile::TempDir, std::path::PathBuf)> {
    let (home, root) = folder(files);
    let git = |arguments: &[&str]| git(home.path(), &root, arguments);
    let is_made = git(&["init", "-q", "--object-format", format])
        && git(&["add", "."])
        && git(&["commit", "-qm", "first"])
        && git(&["pack-refs", "--all"]);
    is_made.then_some((home, root))
}

#[test]
fn pages_of_every_program_have_their_dates_from_git() {
    let files = [
        ("notes/oak.md", "We agreed on oak."),
        ("notes/deep/ash.md", "Not on ash."),
        (
            "notes/dated.md",
            "---\ndate: 2026-01-01\n---\nOn oak and elm.",
        ),
    ];
    for format in ["sha1", "sha256"] {
        let Some((_home, root)) = committed(&files, format) else {
            return println!("skipped: git is not installed");
        };
        // The folder itself, and one within it.
        for folder in [root.clone(), root.join("notes")] {
            let found = read_path(&folder);
            let at = |text: &str| found.of(text).created_at.unwrap().to_string();
            assert_eq!(at("on oak."), "2026-02-03T04:05:06Z");
            assert_eq!(at("on ash."), "2026-02-03T04:05:06Z");
            assert_eq!(at("and elm."), "2026-01-01T00:00:00Z");
        }
    }
}

#[test]
fn a_repository_whose_references_lead_elsewhere_has_no_dates() {
    for head in [
        "ref: refs/../../outside",
        "ref: /etc/hostname",
        "ref: refs/heads/none",
        "ref: HEAD",
        "no hash",
        "--output=/tmp/x",
    ] {
        let Some((_home, root)) = committed(&[("oak.md", "We agreed on oak.")], "sha1") else {
            return println!("skipped: git is not installed");
        };
        std::fs::write(root.join(".git/HEAD"), head).unwrap();
        let at = read_path(&root).memories[0].created_at.unwrap();
        assert!(at > time("2026-02-04T00:00:00Z"), "{head}: {at}");
    }
}
