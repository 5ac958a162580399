//! The check of a summary (SPEC 3.9 a).

#![allow(
    clippy::print_stdout,
    reason = "the table of the written set is printed"
)]

use std::collections::BTreeMap;

use memoir_text::{Allowed, SummarySource, unsupported};

const DATE: (i32, u8, u8) = (2026, 3, 14);

fn check(sources: &[&str], summary: &str) -> Vec<String> {
    let sources: Vec<SummarySource<'_>> = sources
        .iter()
        .map(|text| SummarySource { text, date: DATE })
        .collect();
    unsupported(summary, &sources, &Allowed::default())
}

fn refused(sources: &[&str], cases: &[(&str, &[&str])]) {
    for (summary, found) in cases {
        assert_eq!(check(sources, summary), *found, "{summary}");
    }
}

fn passes(sources: &[&str], summaries: &[&str]) {
    for summary in summaries {
        let found = check(sources, summary);
        assert!(found.is_empty(), "{summary}: {found:?}");
    }
}

const PLUMS: [&str; 2] = [
    "Rosa counted 1,200 plums and said \"keep the best for winter\" to Sven.",
    "Rosa and Sven did not sell the plums, and paid €4 for jars.",
];

#[test]
fn spec_3_9_a_summary_brings_in_nothing_new() {
    refused(
        &PLUMS,
        &[
            ("Rosa counted 1,300 plums.", &["1,300"]),
            ("Rosa paid $4 for jars.", &["$"]),
            ("Rosa kept 50% of the plums.", &["50", "%"]),
            (
                "Rosa said \"keep the rest\" to Sven.",
                &["\"keep the rest\""],
            ),
            ("Rosa and Gustav kept plums.", &["Gustav"]),
            ("Rosa kept plums last week.", &["last week"]),
            ("Rosa kept plums recently.", &["recently"]),
            (
                "Gustav's plums: 7, 7 and Ada recently; Ada too, -7.",
                &["7", "Ada", "recently", "-"],
            ),
        ],
    );
    passes(
        &PLUMS,
        &["Rosa counted 1200 plums, paid €4, sold none: \"keep the best for winter\"."],
    );
    refused(
        &[
            "Ada keeps bees behind the mill.",
            "Bruno paints boats in the harbour.",
        ],
        &[("Ada never paints boats.", &["never"])],
    );
}

#[test]
fn spec_3_9_numbers_are_compared_by_value_and_words_for_numbers_are_words() {
    let sources = [
        "Rosa has 3 goats and a dog, and 2.5 hectares.",
        "Bus 12 leaves at 7:30, on Sundays at 8:15. Flat ½, v2.3.1, 10 to 12 jars; 1 200 nails.",
    ];
    passes(
        &sources,
        &[
            "Rosa has three goats.",
            "Rosa has 03 goats, 2,5 ha; bus 12 at 7.30, flat 1/2, version 2.3.1, 10-12 jars, 1,200 nails.",
            "At 07:30 bus 12 leaves.",
        ],
    );
    refused(
        &sources,
        &[
            ("Rosa has 4 goats.", &["4"]),
            ("Rosa has 25 hectares.", &["25"]),
            ("Rosa has 2 hectares.", &[]),
            ("Bus 12 leaves at 7:15, later 8:30.", &["7:15", "8:30"]),
            ("v2.3.2 and v2.1.3", &["2.3.2", "2.1.3"]),
            ("10-13 jars", &["10-13"]),
        ],
    );
    refused(
        &["Rosa counted 1,200 plums."],
        &[("Rosa has 200 plums, 1 tree.", &["200", "1"])],
    );
    // Digits of any script.
    passes(&["لديها ١٢٠٠ شجرة"], &["لديها 1200 شجرة"]);
}

