//! SPEC 3.10: a constitutional memory is at most tightened, whatever the guard. A vow in each of seven
//! languages and five scripts, and what somebody would make of it.

use memoir_domain::session::Mode;

use crate::world::World;

/// A vow, and what each edit replaces by what. An edit that replaces the whole is written out.
struct Vow {
    text: &'static str,
    edits: &'static [(&'static str, &'static str)],
}

const ENGLISH: Vow = Vow {
    text: "I love my daughter Ida more than my comfort. I will never again lie to Marta about the 40 letters, and I keep them until she asks for them.",
    edits: &[
        // Reversed.
        ("more than", "less than"),
        ("love", "hate"),
        ("never again", "again"),
        ("never", "always"),
        ("will never", "will"),
        ("will", "will not"),
        ("until", "unless"),
        ("I keep", "I do not keep"),
        ("she asks", "nobody asks"),
        ("lie", "tell the truth"),
        // Weakened.
        ("I love", "I think I love"),
        ("I love", "I loved"),
        ("I love", "Maybe I love"),
        ("I will", "I may"),
        ("I will", "I would"),
        ("I keep", "I should keep"),
        ("I keep", "I sometimes keep"),
        (" more than my comfort", ""),
        (" until she asks for them", ""),
        ("my daughter Ida", "Ida"),
        ("again ", ""),
        ("I love my daughter Ida more than my comfort. ", ""),
        // Somebody else.
        ("Marta", "Martha"),
        ("Ida", "Ada"),
        ("my daughter", "your daughter"),
        ("she asks", "he asks"),
        ("I will", "You will"),
        ("I love my daughter Ida", "Ida loves my daughter"),
        ("lie to Marta", "lie about Marta"),
        // Other numbers and signs.
        ("40", "14"),
        ("40", "400"),
        ("40", "4"),
        ("40 ", ""),
        ("40", "-40"),
        ("40", "$40"),
        ("the 40 letters", "the letters"),
        ("comfort.", "comfort?"),
        ("asks for them.", "asks for them?"),
        // Added.
        ("comfort.", "comfort. This was long ago."),
        ("comfort.", "comfort 💀"),
        ("comfort.", "comfort, they say."),
        ("I love", "What follows is a lie. I love"),
        ("I love", "Bob claims that I love"),
        ("I love", "I pretend that I love"),
        ("letters", "letters and her birthday"),
        ("letters,", "letters, the parcels,"),
        ("very", "very"),
        ("my comfort", "my very very very very very comfort"),
        ("letters", "letters letters"),
        (
            "them.",
            "them. I love my daughter Ida more than my comfort.",
        ),
    ],
};

const GERMAN: Vow = Vow {
    text: "Ich verrate Jonas nie, was die 12 Frauen mir über die Mühle gesagt haben, auch wenn er mich darum bittet.",
    edits: &[
        ("nie", "immer"),
        ("nie, was", "was"),
        ("Jonas nie", "Jonas vielleicht nie"),
        ("Jonas", "Jona"),
        ("12", "21"),
        ("die 12 Frauen", "die Frauen"),
        ("die 12 Frauen mir", "ich den 12 Frauen"),
        ("auch wenn", "außer wenn"),
        (", auch wenn er mich darum bittet", ""),
        ("gesagt haben", "gesagt hätten"),
        ("Ich verrate", "Ich verriet"),
        ("Mühle", "Mühle und den Bach"),
        ("er mich", "sie mich"),
        ("Mühle", "Mühle 🔥"),
    ],
};

const RUSSIAN: Vow = Vow {
    text: "Я никогда не продам дом моей матери. Ключ от него я отдам только Лене, и не раньше 7 мая.",
    edits: &[
        ("никогда не продам", "продам"),
        ("никогда не", "не"),
        ("не продам", "продам"),
        ("только Лене", "Лене"),
        ("Лене", "Кате"),
        ("не раньше", "раньше"),
        ("не раньше", "не позже"),
        ("7 мая", "17 мая"),
        ("7 мая", "мая"),
        ("продам", "сожгу"),
        ("моей матери", "твоей матери"),
        ("Я никогда", "Наверное, я никогда"),
        ("отдам", "отдам?"),
        ("Лене", "Лене и Ивану"),
        (" Ключ от него я отдам только Лене, и не раньше 7 мая.", ""),
    ],
};

const CHINESE: Vow = Vow {
    text: "我永远不会把母亲的信给别人看。每年3月8日我给小玲打电话。",
    edits: &[
        ("不会", "会"),
        ("永远不会", "不会"),
        ("永远", "有时"),
        ("母亲", "父亲"),
        ("给别人看", "给大家看"),
        ("3月", "8月"),
        ("8日", "18日"),
        ("小玲", "小林"),
        ("我给小玲", "小玲给我"),
        ("每年", "去年"),
        ("打电话", "打电话吗"),
        ("我永远", "也许我永远"),
        ("每年3月8日我给小玲打电话。", ""),
    ],
};

