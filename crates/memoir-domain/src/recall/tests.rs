use super::*;
use crate::text::wiped::WipedLists;
use crate::{
    log::audit::Change,
    memory::{ArchivedBy, Place, Tags, test_memories, test_memory},
};

fn query_of(text: &str) -> RecallQuery {
    RecallQuery {
        text: text.into(),
        limit: 10,
        ..RecallQuery::default()
    }
}

fn numbers(found: &[RecallMatch]) -> Vec<u64> {
    found.iter().map(|found| found.number.0).collect()
}

fn search(memories: &[Memory], query: &RecallQuery) -> Vec<u64> {
    let found = if is_literal(query.text.expose()) {
        literal_matches(memories, query, None)
    } else {
        RecallIndex::of(memories).search(&query.with_phrases(memories), None)
    };
    numbers(&found)
}

fn find(texts: &[impl AsRef<str>], query: &str) -> Vec<u64> {
    search(&test_memories(texts), &query_of(query))
}

fn paged(index: &RecallIndex, query: &RecallQuery, near: Option<&Vector>) -> Vec<u64> {
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let page = index.search_near(query, near, after);
        let Some(last) = page.last() else {
            return pages;
        };
        after = Some(last.place());
        pages.extend(numbers(&page));
    }
}

const NOTHING: [u64; 0] = [];

#[test]
fn spec_2_8_a_match_by_stop_words_alone_is_not_returned_where_others_exist() {
    let texts = [
        "The dog is called Rex.",
        "It is on the table.",
        "What is the matter?",
        "The dog sleeps in the kitchen.",
    ];
    assert_eq!(find(&texts, "what is the dog called?"), [1, 4]);
    let index = RecallIndex::of(&test_memories(&texts));
    let mut query = query_of("what is the dog called?");
    query.limit = 1;
    assert_eq!(paged(&index, &query, None), [1, 4]);
    // Newest first are the same ones.
    (query.limit, query.newest_first) = (10, true);
    assert_eq!(numbers(&index.search(&query, None)), [4, 1]);
    let index = near(&[
        ("What is the matter?", [0.0, 1.0]),
        ("Rosa keeps bees", [1.0, 0.1]),
    ]);
    let query = query_of("what is the honey like?");
    assert_eq!(numbers(&index.search(&query, None)), [1]);
    let found = index.search_near(&query, Some(&vector(&[1.0, 0.0])), None);
    assert_eq!(found[0].number, Number(2));
    assert!(found.iter().all(|one| !one.by_stop_words));
}

#[test]
fn spec_2_8_percent_and_underscore_are_literal() {
    let texts = [
        "100% sure",
        "1000 sure",
        "snake_case",
        "snakeXcase",
        "snake case",
    ];
    assert_eq!(find(&texts, "100%"), [1]);
    assert_eq!(find(&texts, "%"), [1]);
    assert_eq!(find(&texts, "_"), [3]);
    assert_eq!(find(&texts, "snake_case"), [3]);
    assert_eq!(find(&texts, "\"snake_case\""), [3]);
    assert_eq!(find(&["STRASSE", "Ольга"], "straße"), [1]);
    assert_eq!(find(&["STRASSE", "Ольга"], "ОЛЬГА"), [2]);
}

#[test]
fn spec_2_8_a_quoted_phrase_of_marks_must_occur_beside_words() {
    let texts = [
        "tea in the_pot",
        "Tea?!",
        "tea _ with ?!",
        "a _ alone",
        "tea",
    ];
    let sorted = |mut numbers: Vec<u64>| {
        numbers.sort_unstable();
        numbers
    };
    let found = |question: &str| sorted(find(&texts, question));
    assert_eq!(found("\"_\" tea"), [1, 3]);
    assert_eq!(found("tea «?!»"), [2, 3]);
    assert_eq!(found("\"_\" tea \"?!\""), [3]);
    assert_eq!(found("\"_\" \"?!\""), [3]);
    assert_eq!(found("\"_\" \"tea\""), [1, 3]);
    assert_eq!(found("\"~\" tea"), NOTHING);
    // A quote that nothing closes, and quotes around nothing, are no phrase.
    assert_eq!(found("tea \"_"), [1, 2, 3, 5]);
    assert_eq!(found("\" \" tea"), [1, 2, 3, 5]);
    let memories = test_memories(&texts);
    let index = RecallIndex::of(&memories);
    let mut query = query_of("\"_\" tea").with_phrases(&memories);
    query.limit = 1;
    assert_eq!(sorted(paged(&index, &query, None)), [1, 3]);
    let terms = &index.search(&query, None)[0].terms;
    let literal = MatchedTerm {
        term: "_".into(),
        found: FoundAs::Literal,
        weight: 0.0,
    };
    assert_eq!(terms[1..], [literal]);
}