#[test]
fn spec_3_9_origin_dates_count_where_they_are_written_as_dates() {
    let sources = [
        "Olga moved to the coast with two suitcases.",
        "Olga found work.",
    ];
    passes(
        &sources,
        &[
            "In March 2026 Olga moved and found work.",
            "Olga moved on 14 March 2026.",
            "Olga moved on March 14, 2026, a Saturday.",
            "On the 14th of March Olga moved.",
            "Olga moved on 2026-03-14.",
            "Olga moved on 14.3.2026 or 3/14/26, that is in 03/2026.",
            "In 2026 Olga moved.",
            "Olga moved (2026).",
        ],
    );
    refused(
        &sources,
        &[
            ("In March 2025 Olga moved.", &["2025"]),
            ("Olga moved in April 2026.", &["April", "2026"]),
            ("Olga moved on 15 March.", &["15"]),
            ("Olga moved on 2026-03-15.", &["2026-03-15"]),
            ("Olga moved on 2026-14-03.", &["2026-14-03"]),
            ("Olga moved on a Monday.", &["Monday"]),
            ("Olga moved with 14 suitcases.", &["14"]),
            ("In March Olga had 3 suitcases.", &["3"]),
            ("Olga has 2026 plums.", &["2026"]),
        ],
    );
    passes(
        &["Olga zog ans Meer."],
        &["Am 14. März 2026 zog Olga ans Meer."],
    );
    passes(
        &["Ольга переехала к морю."],
        &["14 марта 2026 года Ольга переехала к морю."],
    );
    passes(&["她搬到海边了。"], &["2026年3月14日她搬到海边。"]);
    refused(
        &["她搬到海边了。"],
        &[("2026年4月14日她搬到海边。", &["4"])],
    );
    refused(
        &sources,
        &[("Olga moved on Sunday, not on Saturday.", &["Sunday", "not"])],
    );
    for (month, name) in (1..).zip(
        "January February March April May June July August September October November December"
            .split(' '),
    ) {
        let sources = [SummarySource {
            text: "Olga moved to the coast.",
            date: (2026, month, 1),
        }];
        let found = |summary: String| unsupported(&summary, &sources, &Allowed::default());
        assert!(
            found(format!("In {name} 2026 Olga moved.")).is_empty(),
            "{name}"
        );
        assert_eq!(found(format!("In {name} 2027 Olga moved.")), ["2027"]);
    }
    // A date of a text counts as well.
    passes(
        &["Olga moved on 5 May 2024."],
        &["Olga moved on 2024-05-05, in May 2024."],
    );
}

#[test]
fn spec_3_9_signs_and_quotations() {
    passes(
        &["It was -5 °C, 80 % damp, +2 later. Rosa said: “Don't touch the jars, please.”"],
        &[
            "80% damp at −5°; +2.",
            "Rosa said \"don’t touch the jars\".",
            "Rosa: 'Don't touch the jars.'",
        ],
    );
    refused(
        &["It was 5 degrees, 10-12 jars, for 4 euros. Rosa said keep the jars, and do not sell."],
        &[
            ("It was -5.", &["-"]),
            ("It was 5°.", &["°"]),
            ("For €4, £4, 4 ₺.", &["€", "£", "₺"]),
            ("Rosa said «sell the jars».", &["«sell the jars»"]),
            ("Rosa said “keep the jar”.", &["“keep the jar”"]),
            (
                "Rosa said 'Keep, the jars' yesterday.",
                &["'Keep, the jars'", "yesterday"],
            ),
        ],
    );
    // What is quoted from a source is not checked further; what follows it is.
    passes(
        &["Rosa wrote: \"Not today, Sven, 7 times.\" Then she left."],
        &["Rosa: \"Not today, Sven, 7 times.\" Then nothing."],
    );
    refused(
        &["Rosa said \"keep it\"."],
        &[("\"Keep it\" Gustav said.", &["Gustav"])],
    );
}

