//! Every kind of detail on small texts: what is one, what is none, and what carries it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use memoir_details::{DetailKind, Reading, carries, details, lost, lost_between};

fn keys(text: &str, kind: DetailKind) -> Vec<String> {
    let all = details(text).into_iter().filter(|d| d.kind() == kind);
    all.map(|d| d.key().to_owned()).collect()
}

fn kept(replaced: &str, written: &str) -> bool {
    lost(&[replaced], written).is_empty()
}

#[test]
fn spec_3_12_numbers_are_equal_however_they_are_written() {
    for same in [
        "1,000 files",
        "1000 files",
        "1 000 files",
        "1.000 files",
        "a thousand files",
        "１０００ files",
        "١٠٠٠ files",
    ] {
        assert_eq!(keys(same, DetailKind::Number), ["1000"], "{}", same.len());
    }
    for same in ["3.5 kg", "3,5 kg", "3½ kg", "three and a half kg", "3500 g"] {
        assert_eq!(keys(same, DetailKind::Number), ["3500 g"], "{}", same.len());
    }
    assert!(kept("three cats", "3 cats"));
    assert!(kept("the 3rd floor", "the third floor"));
    assert!(kept("a dozen eggs", "12 eggs"));
    assert!(kept("twice a week", "2 times a week"));
    assert!(!kept("Henry VIII", "Henry"));
    assert!(
        keys(
            "One of them said so, and that one is right.",
            DetailKind::Number
        )
        .is_empty()
    );
}

#[test]
fn spec_3_12_a_number_with_another_unit_is_lost() {
    assert!(kept("5 km", "5km"));
    assert!(kept("5 km", "5 kilometres"));
    assert!(!kept("5 km", "5 miles"));
    assert!(!kept("5 km", "5"));
    assert!(!kept("37 °C", "37 °F"));
    assert!(kept("$5", "5 USD"));
    assert!(!kept("$5", "€5"));
    assert!(!kept("-5 °C", "5 °C"));
    assert!(kept("3 to 5 km", "3 km to 5 km"));
    assert!(kept("three to five km", "3–5 km"));
}

#[test]
fn spec_3_12_dates_are_equal_however_they_are_written() {
    for same in [
        "3 May 2024",
        "May 3rd, 2024",
        "2024-05-03",
        "03.05.2024",
        "the third of May 2024",
        "2024年5月3日",
        "3 de mayo de 2024",
        "3 мая 2024",
    ] {
        assert_eq!(
            keys(same, DetailKind::Date),
            ["2024-05-03"],
            "{}",
            same.len()
        );
    }
    assert!(!kept("3 May 2024", "3 May"));
    assert!(kept("3 May", "3 May 2024"));
    assert!(kept("03/05/2024", "5 March 2024") || kept("03/05/2024", "March 5, 2024"));
    assert!(kept("on Tuesday", "on Tue"));
    assert!(!kept("last summer", "in summer"));
    assert!(!kept("We met yesterday.", "We met."));
    assert!(kept("in the 1990s", "in the 90s"));
}

#[test]
fn spec_3_12_times_are_equal_however_they_are_written() {
    for same in [
        "5 pm",
        "5pm",
        "17:00",
        "5:00 p.m.",
        "5 in the afternoon",
        "17 Uhr",
        "下午5点",
        "오후 5시",
    ] {
        assert_eq!(keys(same, DetailKind::Time), ["t17:00"], "{}", same.len());
    }
    assert!(kept("at noon", "at 12:00"));
    assert!(kept("at half past six", "at 6:30"));
    assert!(!kept("at 5 pm", "at 5 am"));
    assert!(!kept("at midnight", "at night"));
}