#[test]
fn spec_2_8_any_script_is_found() {
    let texts = [
        "她每天早上喝龙井茶",
        "東京の猫カフェで働いている",
        "แมวของฉันชอบนอนบนโซฟา",
        "서울에서 고양이를 키운다",
        "Ева любит книги о море",
        "القطة تحب الكتب",
        "Der Haustürschlüssel liegt unter der Matte",
        "Zoé déteste la crème brûlée",
        "Party 🎉 for Noor",
        "The server listens on 127.0.0.1:8080, see crates/app/src/serve.rs",
        "Docs: https://docs.example.org/guide?page=2#top",
        "call getUserById before save_all()",
    ];
    for (question, number) in [
        ("她喜欢什么茶？龙井", 1),
        ("茶", 1),
        ("猫カフェはどこですか", 2),
        ("東京", 2),
        ("แมวชอบนอนที่ไหน", 3),
        ("고양이는 어디 있나요?", 4),
        ("книга про море", 5),
        ("كتب", 6),
        ("Schlüssel", 7),
        ("Wo sind die Schlüssel für die Haustür?", 7),
        ("zoe creme brulee", 8),
        ("🎉", 9),
        ("serve.rs", 10),
        ("127.0.0.1", 10),
        ("https://docs.example.org/guide?page=2#top", 11),
        ("docs.example.org", 11),
        ("getUserById", 12),
        ("getuserbyid", 12),
        ("user by id", 12),
        ("save_all", 12),
    ] {
        assert_eq!(find(&texts, question).first(), Some(&number), "{question}");
    }
}

#[test]
fn spec_2_8_the_newest_comes_first_within_a_tenth_of_the_score() {
    let texts = [
        "Mia lives in Oslo",
        "Mia lives in Rome",
        "Where Mia lives none knows, and none who asked her where it was that she lives was told",
    ];
    assert_eq!(find(&texts, "Where does Mia live?"), [2, 1, 3]);
    let mut dated = test_memories(&texts);
    dated[0].created_at = Timestamp::from_microseconds(0).unwrap().plus_days(9);
    assert_eq!(search(&dated, &query_of("Where does Mia live?")), [1, 2, 3]);
}

#[test]
fn spec_2_8_a_correction_comes_before_what_it_corrects_and_before_nothing_else() {
    let texts = [
        "The alarm code is 4471",
        "The staging database runs on host stage-2, port 5433",
        "The code of the alarm is 9023 now, since the burglary in the long winter of last year",
        "Staging moved to stage-4, still on port 5433",
        "The database of customers now has a host of its own",
        "Joaquin has been allergic to walnuts since he was a child in Braga",
        "Marta and Ines of the workshop upstairs are allergic to latex gloves now",
    ];
    assert_eq!(find(&texts, "What is the alarm code?")[..2], [3, 1]);
    assert_eq!(
        find(&texts, "Which host does the staging database run on?")[0],
        4
    );
    assert_eq!(find(&texts, "Is Joaquin allergic to walnuts?")[0], 6);
    // Asked in words that only the older one has.
    let texts = [
        "The parish of Viana still owes us 320 euros",
        "Rosa keeps bees",
        "The parish of Viana settled those 320",
    ];
    assert_eq!(find(&texts, "what is owed to us in euros")[..2], [3, 1]);
    assert_eq!(find(&texts, "\"still owes us\""), [1]);
    let index = RecallIndex::of(&test_memories(&texts));
    let found = index.search(&query_of("what is owed to us in euros"), None);
    assert_eq!(
        (found[0].corrects, found[1].corrects),
        (Some(Number(1)), None)
    );
}

#[test]
fn spec_2_8_a_correction_is_known_by_what_no_third_memory_is_about() {
    let mut texts = vec![
        "Nora takes levothyroxine every morning with a glass of water before breakfast",
        "Rosa keeps bees behind the house",
        "Since the visit in spring the doctor has raised levothyroxine by a half for a trial",
        "The door was replaced by the landlord",
    ];
    texts.extend(["The tram stops at the harbour"; 10]);
    // One such word where the question finds both, whatever else they say.
    assert_eq!(find(&texts, "levothyroxine breakfast")[..2], [3, 1]);
    // Two where it finds the older one alone.
    assert_eq!(find(&texts, "what is had before breakfast"), [1]);
    let mut raised = texts.clone();
    raised[2] = "Since the visit in spring the doctor has raised Nora's levothyroxine by a half for a trial";
    assert_eq!(find(&raised, "what is had before breakfast"), [3, 1]);
    // A subject of other memories too does not count; numbers and function words are no subject.
    raised.push("Nora's uncle takes levothyroxine too");
    assert_eq!(find(&raised, "what is had before breakfast"), [1]);
    let texts = [
        "Behind the barn there are 12 hens for us",
        "The bus behind 12 others is now blue",
    ];
    assert_eq!(find(&texts, "barn hens"), [1]);
    // Of several the one that shares most.
    let texts = [
        "The staging database runs on host stage-2, port 5433",
        "The database of customers, the one with all invoices and letters, now has a host of its own",
        "Staging moved to stage-4, still on port 5433",
    ];
    assert_eq!(find(&texts, "database host of staging"), [3, 1, 2]);
    // Where two characters are looked for together too.
    let mut texts = vec!["林晓的护照放在书房的抽屉里。", "她每天早上喝一杯龙井茶。"];
    texts.extend(
        ["护照已经移到保险箱里了。"]
            .iter()
            .chain(&["周末去爬山。"; 10]),
    );
    assert_eq!(find(&texts, "护照放在哪里？")[..2], [3, 1]);
}