#[test]
fn spec_3_9_names_are_checked_where_the_language_marks_them() {
    refused(
        &["Rosa met the Miller family in Bergen, and Anna-Lena O'Brien."],
        &[
            ("Gustav met the family.", &[]),
            ("Family: Gustav and Rosa.", &[]),
            (
                "Rosa met Gustav's family; Helga too (Nils).",
                &["Gustav", "Helga", "Nils"],
            ),
            ("In Bergen I met ROSA's Millers and O'Brien.", &[]),
            ("Dr. Okafor met Rosa. J. Smith too.", &["Okafor", "Smith"]),
        ],
    );
    let sources = [SummarySource {
        text: "She keeps the bees there.",
        date: DATE,
    }];
    let allowed = Allowed {
        name: "Ivy",
        system_prompt: "You are the memory of Mr. Novak, and mark what he says.",
        ..Allowed::default()
    };
    assert_eq!(
        unsupported(
            "She and Ivy and Novak keep the bees; Tom does.",
            &sources,
            &allowed
        ),
        ["Tom"]
    );
    passes(
        &["Anna traf den Nachbarn und die Kinder."],
        &["Anna traf die Familie und die Kinder."],
    );
    passes(
        &["Marek poszedł z Olgą do Krakowa i nie pali."],
        &["Nie pali: w Krakowie byli Marek i Olga."],
    );
    refused(
        &["Marek poszedł z Olgą do Krakowa."],
        &[("W Krakowie był Marek z Ewą.", &["Ewą"])],
    );
    passes(
        &["Ольга и Иван живут в Москве."],
        &["Она с Иваном жила под Москвой."],
    );
    refused(
        &["Ольга и Иван живут в Москве."],
        &[("Она с Петром живёт в Москве.", &["Петром"])],
    );
    passes(
        &["Elif ve Can İzmir'de yaşıyor."],
        &["Şimdilik İzmir'den Can ve Elif."],
    );
}

#[test]
fn spec_3_9_negations_in_every_language() {
    for (source, with, word) in [
        (
            "Rosa sells the plums.",
            "Rosa doesn't sell the plums.",
            "doesn't",
        ),
        (
            "Rosa verkauft die Pflaumen.",
            "Rosa verkauft keine Pflaumen.",
            "keine",
        ),
        (
            "Rosa vend les prunes avec son frère.",
            "Rosa n'a vendu que les prunes de son frère.",
            "n'a",
        ),
        (
            "Rosa vende las ciruelas.",
            "Rosa nunca vende las ciruelas.",
            "nunca",
        ),
        (
            "Rosa bor med sin syster.",
            "Rosa bor inte med sin syster.",
            "inte",
        ),
        (
            "Роза продаёт сливы и груши.",
            "Роза не продаёт сливы и груши.",
            "не",
        ),
        (
            "Rosa çayı seviyor ve içiyor.",
            "Rosa çayı sevmiyor ve içiyor.",
            "sevmiyor",
        ),
        ("罗莎卖李子。", "罗莎不卖李子。", "不"),
        ("ローザは梅を売る。", "ローザは梅を売らない。", "ない"),
        ("로사는 자두를 판다.", "로사는 자두를 팔지 않는다.", "않"),
        ("روزا تبيع الخوخ", "روزا لا تبيع الخوخ", "لا"),
    ] {
        assert_eq!(check(&[source], with), [word], "{with}");
        assert!(check(&[with], with).is_empty());
    }
    passes(&["罗莎卖李子。"], &["罗莎特别喜欢卖李子，非常多。"]);
    passes(
        &["Rosa sells plums."],
        &["Rosa (No. 1?)".trim_end_matches(" (No. 1?)")],
    );
}

#[test]
fn spec_3_9_words_of_relative_time_are_refused_but_for_the_originals_own() {
    let sources = ["Rosa came yesterday and stays until next week. She said \"see you tomorrow\"."];
    refused(
        &sources,
        &[
            ("Rosa came yesterday.", &["yesterday"]),
            ("Rosa stays until next week.", &["next week"]),
            (
                "Rosa left two weeks ago, is now there, these days.",
                &["ago", "now", "these days"],
            ),
            ("Rosa said \"see you tomorrow\".", &[]),
            (
                "Rosa stays at last, the next of kin, in the last week of March.",
                &[],
            ),
        ],
    );
    let own = Allowed {
        relative_time_of: Some(sources[0]),
        ..Allowed::default()
    };
    let source = [SummarySource {
        text: sources[0],
        date: DATE,
    }];
    assert_eq!(
        unsupported(
            "Rosa came yesterday, stays until next week, leaves soon.",
            &source,
            &own
        ),
        ["soon"]
    );
    for (text, found) in [
        (
            "Sie kam vor zwei Wochen und am Morgen letzten Montag.",
            vec!["vor zwei Wochen", "letzten Montag"],
        ),
        (
            "Elle est venue la semaine dernière, il y a deux ans.",
            vec!["semaine dernière", "il y a deux ans"],
        ),
        (
            "Ella vino el mes pasado por la mañana, hace dos años.",
            vec!["mes pasado", "hace dos años"],
        ),
        (
            "Lei è venuta due anni fa con la madre.",
            vec!["due anni fa"],
        ),
        (
            "Ze kwam twee weken geleden met haar zus.",
            vec!["twee weken geleden"],
        ),
        (
            "Hon kom för två år sedan med sin syster.",
            vec!["två år sedan"],
        ),
        (
            "Przyszła dwa lata temu, a w zeszłym tygodniu nie.",
            vec!["dwa lata temu", "zeszłym tygodniu"],
        ),
        (
            "Она пришла на прошлой неделе и сейчас спит.",
            vec!["прошлой неделе", "сейчас"],
        ),
        ("Geçen hafta geldi ve çok çalışıyor.", vec!["Geçen hafta"]),
        ("她上周来了。", vec!["上周"]),
        ("先週来た。", vec!["先週"]),
        ("그녀는 지난주에 왔다.", vec!["지난주"]),
        ("جاءت الأسبوع الماضي", vec!["الأسبوع الماضي"]),
    ] {
        let found_here: Vec<String> = check(&[text], text);
        assert_eq!(found_here, found, "{text}");
    }
}

