//! English.

use super::Table;

pub(super) const TABLE: Table = Table {
    free: &[
        ("a an the", "The dog has a collar."),
        ("and", "Ann sings and Bob paints."),
        // Also a pronoun ("that is mine"), whose loss leaves the sentence broken, not false.
        ("that", "Ann says that she is ill."),
        ("very really", "The well is very deep."),
        // The present only: "was", "been" and "had" count. "am" counts because of "5 am".
        ("is are", "Bob is my husband."),
        ("have has", "I have cancer."),
        ("in on at", "The cup is on the table."),
    ],
    turning: &[
        ("no none nothing nobody nowhere neither nor cannot", "Nobody knows the code."),
        ("without hardly barely scarcely nearly almost", "I nearly died near Rome."),
        ("or either whether", "Take the red or the blue pill."),
        ("if unless until till except only otherwise depending provided assuming", "I will lend Ann money if she asks."),
        ("maybe perhaps possibly probably presumably apparently allegedly supposedly likely unlikely seemingly reportedly rumoured rumored", "Maybe Ann stole the ring."),
        ("may might must should could would can will shall ought", "Mark may call."),
        ("think guess believe suppose suspect doubt assume wonder seem seems seemed appear appears", "I think Marek reported the leak."),
        ("unsure uncertain unclear unconfirmed unknown", "It is unclear who paid."),
        ("all every some any most many few several both each half", "Every sample was clean."),
        ("always sometimes often rarely seldom usually occasionally ever mostly partly least", "She always locks the gate."),
        ("before after since while when whenever although though because whereas", "Never wake her when she sleeps."),
        ("stop stops stopped refuse refuses refused quit fail fails failed deny denies denied avoid avoids avoided forget forgets forgot pretend pretends pretended", "She refused to sign."),
        ("former formerly ex fake false untrue non un anti pseudo", "Dr Okafor is my former psychiatrist."),
        ("against instead except less more than", "Bob is older than Ann."),
        // "have" alone is free; with "to" it is a duty.
        ("have_to had_to need_to used_to going_to", "I have to call the bank."),
        // "a" alone is free; "few friends" is not "a few friends".
        ("a_few a_little a_bit at_least at_most at_all as_if", "I have a few friends."),
        ("too just", "Just ask Ann, it is too late for Bob."),
    ],
    following: &[
        ("not never", "I trust the new tenants not at all."),
        ("no_longer no_more not_at_all any_more anymore", "I trust Bob no longer."),
    ],
    pronouns: &[
        ("i me my mine myself we us our ours ourselves", "I paid for it myself."),
        ("you your yours yourself yourselves", "You owe me money."),
        ("he him his himself she her hers herself", "She hit him."),
        ("they them their theirs themselves it its itself", "They sold it."),
        ("who whom whose which somebody someone anybody anyone everybody everyone", "Someone called."),
    ],
    joining: &[
        ("and but also plus", "Ann likes tea but Bob likes coffee."),
    ],
    attaching: &[
        // "Ann's" is not "Ann".
        ("'s", "Ann's brother is ill."),
        ("of by with from for to about like as against", "The murderer of Ann is in jail."),
    ],
    relative: &[
        ("yesterday today tonight tomorrow now nowadays currently recently lately soon", "Mia broke her wrist yesterday."),
        ("ago last next this previous coming upcoming past", "We met a week ago."),
        ("earlier later already yet still just latest", "She is still in Rome."),
    ],
    numbers: &[
        ("zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 ten 10", "She has two dogs."),
        ("eleven 11 twelve 12 thirteen 13 fourteen 14 fifteen 15 sixteen 16 seventeen 17 eighteen 18 nineteen 19", "Twelve guests came."),
        ("twenty 20 thirty 30 forty 40 fifty 50 sixty 60 seventy 70 eighty 80 ninety 90", "He is forty."),
        ("hundred 100 thousand 1000 dozen 12 twice 2x thrice 3x", "A dozen eggs cost four euros."),
        ("first 1st third 3rd fourth 4th fifth 5th sixth 6th seventh 7th eighth 8th ninth 9th tenth 10th", "He lives on the fourth floor."),
        // Also a span of time; no other word is "2nd", so nothing is confused.
        ("second 2nd", "Her second book is out."),
        ("million million billion billion trillion trillion", "The house cost a million."),
    ],
    forms: &[
        ("get/gets do/does go/goes make/makes take/takes give/gives keep/keeps let/lets put/puts come/comes", "Ann gets up early."),
        ("like/likes love/loves hate/hates want/wants need/needs prefer/prefers enjoy/enjoys dislike/dislikes", "The user likes tea."),
        ("work/works live/lives play/plays study/studies speak/speaks teach/teaches learn/learns read/reads write/writes", "Ann lives in Rome."),
        ("eat/eats drink/drinks cook/cooks sleep/sleeps run/runs walk/walks drive/drives sing/sings paint/paints", "Bob drinks tea."),
        ("know/knows say/says tell/tells ask/asks call/calls call/calls trust/trusts help/helps use/uses own/owns", "Ann knows the code."),
        ("plan/plans hope/hopes wish/wishes expect/expects remember/remembers feel/feels sound/sounds look/looks", "Sam plans a trip."),
        ("start/starts begin/begins end/ends finish/finishes stay/stays move/moves travel/travels visit/visits", "The course starts in May."),
        ("buy/buys sell/sells pay/pays cost/costs owe/owes save/saves spend/spends bring/brings send/sends", "Carl owes Dana money."),
        ("wear/wears carry/carries hold/holds show/shows meet/meets see/sees hear/hears watch/watches", "She wears glasses."),
        ("store/stores return/returns require/requires support/supports contain/contains include/includes", "The parser returns a list."),
    ],
    contractions: &[
        ("won't=will_not can't=can_not cannot=can_not shan't=shall_not ain't=is_not", "I can't swim."),
        ("it's=it_is he's=he_is she's=she_is that's=that_is there's=there_is here's=here_is what's=what_is who's=who_is where's=where_is how's=how_is let's=let_us", "It's late."),
        ("n't=not", "She doesn't smoke."),
        ("'re=are 'm=am 'll=will 've=have 'd=would", "They're late."),
        // Kept as a word of its own: "Ann's" is not "Ann".
        ("'s='s", "Ann's brother is ill."),
    ],
    abbreviations: &[
        ("mr mrs ms dr prof st vs etc approx inc ltd corp jr sr dept est ave blvd rd tel fig vol ed eds al ca", "Dr. Okafor called."),
        ("jan feb apr jun jul aug sept oct nov dec", "She was born on Feb. 3."),
    ],
    frames: &[
        ("the_user_mentioned_that the_user_said_that the_user_has_said_that the_user_has_mentioned_that the_user_stated_that the_user_has_stated_that the_user_noted_that the_user_told_me_that", "The user mentioned that they prefer dark mode."),
        ("it_is_important_to_remember_that it_is_important_to_note_that it_should_be_noted_that it_is_worth_noting_that it_is_worth_remembering_that", "It is important to remember that Bob does not eat pork."),
        ("please_note_that please_remember_that note_that remember_that keep_in_mind_that bear_in_mind_that", "Please note that the gate is locked."),
        ("i_have_learned_that i_learned_that i_have_noted_that i_noted_that i_remember_that", "I have learned that Ann is a nurse."),
    ],
    evidence: &[
        ("the of to is are was were and that with his her she he they their this from have has had not you your who which what when been would will my me it its for but by as at an be does did about because there i'm don't we our i likes", "The cat is on the mat."),
    ],
    common: &[],
    ..Table::EMPTY
};
