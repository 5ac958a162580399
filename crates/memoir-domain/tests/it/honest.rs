//! What careful models try in six sessions, at the first attempt and at the second, and how often they are
//! refused (SPEC 3.12, 3.14). Written by hand from what models do under these rules: they delete what another
//! memory says, put facts side by side, drop fillers, and now and then reword.
//!
//! `docs/kept.md` tells the figures.

use std::{collections::BTreeMap, fmt::Write, path::PathBuf};

use memoir_domain::session::Mode;
use serde_json::{Value, json};

use crate::world::World;

/// In the order of their numbers, one a day.
const MEMORIES: [&str; 60] = [
    "The user's name is Dana Okafor and she lives in Leeds.",
    "Dana works as a district nurse.",
    "Dana works as a district nurse in Harehills.",
    "I want to remember that Dana does not like being called Dee.",
    "Dana has two cats, Miso and Taro.",
    "Dana has got two cats whose names are Miso and Taro. Taro is afraid of the vacuum cleaner.",
    "Dana's brother Chidi lives in Lagos.",
    "Dana calls her brother Chidi every Sunday evening.",
    "The user mentioned that she prefers short answers in the morning.",
    "Dana prefers short answers in the morning.",
    "It is important to remember that Dana is allergic to penicillin.",
    "Dana is allergic to penicillin. In 2019 she was in hospital for three days because of it.",
    "We talked about her mother's garden for a long time, and she cried a little at the end.",
    "Her mother's garden had a pear tree that was cut down when the house was sold.",
    "Dana is learning to sail on the reservoir on Saturdays.",
    "On Saturdays Dana sails on the reservoir with Priya.",
    "The deploy of the clinic's rota app is done on Fridays after the staging tests have passed.",
    "Deploy the rota app only after the staging tests have passed.",
    "The rota app's database password is in the vault under kv/rota/db.",
    "Backups of the rota database run at 02:30 every night.",
    "Backups of the rota database run at 02:30 every night and are kept for 14 days.",
    "Dana said: \"Numbers first, then the reason.\"",
    "When Dana asks for a summary, put the numbers first and then the reason.",
    "Priya is Dana's colleague and she has a boat called Marigold.",
    "Priya's boat is called Marigold.",
    "Dana really likes the way that Priya laughs at bad weather.",
    "Dana wants to move to a flat with a balcony, but she is not in a hurry.",
    "Dana is saving 150 pounds a month for a flat.",
    "Dana is saving 150 pounds a month for a flat with a balcony.",
    "I promised Dana that I will never mention the accident in front of her sister.",
    "The tests of the rota app are run with `just test`.",
    "To run the tests of the rota app, use `just test`. To run only the fast ones, use `just test-fast`.",
    "Dana drinks her tea without sugar.",
    "Dana drinks her tea without sugar and with a lot of milk.",
    "Dana's sister Ada is a baker in York.",
    "Ada opened her bakery in York on 3 May 2021.",
    "Ada's bakery is closed on Mondays.",
    "Ada's bakery is closed on Mondays and Tuesdays.",
    "Today we finished the first version of the holiday calendar.",
    "The holiday calendar of the rota app has three colours: green for free, grey for asked, red for refused.",
    "Dana thinks that the red is too loud.",
    "Dana mag es nicht, wenn man sie am Telefon unterbricht.",
    "Ich habe gelernt, dass Dana am Telefon nicht gerne unterbrochen wird.",
    "Danas Großmutter kam aus Lübeck und hat Marzipan gemacht.",
    "A Dana le gusta el pan de su hermana más que ningún otro.",
    "A Dana le gusta el pan de su hermana más que ningún otro. Los domingos compra dos barras.",
    "Chidi parle français avec sa femme Aline.",
    "Chidi parle français avec sa femme Aline. Leur fille s'appelle Noor.",
    "Дана учит русский язык по вечерам.",
    "Дана учит русский язык по вечерам с учебником бабушки.",
    "达娜喜欢在水库边喝热茶。",
    "达娜真的很喜欢在水库边喝热茶。",
    "Dana's night shifts are usually from 21:00 to 07:30.",
    "After a night shift Dana does not want to be asked anything before noon.",
    "After a night shift, Dana does not want to be asked anything before noon, not even about the cats.",
    "Dana keeps the key of the medicine cupboard on a blue ribbon.",
    "The blue ribbon with the key was a present from a patient who died in 2020.",
    "Dana and Priya want to sail to Whitby next summer.",
    "the user likes tables better than long paragraphs",
    "User likes tables better than long paragraphs. User dislikes emoji.",
];