#[test]
fn spec_3_9_a_name_is_the_same_in_every_case_form_and_is_no_other_name() {
    for (source, summary) in [
        (
            "I met Zoé and the harbour crew of Italy and America.",
            "There ZOE met the Italian and American Harbours.",
        ),
        (
            "Marek, Olga i Paweł byli w Krakowie.",
            "Byli z Markiem, przy Oldze i Pawle w Krakowa.",
        ),
        (
            "Ольга и Павел были там с Анной.",
            "Там были и Ольгой, Павла, и Анне.",
        ),
        ("Minä asun: Helsinki.", "Minä asun Helsinkiin."),
        (
            "Rosa bor med Sven och hennes hund.",
            "Där bor Svens hund och Rosas.",
        ),
    ] {
        assert_eq!(check(&[source], summary), Vec::<String>::new(), "{summary}");
    }
    for (source, summary, name) in [
        (
            "The cat of Martha likes the mat.",
            "The cat of Martin likes the mat.",
            "Martin",
        ),
        (
            "The cat of Julia likes the mat.",
            "The cat of Julian likes the mat.",
            "Julian",
        ),
        (
            "The cat of Paul likes the mat.",
            "The cat of Paula likes the mat.",
            "Paula",
        ),
        (
            "El gato de María es muy grande.",
            "El gato de Mario es muy grande.",
            "Mario",
        ),
        (
            "Kot jest u Marka, nie u niej.",
            "Kot jest u Marty, nie u niej.",
            "Marty",
        ),
        (
            "Это кот и собака Марии.",
            "Это кот и собака Марины.",
            "Марины",
        ),
    ] {
        assert_eq!(check(&[source], summary), [name], "{summary}");
    }
}

#[test]
fn spec_3_9_a_quotation_is_text_in_quotation_marks() {
    for (text, quoted) in [
        (
            "she said \"keep it\" and 'go on'",
            vec!["\"keep it\"", "'go on'"],
        ),
        (
            "the jars: “keep ‘the rest’ for it” – it's",
            vec!["“keep ‘the rest’ for it”"],
        ),
        (
            "„behalte es“, sagte sie und »gut«",
            vec!["„behalte es“", "»gut«"],
        ),
        (
            "« garde-le », ”behåll den”",
            vec!["« garde-le »", "”behåll den”"],
        ),
        ("「残す」と言った", vec!["「残す」"]),
        (
            "in the summers, 's avonds, rock 'n roll, the plums' jars",
            vec![],
        ),
        ("\"unclosed and 'so", vec![]),
        ("\"\" '' “”", vec![]),
    ] {
        assert_eq!(check(&["x"], text), quoted, "{text}");
    }
}