#[test]
fn spec_2_8_range_kind_tag_and_origin_narrow_the_answer() {
    let mut memories = test_memories(&["tea", "tea", "tea"]);
    memories[1].place = Place::Journal;
    memories[1].saved_by.origin = Origin::External;
    memories[2].tags = Tags::parse(["Vow"]).unwrap();
    let with = |change: &dyn Fn(&mut RecallQuery)| {
        let mut query = query_of("tea");
        change(&mut query);
        search(&memories, &query)
    };
    let (at, journal) = (Some(memories[1].created_at), Some(Kind::Journal));
    assert_eq!(with(&|query| query.kind = journal), [2]);
    assert_eq!(with(&|query| query.origin = Some(Origin::External)), [2]);
    assert_eq!(with(&|query| query.origin = Some(Origin::Agent)), [3, 1]);
    assert_eq!(with(&|query| query.tag = Some("vow".into())), [3]);
    assert_eq!(with(&|query| query.since = at), [3, 2]);
    assert_eq!(with(&|query| (query.until, query.limit) = (at, 1)), [2]);
    // Narrowed before it is ranked: what does not fit takes no place.
    assert_eq!(with(&|query| (query.kind, query.limit) = (journal, 1)), [2]);
}

#[test]
fn spec_2_8_pages_hold_each_once() {
    let texts: Vec<String> = (0..150)
        .map(|number| {
            let change = if number % 11 == 3 {
                "moved now"
            } else {
                "kept"
            };
            format!("tea {} {} {change}", number % 7, "leaf ".repeat(number % 5))
        })
        .collect();
    let index = RecallIndex::of(&test_memories(&texts));
    for question in ["tea", "tea leaf 3", ""] {
        let mut whole = query_of(question);
        whole.limit = 200;
        let whole = numbers(&index.search(&whole, None));
        assert_eq!(whole.len(), 150);
        let pages = paged(&index, &query_of(question), None);
        assert_eq!(pages, whole, "{question}");
    }
}

#[test]
fn spec_2_8_for_a_prompt_nothing_must_occur_and_its_ends_count() {
    let texts = ["Rosa keeps bees", "The kiln is hot"];
    let index = RecallIndex::of(&test_memories(&texts));
    let pasted = "x ".repeat(15_000);
    let question = "Say \"how hot\" the kiln is";
    let first = RecallQuery::of_prompt(&format!("{question} {pasted}"), 5_000, 3);
    assert!(first.text.chars() <= 5_000);
    assert_eq!(index.search(&first, None)[0].number, Number(2));
    let query = RecallQuery::of_prompt(&format!("{pasted} {question}"), QUESTION_LIMIT, 3);
    assert!(query.text.chars() <= QUESTION_LIMIT);
    let found = index.search(&query, None);
    assert_eq!(found[0].number, Number(2));
    assert!(
        found
            .iter()
            .skip(1)
            .all(|one| !one.is_worth_showing(&found[0]))
    );
}

#[test]
fn spec_2_8_a_match_by_stop_words_alone_is_no_reason_to_tell_it() {
    let texts = [
        "The dog is called Rex.",
        "It is on the table.",
        "Rosa keeps the bees.",
        "Rosa no longer keeps the bees, since she moved to Bremen.",
    ];
    let index = RecallIndex::of(&test_memories(&texts));
    let told = |question: &str| {
        let found = index.search(&query_of(question), None);
        let best = found
            .iter()
            .max_by(|one, other| one.score.total_cmp(&other.score));
        let Some(best) = best.cloned() else {
            return Vec::new();
        };
        let told = found.into_iter().filter(|one| one.is_worth_showing(&best));
        let mut told: Vec<u64> = told.map(|one| one.number.0).collect();
        told.sort_unstable();
        told
    };
    assert_eq!(told("what is the dog called?"), [1]);
    assert_eq!(told("Where are the bees?"), [3, 4]);
    // Recall itself still finds them.
    for question in ["is it on?", "the", "It is on the table"] {
        assert!(!index.search(&query_of(question), None).is_empty());
    }
    assert_eq!(told("is it on?"), [0; 0]);
    assert_eq!(told("the"), [0; 0]);
    assert_eq!(told("the table"), [2]);
    assert_eq!(told(""), [0; 0]);
}

#[test]
fn spec_2_8_a_page_begins_behind_what_was_seen_though_others_came_and_went() {
    let texts: Vec<String> = (0..30).map(|number| format!("tea {number}")).collect();
    let mut index = RecallIndex::of(&test_memories(&texts));
    let first = index.search(&query_of("tea"), None);
    assert_eq!(numbers(&first), [30, 29, 28, 27, 26, 25, 24, 23, 22, 21]);
    let place = first[9].place();
    // The last one that was seen goes, and two better ones come.
    index.take(Number(21));
    for number in [41, 42] {
        index.put(&test_memory(number, "tea tea"));
    }
    let next = index.search(&query_of("tea"), Some(place));
    assert_eq!(numbers(&next), [20, 19, 18, 17, 16, 15, 14, 13, 12, 11]);
}