/// What is done where the answer is no and no text is offered.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Leave,
    /// The same again, with the code, since what goes is a filler.
    Confirm,
}

use Then::{Confirm, Leave};

/// The memories by their first numbers, and the text; none for a delete.
type Try = (&'static [u64], Option<&'static str>, Then);

const SESSIONS: [&[Try]; 6] = [
    &[
        (&[2], None, Leave),
        (
            &[9, 10],
            Some("Dana prefers short answers in the morning."),
            Leave,
        ),
        (&[4], Some("Dana does not like being called Dee."), Leave),
        (&[11], None, Leave),
        (
            &[5, 6],
            Some("Dana has two cats, Miso and Taro. Taro is afraid of the vacuum cleaner."),
            Leave,
        ),
    ],
    &[
        (&[20], None, Leave),
        (&[28], None, Leave),
        (
            &[7, 8],
            Some(
                "Dana's brother Chidi lives in Lagos. Dana calls her brother Chidi every Sunday evening.",
            ),
            Leave,
        ),
        (&[31], None, Leave),
        (&[25], None, Leave),
        (
            &[22, 23],
            Some(
                "Dana said: \"Numbers first, then the reason.\" When Dana asks for a summary, put the numbers first and then the reason.",
            ),
            Leave,
        ),
    ],
    &[
        (&[33], None, Leave),
        (
            &[26],
            Some("Dana likes the way that Priya laughs at bad weather."),
            Leave,
        ),
        (&[37], None, Leave),
        (
            &[35, 36],
            Some("Dana's sister Ada is a baker in York and opened her bakery on 3 May 2021."),
            Leave,
        ),
        (
            &[13, 14],
            Some(
                "We talked about her mother's garden for a long time, and she cried a little at the end. Her mother's garden had a pear tree that was cut down when the house was sold.",
            ),
            Leave,
        ),
        (
            &[17],
            Some(
                "The deploy of the clinic's rota app is on Fridays after the staging tests have passed.",
            ),
            Confirm,
        ),
    ],
    &[
        (&[45], None, Leave),
        (&[47], None, Leave),
        (&[49], None, Leave),
        (&[51], None, Leave),
        (
            &[42, 43],
            Some("Dana mag es nicht, wenn man sie am Telefon unterbricht."),
            Leave,
        ),
        (&[59], None, Leave),
        (&[54], None, Leave),
    ],
    &[
        (
            &[17, 18],
            Some(
                "The deploy of the clinic's rota app is on Fridays after the staging tests have passed. Deploy the rota app only after the staging tests have passed.",
            ),
            Leave,
        ),
        (
            &[19, 21],
            Some(
                "The rota app's database password is in the vault under kv/rota/db. Backups of the rota database run at 02:30 every night and are kept for 14 days.",
            ),
            Leave,
        ),
        (
            &[53],
            Some("Dana's night shifts are from 21:00 to 07:30."),
            Leave,
        ),
        (
            &[39],
            Some("We finished the first version of the holiday calendar."),
            Confirm,
        ),
        (
            &[40, 41],
            Some(
                "The holiday calendar of the rota app has three colours: green for free, grey for asked, red for refused. Dana thinks that the red is too loud.",
            ),
            Leave,
        ),
        (
            &[56, 57],
            Some(
                "Dana keeps the key of the medicine cupboard on a blue ribbon. The blue ribbon with the key was a present from a patient who died in 2020.",
            ),
            Leave,
        ),
    ],
    &[
        (
            &[32],
            Some(
                "To run the tests of the rota app, use `just test`; for only the fast ones, use `just test-fast`.",
            ),
            Leave,
        ),
        (
            &[27, 29],
            Some(
                "Dana wants to move to a flat with a balcony, but she is not in a hurry. Dana is saving 150 pounds a month for a flat with a balcony.",
            ),
            Leave,
        ),
        (
            &[1, 3],
            Some(
                "The user's name is Dana Okafor and she lives in Leeds. She works as a district nurse in Harehills.",
            ),
            Leave,
        ),
        (
            &[44],
            Some("Danas Großmutter kam aus Lübeck und machte Marzipan."),
            Leave,
        ),
        (
            &[15, 16],
            Some("Dana is learning to sail. On Saturdays Dana sails on the reservoir with Priya."),
            Leave,
        ),
        (
            &[16, 58],
            Some(
                "On Saturdays Dana sails on the reservoir with Priya. Dana and Priya want to sail to Whitby next summer.",
            ),
            Leave,
        ),
    ],
];