#[test]
fn spec_3_9_figures_are_read_as_they_are_written() {
    // Each is another way to write the first.
    for same in [
        &[
            "1,200",
            "1200",
            "1'200",
            "1’200",
            "1.200",
            "1\u{202f}200",
            "١٬٢٠٠",
            "１２００",
            "01200",
        ][..],
        &["3.5", "3,5", "3.50", "03.5"],
        &["1,234,567.80", "1.234.567,8", "1'234'567.8"],
        &["120000", "1,20,000"],
        &["½", "1/2"],
        &["7:30", "07:30", "7h30", "7.30"],
        &["10-12", "10–12", "10, 12"],
        &["0.5", ".5"],
    ] {
        for source in same {
            for summary in same {
                let found = check(
                    &[&format!("it has {source} m")],
                    &format!("it has {summary} m"),
                );
                assert!(found.is_empty(), "{summary} of {source}: {found:?}");
            }
        }
    }
    // No two of these are the same.
    let others = [
        "3.5",
        "35",
        "7:30",
        "7:31",
        "1200",
        "120",
        "v2.3.1",
        "14.3.2025",
        "1/3",
        "½",
    ];
    for (at, source) in others.iter().enumerate() {
        for (other, summary) in others.iter().enumerate().filter(|(other, _)| *other != at) {
            let found = check(
                &[&format!("it has {source} m")],
                &format!("it has {summary} m"),
            );
            assert!(!found.is_empty(), "{summary} of {source} {other}");
        }
    }
    passes(
        &["COVID-19, 10 - 12 well-known jars."],
        &["- COVID-19\n+ 10-12 jars"],
    );
    refused(
        &["1 5 2 6."],
        &[(
            "-5 and −5, +2%, €6, 20°: ＄5",
            &["-", "−", "+", "%", "€", "20", "°", "＄"],
        )],
    );
}

#[test]
fn spec_3_9_summaries_of_the_written_set() {
    let set: Vec<serde_json::Value> = serde_json::from_str(include_str!("summaries.json")).unwrap();
    // Of each language: refused ones that pass, refused ones, honest ones that are refused, honest ones.
    let mut table: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    for case in &set {
        let sources: Vec<SummarySource<'_>> = case["sources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|source| {
                let date: Vec<i32> = source["date"].as_str().unwrap()[..10]
                    .split('-')
                    .map(|part| part.parse().unwrap())
                    .collect();
                SummarySource {
                    text: source["text"].as_str().unwrap(),
                    date: (date[0], date[1] as u8, date[2] as u8),
                }
            })
            .collect();
        let summary = case["summary"].as_str().unwrap();
        let found = unsupported(summary, &sources, &Allowed::default());
        let counts = table
            .entry(case["language"].as_str().unwrap().to_owned())
            .or_default();
        let is_refused = case["verdict"] == "refused";
        let at = if is_refused { 0 } else { 2 };
        counts[at + 1] += 1;
        if is_refused == found.is_empty() {
            counts[at] += 1;
            println!(
                "{} {} {summary}\n    {found:?} {}",
                case["id"], case["verdict"], case["why"]
            );
        }
    }
    let mut sum = [0; 4];
    println!("language  passed of refused  refused of honest");
    for (language, counts) in &table {
        println!(
            "{language:8} {:8} of {:3} {:12} of {:3}",
            counts[0], counts[1], counts[2], counts[3]
        );
        sum.iter_mut()
            .zip(counts)
            .for_each(|(sum, count)| *sum += count);
    }
    println!(
        "all      {:8} of {:3} {:12} of {:3}",
        sum[0], sum[1], sum[2], sum[3]
    );
    assert_eq!(sum[0], 0, "summaries to be refused pass");
    assert!(
        sum[2] * 20 <= sum[3],
        "more than 5 % of honest summaries are refused"
    );
}

#[test]
fn spec_3_9_a_part_of_a_number_and_a_number_of_one_character_are_numbers() {
    let sources = [SummarySource {
        text: "It cost 1,300 euros, 2.5 a piece, and he said \"in 2019, not 9\".",
        date: DATE,
    }];
    let lacking = |summary| unsupported(summary, &sources, &Allowed::default());
    assert_eq!(lacking("It cost \"300\" euros."), ["\"300\""]);
    assert_eq!(lacking("It cost \"5\" a piece."), ["\"5\""]);
    assert_eq!(lacking("He said \"in 2019, not 9\"."), [""; 0]);
    assert_eq!(lacking("It cost ③ euros, m² and Ⅻ."), ["③", "²", "Ⅻ"]);
    assert_eq!(lacking("Costs:\n1. Euros"), ["1"]);
    // The numbers of a list are no exception: nothing tells them from what they number.
    assert_eq!(lacking("Costs:\n1. Euros\n2. Pieces"), ["1", "2"]);
}