#[test]
fn spec_2_8_explain_tells_terms_their_weight_and_the_rank() {
    let index = RecallIndex::of(&test_memories(&["Linen thread", "Linen"]));
    let found = index.search(&query_of("linen thread"), None);
    assert_eq!(numbers(&found), [1, 2]);
    assert_eq!((found[0].rank, found[1].rank), (1, 2));
    let terms = found[0].terms.iter();
    let terms: Vec<&str> = terms.map(|term| term.term.expose()).collect();
    assert_eq!(terms, ["thread", "linen thread", "linen"]);
    let sum: f32 = found[0].terms.iter().map(|term| term.weight).sum();
    assert!((sum - found[0].score).abs() < 1e-4);
    assert_eq!(found[1].terms.len(), 1);
}

#[test]
fn spec_5_3_what_is_discarded_or_rewritten_is_found_no_more_and_what_is_shredded_ends_the_index() {
    let all = test_memories(&["The kiln is hot", "The loom is old", "猫と暮らす"]);
    let mut index = RecallIndex::of(&all);
    let fresh = |memories: &[Memory], text| {
        let memories = memories.iter().filter(|memory| memory.is_active());
        numbers(&RecallIndex::of(memories).search(&query_of(text), None))
    };
    let mut after = all.clone();
    after[0].discarded_at = Some(after[0].created_at);
    after[1].content = "The wheel is old".into();
    after[2].discarded_at = Some(after[2].created_at);
    let changes: Vec<Change> = all
        .iter()
        .zip(&after)
        .map(|(before, after)| Change::between(before.clone(), after).unwrap())
        .collect();
    assert!(index.follow(&changes));
    for text in ["kiln", "loom", "wheel", "old", "猫", "暮らす", "\"is old\""] {
        let found = numbers(&index.search(&query_of(text), None));
        assert_eq!(found, fresh(&after, text), "{text}");
    }
    // Brought back, as restoring and rewinding do.
    assert!(index.follow(&[Change::between(after[0].clone(), &all[0]).unwrap()]));
    assert_eq!(numbers(&index.search(&query_of("kiln"), None)), [1]);
    let mut shredded = after[1].clone();
    shredded.content = "".into();
    shredded.shredded_at = Some(shredded.created_at);
    shredded.discarded_at = shredded.shredded_at;
    assert!(!index.follow(&[Change::between(after[1].clone(), &shredded).unwrap()]));
    assert!(!format!("{index:?}").contains("wheel"));
}

proptest::proptest! {
    #[test]
    fn spec_2_8_no_question_and_no_text_ends_it(texts in proptest::collection::vec(".{0,60}", 0..6), question in ".{0,80}") {
        let memories = test_memories(&texts);
        let mut index = RecallIndex::of(&memories);
        let found = index.search(&query_of(&question), None);
        assert!(found.len() <= memories.len());
        for memory in &memories {
            let own = index.search(&query_of(&memory.content.expose().replace(QUOTES, " ")), None);
            // A question in a memory's own words finds it.
            assert!(own.is_empty() || numbers(&own).contains(&memory.number.0));
        }
        for memory in &memories {
            index.take(memory.number);
        }
        assert_eq!(index.search(&query_of(&question), None), []);
        assert_eq!(index.search(&query_of(""), None), []);
    }
}

fn vector(values: &[f32]) -> Vector {
    Vector::of(values).unwrap()
}

fn near<const N: usize>(texts: &[(impl AsRef<str>, [f32; N])]) -> RecallIndex {
    let words: Vec<&str> = texts.iter().map(|(text, _)| text.as_ref()).collect();
    let mut index = RecallIndex::of(&test_memories(&words));
    for (at, (_, values)) in texts.iter().enumerate() {
        assert!(index.put_vector((Number(at as u64 + 1), at as u32), &vector(values)));
    }
    index
}

fn find_near(index: &RecallIndex, query: &RecallQuery, values: &[f32]) -> Vec<u64> {
    numbers(&index.search_near(query, Some(&vector(values)), None))
}

#[test]
fn spec_2_8_words_and_meaning_are_merged_by_rank() {
    let index = near(&[
        ("The kiln is hot", [0.0, 1.0]),
        ("Rosa keeps bees", [1.0, 0.1]),
        ("A kiln of brick", [0.9, 0.5]),
    ]);
    let query = query_of("kiln");
    assert_eq!(numbers(&index.search(&query, None)), [3, 1], "by words");
    assert_eq!(
        find_near(&index, &query, &[1.0, 0.0]),
        [3, 1, 2],
        "what both have far ahead, then what either has"
    );
    let found = index.search_near(&query, Some(&vector(&[1.0, 0.0])), None);
    assert_eq!((found[2].near, found[2].score), (Some(1), 0.0));
    let [meaning] = found[2].terms.as_slice() else {
        panic!("found by its meaning alone")
    };
    assert_eq!(meaning.found, FoundAs::Meaning);
    assert!((0.99..1.0).contains(&meaning.weight), "{}", meaning.weight);
    // What must occur must, and nothing is near where nothing is asked.
    let bound = query_of("\"kiln\"");
    assert_eq!(find_near(&index, &bound, &[1.0, 0.0]), [3, 1]);
    let everything = query_of("");
    assert_eq!(find_near(&index, &everything, &[1.0, 0.0]), [3, 2, 1]);
    let found = index.search_near(&everything, Some(&vector(&[1.0, 0.0])), None);
    assert!(found.iter().all(|found| found.near.is_none()));
}

