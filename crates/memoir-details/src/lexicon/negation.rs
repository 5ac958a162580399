//! Words that negate, words that deny without a negation, and phrases in which a negation denies
//! nothing.

use super::{ALL, DE, EN, ES, FR, IT, Langs, NL, PL, PT, RU, SV};

/// Negations: each is a detail.
pub(super) const STRONG: &[(Langs, &str)] = &[
    (
        EN,
        "
not no never none nobody nothing nowhere neither nor cannot without don't doesn't didn't isn't
aren't wasn't weren't won't wouldn't can't couldn't shouldn't mustn't haven't hasn't hadn't needn't
ain't dont doesnt didnt isnt arent wasnt cant wont hasnt havent noone mightn't shan't
",
    ),
    (
        DE,
        "
nicht kein keine keinen keinem keiner keines nie niemals niemand niemanden niemandem nichts
nirgends nirgendwo ohne weder noch_nie keinerlei keinesfalls keineswegs
",
    ),
    (
        FR,
        "pas jamais sans aucun aucune rien personne ni guère nulle nul non",
    ),
    (
        ES,
        "no nunca jamás sin ningún ninguno ninguna nada nadie ni tampoco",
    ),
    (
        IT,
        "non mai senza nessun nessuno nessuna niente nulla né neanche nemmeno neppure",
    ),
    (
        PT,
        "não nunca jamais sem nenhum nenhuma nada ninguém nem tampouco",
    ),
    (NL, "niet geen nooit niemand niets zonder noch nergens"),
    (
        RU,
        "не нет никогда без никто никого никому ничего ничто ни нельзя нигде никакой никаких ані немає ніколи",
    ),
    (PL, "nie nigdy bez nikt nic żaden żadnego żadna ani"),
    (SV, "inte aldrig ingen inget inga utan ikke ingenting ej"),
    (
        ALL,
        "değil yok asla hiç olmadan hayır δεν μην ποτέ χωρίς κανείς
لا لم لن ليس ليست ما بدون لست غير أبدا
לא אין אל בלי אף אינו אינה אינם מעולם
नहीं मत न बिना कभी_नहीं ना नही
안 못 없이
nem không tidak bukan

",
    ),
];

/// Verbs and adjectives which deny; they are details as negations are, except where noted.
pub(super) const DENYING: &str = "
refuse refuses refused refusing avoid avoids avoided avoiding unable forbidden prohibited banned
vermeidet meidet weigert verboten évite refuse interdit evita rehúsa prohibido rifiuta vietato proibido
избегает отказывается запрещено vermijdt verboden
";

/// Words that carry a negation of what stands near them without being details themselves.
pub(super) const WEAK: &str = "
dislike dislikes disliked disliking hate hates hated lack lacks lacked lacking fail fails failed
stop stops stopped quit quits decline declines declined deny denies denied except excluding exclude
excludes excluded former formerly ex unless free absent absence missing
instead impossible unavailable unhappy unwilling unlikely unknown unsure uncertain unclear
skip skips skipped abstain abstains abstaining against zero abolished cancelled canceled
intolerant loathes loathe detests detest rejects rejected reject opposed opposes unaware
allergic vegan vegetarian teetotal teetotaler non-smoker
hasst lehnt fehlt mangelt frei außer ablehnt unmöglich hat_aufgehört nichtraucher nichtraucherin
déteste manque sauf refuse impossible
odia detesta falta salvo excepto imposible odeia odeio falta exceto tranne manca impossibile
haat weigert behalve onmogelijk
ненавидит кроме невозможно отсутствует
싫어한다 싫어해요 싫어함 싫어 거부
";