#[derive(Default)]
struct Figures {
    tried: u32,
    made: u32,
    refusals: BTreeMap<String, u32>,
    second: u32,
    told: String,
}

struct Replay {
    world: World,
    /// Who stands for whom.
    heirs: BTreeMap<u64, u64>,
    figures: Figures,
}

impl Replay {
    fn call(&mut self, ids: &[u64], text: Option<&str>, confirm: Option<&str>) -> Value {
        let mut ids: Vec<u64> = ids.iter().map(|id| self.heirs[id]).collect();
        ids.dedup();
        let (tool, mut call) = match (ids.as_slice(), text) {
            ([id], None) => ("delete_memory", json!({"id": id})),
            ([id], Some(text)) => ("update_memory", json!({"id": id, "content": text})),
            (_, text) => ("consolidate_memories", json!({"ids": ids, "content": text})),
        };
        if let Some(confirm) = confirm {
            call["confirm"] = json!(confirm);
        }
        let result = self.world.call_whole(tool, call);
        if result["type"] == "error" {
            let code = result["code"].as_str().unwrap().to_owned();
            let ids = format!("{ids:?}");
            writeln!(
                self.figures.told,
                "{tool} {ids} {code}: {}",
                result["error"]
            )
            .unwrap();
            *self.figures.refusals.entry(code).or_default() += 1;
        } else {
            self.figures.made += 1;
            let heir = result["carried_by"].as_u64().or(result["number"].as_u64());
            for own in self.heirs.values_mut().filter(|own| ids.contains(own)) {
                *own = heir.unwrap();
            }
        }
        result
    }

    fn make(&mut self, (ids, text, then): Try) {
        self.figures.tried += 1;
        let result = self.call(ids, text, None);
        if result["type"] != "error" {
            return;
        }
        if let Some(passes) = result["passes"].as_str() {
            self.figures.second += 1;
            let again = self.call(ids, Some(passes), None);
            assert_ne!(
                again["type"], "error",
                "what is said to pass passes: {again}"
            );
        } else if let Some(confirm) = result["confirm"].as_str().filter(|_| then == Confirm) {
            self.figures.second += 1;
            let again = self.call(ids, text, Some(confirm));
            assert_ne!(again["type"], "error", "{again}");
        }
    }
}

#[test]
fn spec_3_12_careful_models_are_seldom_refused_and_succeed_at_the_second_attempt() {
    let mut replay = Replay {
        world: World::under("limit").saving(&MEMORIES),
        heirs: (1..=MEMORIES.len() as u64)
            .map(|number| (number, number))
            .collect(),
        figures: Figures::default(),
    };
    for session in SESSIONS {
        replay.world.open(Mode::Full);
        session.iter().for_each(|one| replay.make(*one));
        replay.world.complete();
        replay.world.now = replay.world.now.plus_days(7);
    }
    replay.world.check_replay();
    let figures = replay.figures;
    let refused: u32 = figures.refusals.values().sum();
    let kinds: Vec<String> = figures
        .refusals
        .iter()
        .map(|(code, count)| format!("{count} `{code}`"))
        .collect();
    println!("{}", figures.told);
    let told = format!(
        "{} edits tried, {} made, {} of them at the second attempt; {refused} refusals ({}), {:.2} for each edit made",
        figures.tried,
        figures.made,
        figures.second,
        kinds.join(", "),
        f64::from(refused) / f64::from(figures.made),
    );
    println!("{told}");
    assert!(10 * refused <= 7 * figures.made);
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/kept.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(&told), "docs/kept.md tells other figures");
}