#[test]
fn spec_2_8_what_is_near_in_meaning_is_narrowed_too_and_paged() {
    let texts: Vec<(String, [f32; 2])> = (0..30)
        .map(|at| (format!("Note {at} of words"), [1.0, at as f32]))
        .collect();
    let index = near(&texts);
    let mut query = query_of("notes");
    query.kind = Some(Kind::Journal);
    assert_eq!(find_near(&index, &query, &[1.0, 0.0]), NOTHING);
    query.kind = None;
    query.limit = 40;
    let question = vector(&[1.0, 0.0]);
    let whole = numbers(&index.search_near(&query, Some(&question), None));
    query.limit = 7;
    assert_eq!(paged(&index, &query, Some(&question)), whole);
    assert_eq!(whole.len(), 30);
}

#[test]
fn spec_2_8_among_thousands_the_nearest_are_those_of_all() {
    // So many that sides are compared first.
    const COUNT: usize = 9_000;
    let mut state = 5_u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    };
    // All have much in common, as with many models, and one dimension that is large with all.
    let mut drawn = || {
        let mut values: Vec<f32> = (0..96).map(|_| 0.8 + draw()).collect();
        values[7] = 12.0;
        values
    };
    let question = drawn();
    let mut all: Vec<Vec<f32>> = (0..COUNT).map(|_| drawn()).collect();
    for planted in 1..=5 {
        // The further, the later.
        let other = drawn();
        let pairs = question.iter().zip(&other);
        let mixed = pairs.map(|(own, other)| own + (other - own) * planted as f32 / 10.0);
        all[planted * 500] = mixed.collect();
    }
    let texts: Vec<String> = (0..COUNT).map(|at| format!("word{at}")).collect();
    let mut index = RecallIndex::of(&test_memories(&texts));
    for (at, values) in all.iter().enumerate() {
        assert!(index.put_vector((Number(at as u64 + 1), at as u32), &vector(values)));
    }
    let cosine = |one: &[f32], other: &[f32]| {
        let dot =
            |one: &[f32], other: &[f32]| -> f32 { one.iter().zip(other).map(|(a, b)| a * b).sum() };
        dot(one, other) / (dot(one, one) * dot(other, other)).sqrt()
    };
    let mut nearest: Vec<u64> = (1..=COUNT as u64).collect();
    nearest.sort_by(|one, other| {
        let near = |number: u64| cosine(&question, &all[number as usize - 1]);
        near(*other).total_cmp(&near(*one))
    });
    let mut query = query_of("elsewhere");
    query.limit = 50;
    let found = find_near(&index, &query, &question);
    assert_eq!(found[..5], [501, 1_001, 1_501, 2_001, 2_501]);
    assert_eq!(nearest[..5], found[..5]);
    let missed = nearest[..20].iter().filter(|one| !found.contains(one));
    assert_eq!(missed.count(), 0, "{nearest:?} {found:?}");
    // One that goes and comes again has its sides anew.
    index.take(Number(501));
    assert_eq!(find_near(&index, &query, &question)[0], 1_001);
    index.put(&test_memory(501, "word500"));
    assert!(index.put_vector(index.without_vector()[0], &vector(&all[500])));
    assert_eq!(find_near(&index, &query, &question)[0], 501);
    query.since = Some(test_memory(1_001, "").created_at);
    let found = find_near(&index, &query, &question);
    assert_eq!(
        found[..2],
        [1_001, 1_501],
        "narrowed before they are chosen"
    );
}

#[test]
fn spec_5_3_a_vector_goes_with_the_text_that_it_is_of() {
    let mut index = near(&[("The kiln is hot", [0.0, 1.0]), ("Rosa", [1.0, 0.0])]);
    assert!(index.without_vector().is_empty());
    let query = query_of("honey");
    assert_eq!(find_near(&index, &query, &[1.0, 0.0]), [2, 1]);
    index.put(&test_memory(2, "Rosa keeps bees"));
    let lacking = index.without_vector();
    assert_eq!(lacking, [(Number(2), 2)]);
    assert_eq!(find_near(&index, &query, &[1.0, 0.0]), [1]);
    index.take(Number(1));
    assert_eq!(find_near(&index, &query, &[1.0, 0.0]), NOTHING);
    let values = vector(&[1.0, 0.0]);
    assert!(!index.put_vector((Number(1), 0), &values), "gone");
    // One that was made of an earlier text is not put on the text that came meanwhile.
    index.put(&test_memory(2, "Rosa keeps hens"));
    assert!(!index.put_vector(lacking[0], &values), "of another text");
    assert_eq!(find_near(&index, &query, &[1.0, 0.0]), NOTHING);
    // The place that became free is taken again.
    assert!(index.put_vector(index.without_vector()[0], &vector(&[1.0, 1.0])));
    assert_eq!(find_near(&index, &query, &[1.0, 0.0]), [2]);
    assert_eq!(index.vector_dimensions(), Some(2));
    index.forget_vectors();
    assert_eq!(index.vector_dimensions(), None);
    assert_eq!(find_near(&index, &query, &[1.0, 0.0]), NOTHING);
}