/// Phrases in which the negation denies nothing; the tokens of a phrase in order.
pub(super) const IDLE: &[&str] = &[
    "not only",
    "no doubt",
    "without doubt",
    "without a doubt",
    "why not",
    "whether or not",
    "or not",
    "if not",
    "not to mention",
    "no matter",
    "last but not least",
    "not least",
    "nothing but",
    "no problem",
    "no worries",
    "no idea why",
    "can't wait",
    "cannot wait",
    "can't help but",
    "cannot help but",
    "couldn't help but",
    "needless to say",
    "without saying",
    "no one knows why",
    "nothing too exciting but",
    "not to brag",
    "no big deal",
    "if you don't mind",
    "if i'm not wrong",
    "not wrong",
    "no rush",
    "not to my surprise",
    "to no one's surprise",
    "nothing surprising",
    "no secret that",
    "can't say enough",
    "don't know why but",
    "not for nothing",
    "no question",
    "don't worry",
    "do not worry",
    "don't get me wrong",
    "not gonna lie",
    "no offense",
    "don't hesitate",
    "do not hesitate",
    "believe it or not",
    "if i'm not mistaken",
    "not mistaken",
    "never mind",
    "nevermind",
    "don't forget",
    "do not forget",
    "not forget",
    "never forget",
    "don't ask me why",
    "no less than",
    "not to forget",
    "can't stress enough",
    "cannot stress enough",
    "cannot overstate",
    "can't overstate",
    "don't you",
    "isn't it",
    "isn't he",
    "isn't she",
    "doesn't he",
    "doesn't she",
    "aren't they",
    "don't they",
    "didn't he",
    "didn't she",
    "wasn't it",
    "won't it",
    "won't she",
    "won't he",
    "hasn't she",
    "hasn't he",
    "doesn't it",
    "aren't you",
    "don't know if i mentioned",
    "don't know if i",
    "don't know if",
    "don't know whether",
    "not sure if",
    "not sure whether",
    "not that it matters",
    "no surprise",
    "not surprisingly",
    "without further ado",
    "nothing special but",
    "couldn't agree more",
    "couldn't be happier",
    "not at all surprising",
    "why don't we",
    "in no time",
    "no kidding",
    "no wonder",
    "none other than",
    "no need to say",
    "not unlike",
    "nothing short of",
    "not too long ago",
    "not long ago",
    "i can't remember if",
    "can't recall if",
    "can't remember whether",
    "can't remember exactly",
    "don't remember exactly",
    "don't quite remember",
    "not to worry",
    "do n't",
    "may or may not",
    "not just",
    "not merely",
    "not simply",
    "no later than",
    "not later than",
    "no more than",
    "not more than",
    "no fewer than",
    "nothing new",
    "nicht nur",
    "nicht wahr",
    "kein zweifel",
    "keine frage",
    "ohne zweifel",
    "keine ahnung warum",
    "nicht zuletzt",
    "nicht vergessen",
    "kein problem",
    "vergiss nicht",
    "warum nicht",
    "wenn ich mich nicht irre",
    "nicht irre",
    "ohne weiteres",
    "nichts anderes als",
    "pas seulement",
    "non seulement",
    "sans doute",
    "sans aucun doute",
    "pas de problème",
    "n'est-ce pas",
    "n oublie pas",
    "oublie pas",
    "oublier pas",
    "pourquoi pas",
    "pas de souci",
    "trompe pas",
    "no solo",
    "no sólo",
    "no solamente",
    "sin duda",
    "sin embargo",
    "no olvides",
    "no olvidar",
    "por qué no",
    "no obstante",
    "si no me equivoco",
    "no me equivoco",
    "nada más",
    "ni que decir",
    "non solo",
    "senza dubbio",
    "non dimenticare",
    "se non sbaglio",
    "non sbaglio",
    "perché no",
    "non appena",
    "come mai",
    "não só",
    "não apenas",
    "sem dúvida",
    "não esqueça",
    "se não me engano",
    "não me engano",
    "por que não",
    "nada mais",
    "niet alleen",
    "zonder twijfel",
    "niet vergeten",
    "als ik me niet vergis",
    "niet vergis",
    "не только",
    "нет сомнений",
    "не забудь",
    "не забыть",
    "не забудьте",
    "если не ошибаюсь",
    "не ошибаюсь",
    "почему бы и нет",
    "тем не менее",
    "ни разу_не",
    "без сомнения",
    "не менее",
    "nie tylko",
    "bez wątpienia",
    "nie zapomnij",
    "inte bara",
    "utan tvekan",
    "không chỉ",
];

/// Words after which a negation denies something else than what came before.
pub(super) const CONTRAST: &[(Langs, &str)] = &[
    (
        EN,
        "but however although though because while whereas since so which who yet except instead rather if when where unless until till",
    ),
    (
        DE,
        "aber sondern jedoch obwohl weil während dass wenn doch denn dafür",
    ),
    (FR, "mais car quand parce tandis"),
    (ES, "pero sino porque aunque cuando mientras"),
    (IT, "ma però perché mentre quando"),
    (PT, "porém mas porque quando enquanto"),
    (NL, "maar omdat terwijl want"),
    (RU, "но а зато потому хотя пока если когда"),
    (PL, "ale lecz gdy kiedy"),
    (SV, "men fast när"),
    (
        ALL,
        "ama fakat لكن بل אבל אלא लेकिन मगर बल्कि αλλά 하지만 그러나",
    ),
];

/// Words that join parts of one statement.
pub(super) const JOINS: &[(Langs, &str)] = &[
    (EN, "and or nor"),
    (DE, "und oder noch"),
    (FR, "et ou ni"),
    (ES, "y e o u ni"),
    (IT, "e ed o né"),
    (PT, "e ou nem"),
    (NL, "en of noch"),
    (RU, "и или ни"),
    (PL, "i oraz lub ani"),
    (SV, "och eller og"),
    (ALL, "ve veya या और και"),
];