#[test]
fn spec_3_12_a_quoted_passage_must_stay_verbatim() {
    assert!(kept("He said “go home now”.", "He said 'go home now'!"));
    assert!(kept("He said \"go home now\".", "He said go home now."));
    assert!(!kept("He said \"go home now\".", "He said to leave."));
    assert_eq!(
        keys("She wrote: \"the 'blue' one\".", DetailKind::Quote),
        ["the blue one", "blue"]
    );
    assert_eq!(
        keys("„Ja“, 「はい」 und «oui»", DetailKind::Quote),
        [
            "ja",
            "はい"
                .chars()
                .map(String::from)
                .collect::<Vec<_>>()
                .join(" ")
                .as_str(),
            "oui"
        ]
    );
    assert!(keys("It's the dogs' bowl, they don't mind.", DetailKind::Quote).is_empty());
}

#[test]
fn spec_3_12_names_are_found_also_where_a_sentence_begins() {
    assert_eq!(
        keys("Keller called. The weather is fine.", DetailKind::Name),
        ["keller"]
    );
    assert_eq!(keys("Mark works there.", DetailKind::Name), ["mark"]);
    assert_eq!(
        keys("We met Ludwig van Beethoven and O'Brien.", DetailKind::Name),
        ["ludwig", "beethoven", "o'brien"]
    );
    assert!(
        keys(
            "Working from home is fine. Unfortunately it rains. Meetings are long.",
            DetailKind::Name
        )
        .is_empty()
    );
    assert!(kept("Anna's cat", "the cat of ANNA"));
    assert!(kept("José left.", "Jose left."));
    assert!(!kept("Anna Keller left.", "Anna left."));
    assert!(kept("Mr Smith left.", "Smith left."));
}

#[test]
fn spec_3_12_german_nouns_are_no_names() {
    let text = "Der Termin war gut, weil das Essen in der Kantine billig ist und Jörg mit seinem Hund kam.";
    assert_eq!(keys(text, DetailKind::Name), ["jorg"]);
    assert!(kept(
        "Annas Hund ist bei Peter.",
        "Der Hund von Anna ist bei Peter."
    ));
}

#[test]
fn spec_3_12_names_in_scripts_without_capitals() {
    assert!(!keys("田中さんは大阪に住んでいる。", DetailKind::Name).is_empty());
    assert!(!kept("王小明住在杭州。", "他住在杭州。"));
    assert!(!kept("김민수 씨는 부산에 산다.", "그는 부산에 산다."));
    assert!(!kept("Анна живёт в Казани.", "Она живёт в Казани."));
    assert!(kept("Мы видели Анну.", "Анна была там."));
    assert!(!kept("السيد خالد في دبي", "هو في دبي"));
}

#[test]
fn spec_3_12_addresses_and_handles() {
    assert_eq!(
        keys("Mail to A.Keller@Example.org, please.", DetailKind::Address),
        ["a.keller@example.org"]
    );
    assert_eq!(
        keys("See https://www.example.org/a/b/.", DetailKind::Address),
        ["example.org/a/b"]
    );
    assert_eq!(
        keys("Open ~/notes/plan.md or C:\\tmp\\x.", DetailKind::Address).len(),
        2
    );
    assert_eq!(
        keys("Ask @lena_k in #ops about TKT-100.", DetailKind::Handle),
        ["@lena_k", "@ops", "tkt100"]
    );
    assert!(!kept("TKT-100 is open", "TKT-1000 is open"));
    assert!(kept("flight LH 123", "flight LH123"));
    assert!(kept("12 Baker Street", "12 Baker St."));
}