#[test]
fn spec_2_8_vectors_of_another_length_are_never_compared() {
    let mut index = near(&[("The kiln is hot", [0.0, 1.0]), ("Rosa", [1.0, 0.0])]);
    assert!(!index.put_vector((Number(1), 0), &vector(&[1.0, 0.0, 0.0])));
    assert_eq!(
        find_near(&index, &query_of("kiln"), &[1.0, 0.0, 0.0]),
        [1],
        "by words alone"
    );
}

#[test]
fn spec_5_1_only_a_direction_is_a_vector_and_it_prints_its_length_alone() {
    for values in [
        vec![],
        vec![0.0, 0.0],
        vec![1.0, f32::NAN],
        vec![f32::INFINITY, 1.0],
        vec![1.0; DIMENSIONS_LIMIT + 1],
    ] {
        assert!(Vector::of(&values).is_none(), "{} numbers", values.len());
    }
    let one = vector(&[0.25, -0.5, 0.0]);
    assert_eq!(format!("{one:?}"), "Vector(3 dimensions)");
    assert_eq!(one.to_bytes(), [64, 129, 0]);
    let again = Vector::from_bytes(&one.to_bytes()).unwrap();
    assert_eq!(again.to_bytes(), one.to_bytes());
    assert!(Vector::from_bytes(&[]).is_none() && Vector::from_bytes(&[0, 0]).is_none());
}

#[test]
fn spec_2_8_a_correction_in_other_words_comes_before_what_it_corrects() {
    let index = near(&[
        ("Rui studies medicine in Coimbra", [1.0, 0.2, 0.0]),
        ("The kiln is hot", [0.0, 0.0, 1.0]),
        ("He has meanwhile taken up law instead", [1.0, 0.5, 0.0]),
    ]);
    let query = query_of("subject");
    let found = index.search_near(&query, Some(&vector(&[1.0, -0.3, 0.0])), None);
    assert_eq!(numbers(&found)[..2], [3, 1]);
    assert_eq!(found[0].corrects, Some(Number(1)));
    // What is nearer to the question than to the other does not.
    let found = index.search_near(&query, Some(&vector(&[1.0, 0.25, 0.0])), None);
    assert_eq!(numbers(&found)[..2], [1, 3]);
}

#[test]
fn spec_2_8_a_place_that_no_page_gave_is_behind_all_that_is_found() {
    let index = RecallIndex::of(&test_memories(&["Linen thread", "Wool"]));
    let place = RecallPlace {
        seen: usize::MAX,
        last: Number(3),
        before: None,
    };
    assert!(index.search(&query_of("linen"), Some(place)).is_empty());
}

#[test]
fn spec_6_6_matches_are_ordered_by_date_on_request_and_narrowed_to_constitutional_ones() {
    let mut all = test_memories(&["Linen, linen, linen", "Wool", "Linen and wool", "Silk"]);
    all[0].protected_seq = Some(1);
    let index = RecallIndex::of(&all);
    let newest = |text: &str| RecallQuery {
        newest_first: true,
        ..query_of(text)
    };
    assert_eq!(numbers(&index.search(&query_of("linen"), None)), [1, 3]);
    assert_eq!(numbers(&index.search(&newest("linen"), None)), [3, 1]);
    assert_eq!(numbers(&index.search(&newest(""), None)), [4, 3, 2, 1]);
    let mut first = newest("linen");
    first.limit = 1;
    let place = index.search(&first, None)[0].place();
    assert_eq!(numbers(&index.search(&first, Some(place))), [1]);
    for (protected, expected) in [(true, vec![1]), (false, vec![4, 3, 2])] {
        let mut query = newest("");
        query.protected = Some(protected);
        assert_eq!(numbers(&index.search(&query, None)), expected);
    }
}

fn replaced(number: u64, text: &str, by: u64) -> Memory {
    let memory = test_memory(number, text);
    let at = memory.created_at;
    memory.archived(Some(Number(by)), ArchivedBy::Replaced, at)
}

#[test]
fn spec_2_8_a_memory_that_was_replaced_ranks_directly_after_the_one_that_replaced_it() {
    let memories = [
        replaced(1, "Rui studies medicine in Coimbra", 2),
        replaced(2, "Rui studies law in Coimbra", 5),
        test_memory(
            3,
            "Coimbra has a medicine faculty where Ana studies medicine",
        ),
        test_memory(4, "The kiln is hot"),
        test_memory(5, "Rui studies art"),
    ];
    let index = RecallIndex::of(&memories);
    let found = index.search(&query_of("Rui studies medicine in Coimbra"), None);
    assert_eq!(
        numbers(&found),
        [5, 2, 1, 3],
        "where the best of them ranks"
    );
    let now = |found: &RecallMatch| found.replaced.map(|mark| (mark.until, mark.now.0));
    let date = |number: usize| memories[number - 1].created_at;
    assert_eq!(now(&found[0]), None);
    assert_eq!(now(&found[1]), Some((date(5), 5)));
    assert_eq!(
        now(&found[2]),
        Some((date(2), 5)),
        "of the one that it is under"
    );
    // The next one of the chain that is found.
    let found = index.search(&query_of("medicine \"Rui studies\""), None);
    assert_eq!(numbers(&found), [5, 2, 1]);
    let found = index.search(&query_of("medicine Coimbra"), None);
    assert_eq!(numbers(&found), [3, 2, 1], "the last one is not found");
    let found = literal_matches(&memories, &query_of("s"), None);
    assert_eq!(numbers(&found)[..3], [5, 2, 1]);
    assert_eq!(now(&found[2]), Some((date(2), 5)));
    let mut archival = query_of("");
    archival.kind = Some(Kind::Archival);
    let found = index.search(&archival, None);
    assert_eq!(numbers(&found), [2, 1]);
    assert!(found.iter().all(|found| found.replaced.is_some()));
}

