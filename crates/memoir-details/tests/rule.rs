//! The rule of SPEC 3.12, clause by clause, each with examples of both sides.

use memoir_details::{
    Judgement, Language, Reading, Replaced, differing, judge, padding, passing, unsaid,
};

/// What `of` makes of an edit of memories that stand for nothing but themselves.
fn of_edit<T>(
    replaced: &[&str],
    written: &str,
    of: impl FnOnce(&[Replaced<'_>], &Reading) -> T,
) -> T {
    let readings: Vec<Reading> = replaced.iter().map(|text| Reading::of(text)).collect();
    let replaced: Vec<Replaced<'_>> = readings
        .iter()
        .map(|present| Replaced {
            present,
            wordings: &[],
        })
        .collect();
    of(&replaced, &Reading::of(written))
}

fn edit(replaced: &[&str], written: &str) -> Judgement {
    of_edit(replaced, written, judge)
}

fn says(text: &str, wording: &str) -> bool {
    unsaid(&[&Reading::of(wording)], &Reading::of(text)).is_empty()
}

#[track_caller]
fn free(cases: &[(&[&str], &str)]) {
    for (replaced, written) in cases {
        let judgement = edit(replaced, written);
        assert!(
            judgement.is_free(),
            "{replaced:?} {written:?} {judgement:?} {:?}",
            judgement.added
        );
    }
}

#[track_caller]
fn not_free(cases: &[(&[&str], &str)]) {
    for (replaced, written) in cases {
        assert!(
            !edit(replaced, written).is_free(),
            "{replaced:?} {written:?}"
        );
    }
}

#[test]
fn spec_3_12_free_words_may_go_and_others_may_not() {
    free(&[
        (
            &["The well is very deep, and the water is cold."],
            "Well is deep, and water cold.",
        ),
        (
            &["The user mentioned that Hugo bakes bread on Fridays."],
            "Hugo bakes bread on Fridays.",
        ),
        (
            &["Die Suppe von Tante Gerda war sehr scharf."],
            "Die Suppe von Tante Gerda war scharf.",
        ),
    ]);
    not_free(&[
        (
            &["Hugo was my tenant for ten years."],
            "Hugo is my tenant for ten years.",
        ),
        (
            &["We drove from Ghent to Lille."],
            "We drove to Ghent from Lille.",
        ),
        (
            &["She called him and he came."],
            "He called her and she came.",
        ),
        (
            &["I have a few friends in Rome."],
            "I have few friends in Rome.",
        ),
        (&["I have to call the bank."], "I call the bank."),
    ]);
}

#[test]
fn spec_3_12_a_free_word_is_not_exchanged_for_another() {
    not_free(&[
        (
            &["Ann is a good doctor, says Bob."],
            "Ann has a good doctor, says Bob.",
        ),
        (
            &["The cup is in the box that she bought."],
            "The cup is on the box that she bought.",
        ),
        (
            &["Der Hund beißt den Mann, und er lacht."],
            "Den Hund beißt der Mann, und er lacht.",
        ),
        (
            &["Yo la quiero mucho, pero no está aquí."],
            "Yo lo quiero mucho, pero no está aquí.",
        ),
    ]);
    free(&[(
        &["She has a cat and the user is ill."],
        "She has cat and a user is ill.",
    )]);
}

#[test]
fn spec_3_12_where_no_language_is_sure_nothing_is_free_and_all_that_turns_turns() {
    assert_eq!(Reading::of("Zorp blim en krat.").language(), None);
    assert!(!says("Zorp krat.", "Zorp en krat."));
    assert!(!says("Zorp nicht krat.", "Zorp krat."));
    assert!(!says("Zorp krat inte.", "Zorp krat."));
}

#[test]
fn spec_3_12_case_white_space_end_marks_widths_and_normal_forms_make_no_difference() {
    free(&[
        (
            &["NEVER open the east window!"],
            "Never  open the\neast window.",
        ),
        (
            &["Zoé adore la crème brûlée."],
            "zoe\u{301} adore la cre\u{300}me bru\u{302}le\u{301}e",
        ),
        (&["Call Ａｎｎ at １０."], "Call Ann at 10"),
        (&["Ann’s motto: “less”"], "Ann's motto: \"less\""),
        (
            &["She doesn't smoke, it's bad."],
            "She does not smoke, it is bad.",
        ),
        (
            &["Rent is 1,000 euros for two rooms."],
            "Rent is 1000 euros for 2 rooms.",
        ),
    ]);
}

#[test]
fn spec_3_12_forms_count_as_one_word_by_the_table_only() {
    free(&[(
        &["She gets up early with the dog."],
        "She get up early with the dog.",
    )]);
    not_free(&[
        (
            &["She got up early with the dog."],
            "She gets up early with the dog.",
        ),
        (
            &["She planned the party with us."],
            "She plans the party with us.",
        ),
    ]);
    // A number word of one language is none in another.
    not_free(&[(&["Take 2 pills to sleep."], "Take 8 pills to sleep.")]);
}

#[test]
fn spec_3_12_a_sentence_is_said_if_all_its_words_stand_in_their_order_with_nothing_foreign() {
    for (text, wording) in [
        (
            "Hugo works in Ghent with his aunt Rosa.",
            "Hugo works in Ghent.",
        ),
        ("Bo hates rain. Ann likes tea.", "Ann likes tea."),
        (
            "My cousin Dana, the potter, lives in Lima.",
            "My cousin Dana lives in Lima.",
        ),
    ] {
        assert!(says(text, wording), "{text:?} {wording:?}");
    }
    for (text, wording) in [
        // A turning word before, between, or after in the same clause.
        ("I do not envy Hugo.", "I envy Hugo."),
        ("I envy Hugo not.", "I envy Hugo."),
        ("If Ann asks, I will pay.", "Ann asks."),
        ("Ich mag Tee nicht.", "Ich mag Tee."),
        ("Çay severim değil.", "Çay severim."),
        // A question mark wherever it stands.
        ("Is Ann ill?", "Ann is ill."),
        // A name or pronoun between.
        ("Ann and Carl trust Bob.", "Ann trust Bob."),
        ("I like tea and you hate coffee.", "I hate coffee."),
        // More words between than it has.
        (
            "The key of our neighbour from the second old red house is lost.",
            "The key is lost.",
        ),
        // Another number beside its own.
        ("The rent is 500 900 euros.", "The rent is 900 euros."),
        (
            "The freezer is at -18 degrees.",
            "The freezer is at 18 degrees.",
        ),
        // Somebody else's.
        ("The father of Ann died.", "Ann died."),
        ("Ann's brother is a doctor.", "Ann is a doctor."),
        ("Ann is a doctor's wife.", "Ann is a doctor."),
        // What stands behind "and" is somebody else's doing.
        ("The cat sleeps and the dog barks.", "The cat barks."),
        ("Rosa left, uncle rents the barn.", "Rosa rents the barn."),
    ] {
        assert!(!says(text, wording), "{text:?} {wording:?}");
    }
}

#[test]
fn spec_3_12_sentences_may_share_a_beginning() {
    free(&[
        (
            &["Ann likes tea.", "Ann sings on Sundays."],
            "Ann likes tea and sings on Sundays.",
        ),
        (
            &[
                "Lena teaches chemistry at the old school behind the mill.",
                "Lena rows.",
            ],
            "Lena teaches chemistry at the old school behind the mill and rows.",
        ),
        (
            &[
                "Jonas schläft schlecht.",
                "Jonas wohnt mit seiner Schwester in Kiel.",
            ],
            "Jonas schläft schlecht und wohnt mit seiner Schwester in Kiel.",
        ),
    ]);
    assert!(!says(
        "Ann likes tea in the long dark winter and Bob sings.",
        "Ann sings."
    ));
    assert!(!says(
        "Ann never likes tea in the long dark winter and sings.",
        "Ann sings."
    ));
}

#[test]
fn spec_3_12_other_marks_inside_are_asked_about_at_no_cost() {
    let judgement = edit(&["Inés says Marta decides."], "Inés, says Marta, decides.");
    assert_eq!(
        (
            judgement.marks.len(),
            judgement.losses.len(),
            judgement.added.len()
        ),
        (1, 0, 0)
    );
}

#[test]
fn spec_3_12_what_is_missing_is_lost_and_with_a_decisive_word_the_whole_sentence() {
    let long = "Ann met the tall gardener of the old castle near the frozen lake on a Tuesday.";
    let loss = |written: &str| {
        let losses = edit(&[long], written).losses;
        assert_eq!(losses.len(), 1, "{written}");
        (losses[0].lost.join(" "), losses[0].gutted, losses[0].whole)
    };
    assert_eq!(
        loss("Ann met the gardener of the old castle near the frozen lake on a Tuesday."),
        ("tall".to_owned(), false, false)
    );
    // A name: then all of it.
    assert!(loss("Ann met the tall gardener of the old castle near the frozen lake.").1);
    // Less than three quarters.
    assert!(loss("Ann met the gardener of the castle on a Tuesday.").1);
    assert_eq!(
        edit(
            &["Bob likes tea. Eva sings.", "Bob likes tea."],
            "Bob likes tea."
        )
        .losses[0]
            .lost,
        ["Eva", "sings"]
    );
    assert!(edit(&["Bob likes tea. Eva sings."], "Bob likes tea.").losses[0].whole);
    // Of one to three words all must stay, of four to seven all but one.
    assert!(edit(&["My sister often paints."], "My sister paints.").losses[0].gutted);
    assert!(
        !edit(
            &["My old aunt paints birds here."],
            "My aunt paints birds here."
        )
        .losses[0]
            .gutted
    );
}

#[test]
fn spec_3_12_what_is_missing_at_an_end_is_not_made_up_for_by_the_next_sentence() {
    for (replaced, written) in [
        (
            "I really deeply love cats. Carl is my friend.",
            "I really deeply love Carl is my friend.",
        ),
        (
            "The laughing had been fear. The press was her father's.",
            "The laughing had been The press was her father's.",
        ),
        (
            "Hugo repairs clocks. Strong coffee keeps Rosa awake.",
            "Hugo repairs clocks coffee keeps Rosa awake.",
        ),
    ] {
        let judgement = edit(&[replaced], written);
        let is_gutted = judgement.losses.iter().any(|loss| loss.gutted);
        assert!(is_gutted || !judgement.added.is_empty(), "{written:?}");
    }
    // Where it ends there, or a mark stands between, it is a loss as any other.
    for written in [
        "I really deeply love. Carl is my friend.",
        "I really deeply love, Carl is my friend.",
    ] {
        let judgement = edit(&["I really deeply love cats. Carl is my friend."], written);
        assert!(!judgement.losses.is_empty());
        assert!(
            judgement.losses.iter().all(|loss| !loss.gutted),
            "{written:?}"
        );
    }
}

#[test]
fn spec_3_12_sentences_that_run_into_each_other_are_asked_about() {
    let two = &["Ann left. Bob cried."][..];
    let judgement = edit(two, "Ann left Bob cried.");
    assert_eq!(judgement.marks.len(), 1, "{judgement:?}");
    assert!(judgement.losses.is_empty() && judgement.added.is_empty());
    assert_eq!(
        edit(&["Ann left.", "Bob cried."], "Ann left Bob cried.")
            .marks
            .len(),
        1
    );
    free(&[
        (two, "Ann left, Bob cried."),
        (two, "Ann left and Bob cried."),
        (two, "Ann left; Bob cried."),
        // It was so before.
        (&["Ann left Bob cried."], "Ann left Bob cried"),
        (&["Ann left Bob cried.", "Ann left."], "Ann left Bob cried."),
    ]);
}

#[test]
fn spec_3_12_a_sentence_that_goes_is_lost_whole_though_another_shares_words_with_it() {
    let texts = [
        "Bob paints large wooden clocks.",
        "Bob mends small iron clocks.",
    ];
    let losses = edit(&texts, texts[0]).losses;
    assert_eq!((losses[0].words, losses[0].lost.len()), (5, 5));
    assert!(losses[0].whole);
}

#[test]
fn spec_3_12_a_flood_of_free_words_is_added() {
    let text = "Marta waxes her linen thread twice before she sews anything heavy.";
    let flood = text.replace(' ', " very ");
    assert_eq!(edit(&[text], &flood).added, ["very"]);
    let reading = Reading::of(text);
    let one = [Replaced {
        present: &reading,
        wordings: &[],
    }];
    assert_eq!(
        padding(&one, &Reading::of(&text.replace("heavy", "very heavy"))),
        ["very"]
    );
    free(&[
        (
            &["Cup is heavy, and spoon rusty. The lid is lost."],
            "The cup is heavy, and the spoon is rusty. The lid is lost.",
        ),
        (
            &["Bob paints.", text],
            "Bob paints, and Marta waxes her linen thread twice before she sews anything heavy.",
        ),
    ]);
}

#[test]
fn spec_3_12_a_quotation_stays_whole() {
    not_free(&[
        (
            &["Theo said \"I never loved the farm\" and sold it."],
            "Theo said \"I loved the farm\" and never sold it.",
        ),
        (
            &["Theo said \"we sold the whole old farm\" to all the neighbours there."],
            "Theo said \"we sold the old farm\" to all the neighbours there.",
        ),
    ]);
    let cut = edit(
        &["Theo said \"we sold the whole old farm\" to our kind neighbours there."],
        "Theo said \"we sold the old farm\" to our kind neighbours there.",
    );
    assert!(cut.losses[0].gutted);
}

#[test]
fn spec_3_12_only_what_the_present_text_says_can_be_lost() {
    let wording =
        Reading::of("Ann met the tall gardener of the old castle near the frozen lake there.");
    let present = Reading::of("Ann met the gardener of the old castle near the frozen lake there.");
    let replaced = [Replaced {
        present: &present,
        wordings: &[&wording],
    }];
    assert!(judge(&replaced, &present).is_free());
    // Putting it back adds nothing, since a wording has it, but is more than there is now.
    let back = judge(&replaced, &wording);
    assert!(back.added.is_empty() && back.losses.is_empty());
    let next = judge(
        &replaced,
        &Reading::of("Ann met the gardener of the castle near the frozen lake there."),
    );
    assert_eq!(
        (next.losses[0].lost.join(" "), next.losses[0].gone),
        ("old".to_owned(), 2)
    );
}

#[test]
fn spec_3_12_nothing_is_added_not_even_by_putting_parts_together_anew() {
    assert_eq!(
        edit(&["Nadia keeps two hens."], "Nadia keeps two noisy hens.").added,
        ["noisy"]
    );
    for (replaced, written) in [
        (
            &["Rosa likes Hugo.", "Ines fears Otto."][..],
            "Rosa fears Hugo. Ines likes Otto.",
        ),
        (
            &[
                "Agata trusts Ben.",
                "Agata trusts Ben.",
                "Carl owes Dana money.",
            ],
            "Agata trusts Ben. Carl owes Dana money. Agata owes Dana.",
        ),
        (
            &["I do not trust Ann.", "I do not trust Ann."],
            "I do not trust Ann. I do trust Ann.",
        ),
        (
            &["Rosa is afraid of geese and feeds bees."],
            "Rosa is afraid of bees and feeds geese.",
        ),
        (&["Ann is well."], "The user mentioned that Ann is well."),
    ] {
        assert!(!edit(replaced, written).added.is_empty(), "{written}");
    }
}

#[test]
fn spec_3_12_nothing_is_written_more_often_than_it_was_there() {
    assert_eq!(
        edit(&["Bob paid."], "Bob paid. Bob paid.").surplus,
        Some((4, 2))
    );
    assert!(edit(&["Bob paid.", "Bob paid."], "Bob paid. Bob paid.").is_free());
    assert!(edit(&["Bob paid.", "Bob paid."], "Bob paid.").is_free());
}

#[test]
fn spec_3_12_scripts_without_spaces_go_by_characters_and_their_turning_words_by_sequence() {
    free(&[
        (
            &["我喜欢喝咖啡。", "她住在北京。"],
            "她住在北京。我喜欢喝咖啡！",
        ),
        (&["猫が好きです。"], "猫が好きです"),
    ]);
    assert!(!says("我不喜欢喝咖啡。", "我喜欢喝咖啡。"));
    assert!(!says("お茶を飲みません。", "お茶を飲み。"));
    assert!(!says("차를 마시지 않는다.", "차를 마시지."));
    assert!(!says("أنا لا أدخن.", "أنا أدخن."));
}

#[test]
fn sentences_end_at_marks_and_lines_but_not_in_abbreviations_numbers_and_addresses() {
    for (text, sentences) in [
        ("Ann sings. Bob paints! Does Eva? 好。是。", 5),
        (
            "Dr. Okafor lives at 3.5 km from St. Mary's, e.g. near the U.S. embassy.",
            1,
        ),
        (
            "John F. Kennedy was here. The lab is lab B. The door is red.",
            3,
        ),
        ("Er kommt am 3. Mai.", 1),
        (
            "See https://example.org/a.b?c=1 and a.b@example.org... then go",
            1,
        ),
        ("hard\nwrapped lines\nstay together", 1),
        ("A heading\n- one\n- two\n3 numbered\nNext", 5),
        ("one\n\ntwo", 2),
    ] {
        assert_eq!(Reading::of(text).sentences(), sentences, "{text}");
    }
    let list = Reading::of("- buy milk\n* sell eggs");
    assert_eq!(
        (list.sentence(0), list.sentence(1)),
        ("buy milk", "sell eggs")
    );
}

#[test]
fn one_word_each_identifiers_addresses_times_and_dates() {
    for word in [
        "@ann_b",
        "#tag",
        "https://a.example/b?c=1",
        "ann@a.example",
        "kv/prod/db",
        "memory.rs",
        "x_1",
        "2025-12-14",
        "17:30",
        "v1.2.3",
        "14b",
        "iPhone",
    ] {
        assert_eq!(Reading::of(word).words(), 1, "{word}");
    }
    assert_eq!(Reading::of("64GB").words(), 2);
}

#[test]
fn languages_are_known_by_their_words_and_not_where_they_are_not_sure() {
    for (text, code) in [
        ("The user likes dark mode in all editors.", Some("en")),
        ("Der Nutzer mag keine hellen Farben.", Some("de")),
        ("Léa habite avec sa sœur et son chat.", Some("fr")),
        (
            "Marta y su hermano viven muy lejos, pero no están solos.",
            Some("es"),
        ),
        ("Lucia abita con la madre, ma non cucina.", Some("it")),
        ("Rita mora com a mãe e não cozinha.", Some("pt")),
        ("Femke woont met haar zus in Delft.", Some("nl")),
        ("Elsa bor med sin syster och hennes hund.", Some("sv")),
        ("Kasia mieszka z siostrą i nie gotuje.", Some("pl")),
        ("Катя живёт с мужем и не готовит.", Some("ru")),
        ("Elif bir evde yaşıyor ve çok çalışıyor.", Some("tr")),
        ("她住在北京。", Some("zh")),
        ("彼女は東京に住んでいます。", Some("ja")),
        ("그녀는 서울에 산다.", Some("ko")),
        ("هي تسكن في عمان", Some("ar")),
        ("Minä asun Helsingissä.", None),
        ("", None),
        ("42", None),
    ] {
        assert_eq!(Language::of(text).map(Language::code), code, "{text}");
    }
    assert_eq!(Language::from_code("de"), Some(Language::German));
    assert_eq!(Language::from_code("xx"), None);
}

#[test]
fn relative_time_is_seen() {
    for text in [
        "Mia broke her wrist yesterday.",
        "We met a week ago.",
        "Sie kam gestern mit ihm.",
        "她昨天来了。",
        "Она пришла вчера и спит.",
    ] {
        assert!(Reading::of(text).has_relative_time(), "{text}");
    }
    assert!(!Reading::of("Mia was born in 1990.").has_relative_time());
}

#[test]
fn a_text_that_would_pass_puts_back_what_is_missing() {
    let pass = |replaced: &[&str], written: &str| of_edit(replaced, written, passing);
    assert_eq!(
        pass(
            &["Rosa started in 2011.", "Rosa started in Ghent."],
            "Rosa started in Ghent in 2011."
        )
        .as_deref(),
        Some("Rosa started in 2011. Rosa started in Ghent.")
    );
    assert_eq!(
        pass(
            &["Bob sings. Eva paints birds.", "Bob sings."],
            "Bob sings."
        )
        .as_deref(),
        Some("Bob sings. Eva paints birds.")
    );
    // The text that is there already is no help.
    assert_eq!(pass(&["Ann is kind."], "Ann is nice."), None);
}

#[test]
fn look_alikes_are_told_apart() {
    let differ = |a: &str, b: &str| differing(&Reading::of(a), &Reading::of(b));
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        differ("Ravi runs with Celia.", "Ravi runs with Delia."),
        (words(&["Celia"]), words(&["Delia"]))
    );
    let (one, other) = differ("Sam plans a trip with Evan.", "Evan plans a trip with Sam.");
    assert!(!one.is_empty() && !other.is_empty());
}

#[test]
fn nothing_prints_words() {
    let judgement = edit(
        &["Nadia keeps hens.", "Zoltan sings."],
        "Nadia keeps foxes.",
    );
    let printed = format!("{judgement:?} {:?}", Reading::of("Nadia keeps hens."));
    assert!(!printed.contains("Nadia") && !printed.contains("foxes") && !printed.contains("hens"));
}