#[test]
fn spec_3_12_a_negation_is_known_by_what_it_negates() {
    assert!(kept("He does not eat meat.", "He never eats meat."));
    assert!(kept("He doesn't eat meat.", "He eats no meat."));
    assert!(!kept(
        "He does not eat meat and does not drink.",
        "He does not eat meat but drinks."
    ));
    assert!(kept(
        "He does not eat meat and does not drink.",
        "He neither eats meat nor drinks."
    ));
    assert!(!kept(
        "He likes tea but not coffee.",
        "He likes coffee but not tea."
    ));
    assert!(kept(
        "There is no doubt that she not only sings but also dances.",
        "She sings and dances."
    ));
    for (replaced, written) in [
        ("Er trinkt keinen Kaffee.", "Er trinkt Kaffee."),
        ("Il ne mange pas de viande.", "Il mange de la viande."),
        ("No come carne.", "Come carne."),
        ("Non beve vino.", "Beve vino."),
        ("Ela não come carne.", "Ela come carne."),
        ("Hij eet geen vlees.", "Hij eet vlees."),
        ("Он не пьёт кофе.", "Он пьёт кофе."),
        ("他不喝酒。", "他喝酒。"),
        ("彼は酒を飲まない。", "彼は酒を飲む。"),
        ("그는 술을 마시지 않는다.", "그는 술을 마신다."),
        ("هو لا يشرب القهوة", "هو يشرب القهوة"),
        ("הוא לא שותה קפה", "הוא שותה קפה"),
        ("वह चाय नहीं पीता", "वह चाय पीता है"),
    ] {
        assert!(!kept(replaced, written), "{} bytes", replaced.len());
    }
}

#[test]
fn spec_3_12_several_texts_are_taken_together_and_each_loss_is_named_once() {
    let gone = lost(
        &["Jonas is 30.", "Jonas has a dog, Pixel."],
        "He has a dog.",
    );
    let keys: Vec<&str> = gone.iter().map(|d| d.key()).collect();
    assert_eq!(keys, ["jonas", "30", "pixel"]);
    assert_eq!(gone[2].surface(), "Pixel");
    assert!(lost(&[], "anything").is_empty());
}

#[test]
fn spec_3_12_equal_keys_carry_each_other() {
    let detail = details("Anna pays 5 euros.").pop().unwrap();
    assert!(carries("It costs €5.", &detail));
    assert!(!carries("It costs €6.", &detail));
}

#[test]
fn spec_3_12_debug_does_not_print_the_words() {
    let detail = details("We met Beethoven.").pop().unwrap();
    let printed = format!("{detail:?}");
    assert!(printed.contains("Name") && !printed.to_lowercase().contains("beethoven"));
}

#[test]
fn spec_3_12_a_text_with_only_carries_no_negation() {
    let restricted = "I share my location only with Anna.";
    let denied = "I do not share my location with Anna.";
    assert!(!kept(denied, restricted));
    assert!(kept(restricted, denied));
}

#[test]
fn spec_3_12_a_reading_answers_as_the_text_does() {
    let texts = [
        "Customer 738 of Marta Keller asked on 14 March for 1340 sheets and did not want blue ones.",
        "Marta Keller asked for 1,340 sheets on March 14th and 14 March; at 5 pm, not blue, \"as is\".",
        "",
    ];
    for old in texts {
        let reading = Reading::of(old);
        assert_eq!(reading.details(), details(old));
        for new in texts {
            let written = Reading::of(new);
            let (alone, again) = ([&reading], [&reading, &reading]);
            assert_eq!(lost_between(&alone, &written), lost(&[old], new));
            assert_eq!(lost_between(&again, &written), lost(&[old], new));
            for detail in reading.details() {
                assert_eq!(written.carries(detail), carries(new, detail));
            }
        }
    }
    assert!(lost_between(&[], &Reading::of(texts[0])).is_empty());
}

#[test]
fn spec_3_12_a_reading_can_be_shared_and_shows_no_text() {
    fn shared<T: Send + Sync + 'static>(value: T) -> T {
        value
    }
    let reading = shared(Reading::of("Zelda owes 738 EUR."));
    let other = Reading::of("Nobody owes anything.");
    // Also after a comparison that needed the words.
    assert!(!lost_between(&[&reading], &other).is_empty());
    for shown in [format!("{reading:?}"), format!("{other:#?}")] {
        let shown = shown.to_lowercase();
        assert!(
            !["zelda", "738", "owes", "nobody"]
                .iter()
                .any(|w| shown.contains(w))
        );
    }
}