#[test]
fn spec_2_8_only_another_text_under_a_memory_that_is_no_summary_is_marked() {
    let mut summary = test_memory(4, "Rui studied in Coimbra");
    summary.is_summary = true;
    let mut memories = vec![
        replaced(1, "Rui studies  medicine in Coimbra!", 2),
        test_memory(2, "Rui studies medicine in Coimbra."),
        replaced(3, "Rui moved to Coimbra", 4),
        summary,
        replaced(5, "Rui rents in Coimbra", 6),
        test_memory(6, "Rui owns a flat"),
    ];
    memories[5].discarded_at = Some(memories[5].created_at);
    let index = RecallIndex::of(&memories);
    let query = query_of("Rui in Coimbra");
    for found in [
        index.search(&query, None),
        literal_matches(&memories, &query_of("Rui"), None),
    ] {
        assert!(
            found.iter().all(|found| found.replaced.is_none()),
            "{found:?}"
        );
    }
}

#[test]
fn spec_2_8_the_index_follows_what_a_memory_is_under() {
    let old = test_memory(1, "Rui studies medicine");
    let new = test_memory(2, "Rui studies law");
    let mut index = RecallIndex::of([&old, &new]);
    let query = query_of("medicine studies");
    let marks = |index: &RecallIndex| -> Vec<(u64, bool)> {
        let found = index.search(&query, None);
        let marked = found
            .iter()
            .map(|found| (found.number.0, found.replaced.is_some()));
        marked.collect()
    };
    assert_eq!(marks(&index), [(1, false), (2, false)]);
    let gone = replaced(1, "Rui studies medicine", 2);
    assert!(index.follow(&[Change::between(old.clone(), &gone).unwrap()]));
    assert_eq!(marks(&index), [(2, false), (1, true)]);
    let moved = gone.moved_under(None);
    assert!(index.follow(&[Change::between(gone, &moved).unwrap()]));
    assert_eq!(marks(&index), [(1, false), (2, false)]);
}

#[test]
fn spec_2_8_pages_with_replaced_memories_are_those_of_the_whole() {
    let memories: Vec<Memory> = (1..=200)
        .map(|number| match number % 3 {
            0 => test_memory(
                number,
                &format!("tea {}", "tea ".repeat(number as usize % 5)),
            ),
            _ => replaced(
                number,
                &format!("tea {number} {}", "x ".repeat(number as usize % 7)),
                number + 3 - number % 3,
            ),
        })
        .collect();
    let mut index = RecallIndex::of(&memories);
    for (memory, slot) in memories.iter().zip(0..) {
        let values = vector(&[1.0, memory.number.0 as f32 % 13.0]);
        assert!(index.put_vector((memory.number, slot), &values));
    }
    let question = vector(&[1.0, 0.0]);
    for near in [None, Some(&question)] {
        let mut query = query_of("tea");
        query.limit = 200;
        let whole = numbers(&index.search_near(&query, near, None));
        assert_eq!(whole.len(), 200);
        for (at, number) in whole
            .iter()
            .enumerate()
            .filter(|(_, number)| **number % 3 != 0)
        {
            let above = number + 3 - number % 3;
            let place = whole.iter().position(|other| *other == above);
            assert!(
                place.is_none_or(|place| place < at && at - place <= 2),
                "{number}"
            );
        }
        query.limit = 7;
        assert_eq!(paged(&index, &query, near), whole);
    }
}

#[test]
fn spec_2_8_dates_are_shown_to_the_minute_where_two_of_one_day_differ() {
    let at = |seconds: i64| test_memory(0, "").created_at.plus_seconds(seconds);
    assert_eq!(
        shown_dates(&[at(0), at(3_660), at(90_000), at(90_000)]),
        [
            "1970-01-01 00:00",
            "1970-01-01 01:01",
            "1970-01-02",
            "1970-01-02"
        ]
    );
    let in_one_minute = shown_dates(&[at(0), at(59)]);
    assert_eq!(in_one_minute, ["1970-01-01", "1970-01-01"]);
}

/// Texts in several languages, scripts and forms.
const STORED: [&str; 12] = [
    "Mia broke her wrist at the kiln on 3 May 2025",
    "The studio is closed on Mondays; call +49 30 1234",
    "Der Haustürschlüssel liegt beim Nachbarn",
    "Das Arbeitszimmer wird renoviert, der Schlüssel fehlt",
    "猫は毎朝六時に起きる。",
    "猫喜欢吃鱼",
    "Le chat de Zoé dort toujours sur le fauteuil",
    "The kiln now fires at cone 6, no longer cone 10",
    "user_id and config.toml belong to memoir-domain",
    "Кошка спит на кухне",
    "She moved: the studio is now in Leipzig, not in Berlin any more",
    "The kiln is hot",
];