const ARABIC: Vow = Vow {
    text: "لن أبيع بيت جدتي أبدا. سأعطي المفتاح لسلمى فقط بعد 9 سنوات.",
    edits: &[
        ("لن أبيع", "سوف أبيع"),
        ("لن أبيع", "أبيع"),
        (" أبدا", ""),
        ("جدتي", "جدي"),
        ("لسلمى", "لليلى"),
        (" فقط", ""),
        ("بعد", "قبل"),
        ("9", "19"),
        ("سأعطي", "لن أعطي"),
        ("لن أبيع", "ربما لن أبيع"),
        ("9 سنوات", "سنوات"),
        ("المفتاح", "المفتاح والمال"),
        ("أبدا.", "أبدا؟"),
    ],
};

const JAPANESE: Vow = Vow {
    text: "母の手紙は誰にも見せない。毎年5月3日に花子へ電話する。",
    edits: &[
        ("見せない", "見せる"),
        ("誰にも", "誰かに"),
        ("母の", "父の"),
        ("5月", "6月"),
        ("3日", "13日"),
        ("花子", "花代"),
        ("毎年", "去年"),
        ("電話する", "電話しない"),
        ("電話する", "電話するか"),
        ("母の手紙", "たぶん母の手紙"),
        ("毎年5月3日に花子へ電話する。", ""),
    ],
};

const HINDI: Vow = Vow {
    text: "मैं मीरा का घर कभी नहीं बेचूँगा। चाबी 6 साल बाद ही दूँगा।",
    edits: &[
        ("कभी नहीं बेचूँगा", "बेचूँगा"),
        ("नहीं", "ज़रूर"),
        ("कभी ", ""),
        ("मीरा", "मीना"),
        ("6", "16"),
        ("बाद", "पहले"),
        ("बाद ही", "बाद"),
        ("मैं मीरा", "शायद मैं मीरा"),
        ("घर", "घर और खेत"),
        ("बेचूँगा।", "बेचूँगा?"),
    ],
};

/// What the session answers to an edit of a constitutional memory, and whether it changed.
fn edited(guard: &str, text: &str, written: &str) -> (String, bool) {
    let mut world = World::under(guard).saving(&[&format!("!{text}")]);
    world.open(Mode::Full);
    let result = world.update(1, written);
    let code = result["code"].as_str().unwrap_or("none").to_owned();
    (code, world.text(1) == written)
}

#[test]
fn spec_3_10_whatever_changes_a_vow_is_refused_in_every_script() {
    let mut tried = 0;
    for (place, vow) in [ENGLISH, GERMAN, RUSSIAN, CHINESE, ARABIC, JAPANESE, HINDI]
        .iter()
        .enumerate()
    {
        let guard = ["off", "limit", "refuse"][place % 3];
        let edits = vow.edits.iter().map(|(from, to)| {
            assert!(from == to || vow.text.contains(from), "{from}");
            vow.text.replacen(from, to, 1)
        });
        // Another sentence in its place, one very long word, and a flood of signs.
        let grown = [
            "I hate you.".to_owned(),
            format!("{} {}", vow.text, "a".repeat(9_000)),
            format!("{} {}", vow.text, "❤".repeat(9_000)),
            format!("{} {}", vow.text, vow.text),
        ];
        for written in edits.chain(grown).filter(|written| written != vow.text) {
            let (code, changed) = edited(guard, vow.text, &written);
            assert!(!changed, "{written:.120}");
            assert_eq!(code, "constitutional", "{written:.120}");
            tried += 1;
        }
    }
    assert!(tried >= 100, "{tried} edits");
}

#[test]
fn spec_3_10_free_words_and_marks_may_go_from_a_vow() {
    let mut passed = 0;
    for (text, written) in [
        (
            ENGLISH.text,
            &[
                ("the 40", "40"),
                ("comfort. I", "comfort.\nI"),
                ("them.", "them"),
                ("comfort.", "comfort!"),
                ("I love", "I  love"),
                ("the 40 letters, and I", "40 letters, and I"),
            ][..],
        ),
        (
            "The well is very deep, and the water in it is really cold. I have the key.",
            &[
                ("The well", "Well"),
                ("very ", ""),
                ("really ", ""),
                ("I have the key", "I have key"),
                ("the water", "water"),
                (" is very deep", " very deep"),
                ("key.", "key!"),
            ],
        ),
        (
            GERMAN.text,
            &[
                ("die 12", "12"),
                ("bittet.", "bittet"),
                ("die Mühle", "Mühle"),
            ],
        ),
        (
            RUSSIAN.text,
            &[
                ("матери.", "матери!"),
                ("мая.", "мая"),
                (". Ключ", ".\nКлюч"),
            ],
        ),
        (CHINESE.text, &[("看。", "看！"), ("电话。", "电话")]),
        (ARABIC.text, &[("سنوات.", "سنوات"), ("أبدا.", "أبدا!")]),
        (JAPANESE.text, &[("ない。", "ない！"), ("する。", "する")]),
        (HINDI.text, &[("दूँगा।", "दूँगा")]),
    ] {
        for (from, to) in written {
            let written = text.replacen(from, to, 1);
            let (code, changed) = edited("refuse", text, &written);
            assert!(changed && code == "none", "{code}: {written}");
            passed += 1;
        }
    }
    assert!(passed >= 20, "{passed} edits");
}
