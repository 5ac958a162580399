use memoir_details::*;
#[test]
fn smoke() {
    for (old, new) in [
        (vec!["Ann likes tea.", "Ann sings on Sundays."], "Ann likes tea and sings on Sundays."),
        (vec!["I do not trust Bob."], "I do trust Bob."),
        (vec!["The user mentioned that they prefer dark mode."], "They prefer dark mode."),
        (vec!["Our neighbour has a very loud parrot that swears whenever the postman rings."], "Our neighbour has loud parrot that swears whenever postman rings."),
    ] {
        let olds: Vec<Reading> = old.iter().map(|t| Reading::of(t)).collect();
        let r: Vec<Replaced> = olds.iter().map(|p| Replaced { present: p, wordings: &[] }).collect();
        let w = Reading::of(new);
        let j = judge(&r, &w);
        println!("{:?} {:?} {j:?} {:?}", w, j.added, j.losses.iter().map(|l| &l.lost).collect::<Vec<_>>());
        println!("   {:?}", passing(&r, &w));
    }
}
