//! Swedish.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    free: &[
        // "den", "det" and "de" are articles before a noun, and weak pronouns elsewhere.
        ("en ett den det de", "Ett hus är rött."),
        ("och", "Anna sjunger och Bo målar."),
        ("att", "Anna säger att Bo sover."),
        // Also a quantity ("mycket bröd"), whose loss leaves a vaguer sentence.
        ("mycket väldigt", "Soppan är mycket het."),
        ("är", "Bo är min man."),
        ("har", "Jag har en katt."),
        ("i på", "Nyckeln ligger på bordet."),
    ],
    turning: &[
        ("utan nästan knappt", "Han kommer utan jacka."),
        ("eller antingen", "Ta den röda eller den blå."),
        (
            "om ifall såvida bara endast annars förutom utom",
            "Jag betalar om hon frågar.",
        ),
        (
            "kanske nog möjligen troligen förmodligen antagligen tydligen",
            "Kanske har Anna ringen.",
        ),
        (
            "kan kunde kunna ska skall skulle måste får fick bör borde vill ville lär",
            "Anna måste betala.",
        ),
        (
            "tror trodde tycker verkar verkade tvivlar misstänker hoppas",
            "Jag tror att det var Marek.",
        ),
        (
            "alla allt varje någon något några flera få många båda flesta halv",
            "Alla prover var rena.",
        ),
        (
            "alltid ibland ofta sällan oftast minst högst delvis",
            "Hon låser alltid dörren.",
        ),
        (
            "före innan efter sedan medan när fast eftersom tills under",
            "Före maten tar hon A.",
        ),
        (
            "slutar slutade slutat vägrar vägrade undviker glömmer förnekar",
            "Hon vägrar att skriva under.",
        ),
        (
            "före_detta tidigare ex falsk falskt förra",
            "Det är min tidigare chef.",
        ),
        ("mot för mer mindre än", "Bo är mot planen."),
    ],
    following: &[
        ("inte aldrig ej icke", "Jag gillar te inte."),
        ("ikke aldri", "Jeg kender ham ikke."),
        (
            "ingen inget inga ingenting ingenstans varken",
            "Te dricker ingen.",
        ),
    ],
    pronouns: &[
        ("jag mig min mitt mina", "Mitt hus är kallt."),
        (
            "du dig din ditt dina ni er ert era",
            "Du är skyldig mig pengar.",
        ),
        (
            "han honom hans hon henne hennes sin sitt sina",
            "Hon sover.",
        ),
        ("vi oss vår vårt våra dem deras", "Vi betalar."),
        ("man vem som sig detta", "Vem ringde."),
    ],
    joining: &[("och men också även samt", "Anna sjunger men Bo målar.")],
    attaching: &[(
        "av med från till hos som vid åt",
        "Brodern till Anna sjunger.",
    )],
    relative: &[
        (
            "igår idag imorgon nu nuförtiden nyligen snart ikväll",
            "Hon kom igår.",
        ),
        (
            "förra nästa senaste sista sedan i_går i_dag i_morgon i_år",
            "Hon kommer nästa vecka.",
        ),
        ("ännu redan fortfarande", "Hon är redan i Rom."),
    ],
    numbers: &[
        (
            "
noll 0 två 2 tre 3 fyra 4 fem 5 sex 6 sju 7 åtta 8 nio 9 tio 10 elva 11 tolv 12 tretton 13
fjorton 14 femton 15 sexton 16 tjugo 20 trettio 30 fyrtio 40 femtio 50 sextio 60 sjuttio 70
åttio 80 nittio 90 hundra 100 tusen 1000
",
            "Hon har två katter.",
        ),
        (
            "
första första andra andra tredje tredje miljon miljon miljoner miljoner miljard miljard
",
            "Han bor på tredje våningen.",
        ),
    ],
    abbreviations: &[("bl ca osv kl nr tfn", "Hon köpte bröd osv. i stan.")],
    frames: &[(
        "
användaren_sa_att användaren_nämnde_att det_är_viktigt_att_komma_ihåg_att observera_att
jag_har_lärt_mig_att
",
        "Det är viktigt att komma ihåg att Bo inte äter fläsk.",
    )],
    evidence: &[(
        "
och eller men att det en ett som på i av för med till från om vid under över efter före
mellan är var har hade kan ska skulle vill måste blir blev han hon jag du vi ni mig dig sig
oss min mitt mina sin sitt sina hennes deras också bara mycket mer när där här nu sedan
alltid ofta ibland mere når hans den de väldigt utan nästan knappt antingen ifall såvida
endast annars förutom utom kanske nog möjligen troligen förmodligen antagligen tydligen
kunde kunna skall får fick bör borde ville lär tror trodde tycker verkar verkade tvivlar
misstänker hoppas alla allt varje någon något några flera få många båda flesta halv sällan
oftast minst högst delvis innan medan fast eftersom tills slutar slutade slutat vägrar
vägrade undviker glömmer förnekar tidigare ex falsk falskt förra mot mindre än inte aldrig
ej icke ikke aldri ingen inget inga ingenting ingenstans varken din ditt dina er ert era
honom henne vår vårt våra dem man vem detta även samt hos åt
",
        "Ett hus är rött.",
    )],
    // Words of every day that are no names at the beginning of a sentence.
    common: &[(
        "
bor arbetar jobbar gillar föredrar studerar talar spelar äter dricker använder mamma pappa
bror syster dotter son barn fru vän bil hus möte projekt kund användare tyvärr vanligtvis
viktigt ny senaste
",
        "",
    )],
    decimal_comma: true,
    asking: &[(
        "vad vem var när varför hur vilken vilket vilka blev hade fanns",
        "Vad heter hunden?",
    )],
    correcting: &[(
        "nu numera istället flyttad flyttat flyttade ändrad ändrat ny nytt inställd",
        "Nyckeln ligger nu i lådan.",
    )],
    ..LanguageTable::EMPTY
};