/// Questions, the first of them empty, with bars between them.
const ASKED: &str = "|the kiln|\"studio is\"|where is the studio now?|Haustürschlüssel Schlüssel|Zimmer|猫|六時|кошки|\
    memoir-domain config.toml|wirst kilm|cone 10|chats|nothing of it";

/// An index with a history: memories that changed, moved under others, and left.
fn lived_index() -> RecallIndex {
    let mut all = test_memories(&STORED);
    let mut index = RecallIndex::default();
    all.iter().for_each(|memory| index.put(memory));
    all[0].place = Place::Archival(crate::memory::Archived {
        under: Some(Number(12)),
        at: Timestamp::MIN,
        by: ArchivedBy::Replaced,
    });
    all[2].tags = Tags::parse(["home"]).unwrap();
    index.put(&all[0]);
    index.begin_vectors("lab:small");
    for (at, memory) in all.iter().enumerate().skip(3) {
        let vector = Vector::of(&[at as f32 - 5.5, 1.0, -2.0]).unwrap();
        assert!(index.put_vector((memory.number, at as u32), &vector));
    }
    index.put(&all[2]);
    index.take(Number(6));
    index
}

#[test]
fn spec_5_3_a_stored_index_finds_the_same() {
    for index in [RecallIndex::default(), lived_index()] {
        let mut stored = index.to_bytes(true).to_vec();
        stored.extend([0; 100]);
        let mut read = RecallIndex::from_bytes(&stored).unwrap();
        let mut index = index;
        assert_eq!(read.vectors(), index.vectors());
        assert_eq!(read.vector_model(), index.vector_model());
        let without = RecallIndex::from_bytes(&index.to_bytes(false)).unwrap();
        assert_eq!((without.vectors(), without.vector_model()), (0, ""));
        assert_eq!(without.stored_vectors(), index.vectors());
        let new = test_memory(40, "A second kiln came to the studio in Leipzig");
        for is_later in [false, true] {
            if is_later {
                for index in [&mut index, &mut read] {
                    index.put(&new);
                    index.take(Number(8));
                }
            }
            assert_eq!(read.memories(), index.memories());
            for text in ASKED.split('|') {
                let found = index.search(&query_of(text), None);
                assert_eq!(read.search(&query_of(text), None), found, "{text}");
                let near = Vector::of(&[0.5, -1.0, 0.25]);
                let found = index.search_near(&query_of(text), near.as_ref(), None);
                assert_eq!(
                    read.search_near(&query_of(text), near.as_ref(), None),
                    found,
                    "{text}"
                );
            }
            for kind in Kind::ALL {
                let query = RecallQuery {
                    kind: Some(kind),
                    tag: (kind == Kind::Core).then(|| "Home".into()),
                    ..query_of("")
                };
                assert_eq!(read.search(&query, None), index.search(&query, None));
            }
        }
    }
}

#[test]
fn spec_5_3_what_is_no_stored_index_is_none() {
    let stored = lived_index().to_bytes(true);
    for length in 0..stored.len() {
        let read = RecallIndex::from_bytes(&stored[..length]);
        assert!(read.is_none(), "the first {length} bytes");
    }
    // A seal keeps other bytes away; to read them must not fail either.
    for at in 0..stored.len() {
        let mut other = stored.to_vec();
        other[at] = other[at].wrapping_add(1);
        let _ = RecallIndex::from_bytes(&other);
    }
}

/// Where this fails, the rules of words or the form have changed: raise `FORM` in `index/stored.rs`, so that no process
/// uses an index by other rules, and put the new value here.
#[test]
fn spec_5_3_another_form_or_other_rules_are_another_version() {
    let stored = lived_index().to_bytes(true);
    let digest = stored
        .iter()
        .fold(0xCBF2_9CE4_8422_2325_u64, |mixed, byte| {
            (mixed ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3)
        });
    assert_eq!(
        format!("{}: {digest:016x}", stored[0]),
        "5: 99c06a6c8275adb6"
    );
}

#[test]
fn lists_in_one_place_are_as_lists_apart() {
    let (mut lists, mut apart) = (WipedLists::default(), Vec::<Vec<u32>>::new());
    let mut seed = 7_u64;
    let mut below = |limit: usize| {
        seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (seed >> 33) as usize % limit
    };
    for number in 0..20_000 {
        match below(8) {
            0 => {
                lists.begin();
                apart.push(Vec::new());
            }
            _ if apart.is_empty() => {}
            one => {
                // Some are much longer than others.
                let list = below(apart.len()).min(below(apart.len()));
                if one == 1 && !apart[list].is_empty() {
                    let at = below(apart[list].len());
                    lists.remove(list, at);
                    apart[list].remove(at);
                } else {
                    lists.push(list, number);
                    apart[list].push(number);
                }
            }
        }
    }
    assert!(lists.iter().eq(apart.iter().map(Vec::as_slice)));
    assert_eq!(lists.count(), apart.iter().map(Vec::len).sum::<usize>());
    assert!(lists.bytes() < 3 * (lists.count() * 4 + lists.len() * 12));
}
