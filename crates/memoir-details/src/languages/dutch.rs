//! Dutch.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    free: &[
        ("de het een", "De hond slaapt."),
        ("en", "Anna zingt en Bram schildert."),
        ("dat", "Anna zegt dat Bram slaapt."),
        ("erg zeer heel", "De soep is erg heet."),
        // "zijn" is also "his", which is weaker evidence of whose than a name.
        ("is zijn ben bent", "Bram is mijn man."),
        ("heeft hebben heb hebt", "Ik heb een kat."),
        ("in aan op", "De sleutel ligt op de tafel."),
    ],
    turning: &[
        ("zonder bijna nauwelijks amper", "Hij komt zonder jas."),
        ("of hetzij", "Neem de rode of de blauwe pil."),
        (
            "als indien tenzij behalve alleen slechts mits anders",
            "Ik betaal als ze vraagt.",
        ),
        (
            "misschien wellicht mogelijk waarschijnlijk vermoedelijk blijkbaar zogenaamd",
            "Misschien heeft Anna de ring.",
        ),
        (
            "
kan kunnen kon konden zou zouden moet moeten moest mag mogen mocht wil willen wilde wilden
zal zullen hoeft
",
            "Anna moet betalen.",
        ),
        (
            "
denk denkt dacht geloof gelooft vermoed vermoedt lijkt leek schijnt twijfelt hoopt
",
            "Ik denk dat Marc het was.",
        ),
        (
            "
alle alles elke elk iedere ieder sommige enkele meerdere weinig veel vele beide meeste half
",
            "Alle monsters waren schoon.",
        ),
        (
            "altijd soms vaak zelden meestal minstens hoogstens deels",
            "Ze sluit altijd af.",
        ),
        (
            "voor voordat na nadat sinds terwijl toen hoewel omdat tot totdat wanneer",
            "Voor het eten neemt ze A.",
        ),
        (
            "stopt stopte gestopt weigert weigerde vermijdt vergeet ontkent",
            "Ze weigert te tekenen.",
        ),
        (
            "voormalige vroegere ex vals valse",
            "Dat is mijn voormalige baas.",
        ),
        ("tegen te meer minder dan", "Bram is tegen het plan."),
    ],
    following: &[
        ("niet nooit niets nergens niks", "Ik lust thee niet."),
        ("geen niemand noch", "Thee drinkt niemand."),
    ],
    pronouns: &[
        ("ik mij me mijn mezelf", "Mijn huis is koud."),
        ("jij je jou jouw u uw jullie", "Jij bent mij geld schuldig."),
        ("hij hem zij ze haar hen hun", "Ze slaapt."),
        ("wij we ons onze", "Wij betalen."),
        ("wie iemand men die dit deze zich", "Iemand belde."),
    ],
    joining: &[("en maar ook", "Anna zingt maar Bram schildert.")],
    attaching: &[(
        "van met bij uit naar door over om",
        "De broer van Anna zingt.",
    )],
    relative: &[
        (
            "
gisteren eergisteren vandaag morgen overmorgen nu momenteel onlangs binnenkort vanavond
tegenwoordig
",
            "Ze kwam gisteren.",
        ),
        (
            "vorige afgelopen volgende komende geleden deze_week dit_jaar laatste",
            "Ze komt volgende week.",
        ),
        ("nog al reeds", "Ze is nog in Rome."),
    ],
    numbers: &[
        (
            "
nul 0 twee 2 drie 3 vier 4 vijf 5 zes 6 zeven 7 acht 8 negen 9 tien 10 elf 11 twaalf 12
dertien 13 veertien 14 vijftien 15 zestien 16 twintig 20 dertig 30 veertig 40 vijftig 50
zestig 60 zeventig 70 tachtig 80 negentig 90 honderd 100 duizend 1000 één 1
",
            "Ze heeft twee katten.",
        ),
        (
            "
eerste eerste tweede tweede derde derde miljoen miljoen miljard miljard tweemaal tweemaal
",
            "Hij woont op de derde verdieping.",
        ),
    ],
    abbreviations: &[("mevr dhr bijv enz nr blz", "Mevr. Smit slaapt.")],
    frames: &[(
        "
de_gebruiker_zei_dat de_gebruiker_heeft_gezegd_dat het_is_belangrijk_te_onthouden_dat
het_is_belangrijk_om_te_onthouden_dat let_op_dat ik_heb_geleerd_dat
",
        "Ik heb geleerd dat Bram geen varkensvlees eet.",
    )],
    evidence: &[(
        "
de het een en of maar want dat die dit deze wie wat waar wanneer waarom hoe als ik jij je
hij zij ze wij we jullie mij me jou hem haar ons hun mijn jouw zijn onze in op aan bij met
naar van voor door over onder tussen tegen om uit tot sinds tijdens na te is ben bent was
waren wordt worden werd heeft hebben had hadden kan kunnen kon moet moeten wil willen mag
mogen zal zullen zou ook nog al heel erg zeer veel meer weinig alle alles elke elk iedere
ieder iets er daar hier dan toen nu vandaag gisteren morgen altijd vaak soms meestal alleen
echter daarom bovendien momenteel tegenwoordig eigenlijk misschien ja hallo bedankt graag
liever zelf toch wel heb hebt zonder bijna nauwelijks amper hetzij indien tenzij behalve
slechts mits anders wellicht mogelijk waarschijnlijk vermoedelijk blijkbaar zogenaamd konden
zouden moest mocht wilde wilden hoeft denk denkt dacht geloof gelooft vermoed vermoedt lijkt
leek schijnt twijfelt hoopt sommige enkele meerdere vele beide meeste half zelden minstens
hoogstens deels voordat nadat terwijl hoewel omdat totdat stopt stopte gestopt weigert
weigerde vermijdt vergeet ontkent voormalige vroegere ex vals valse minder niet nooit niets
nergens niks geen niemand noch mezelf u uw hen iemand men zich
",
        "De hond slaapt.",
    )],
    // Words of every day that are no names at the beginning of a sentence.
    common: &[(
        "
woont werkt houdt studeert spreekt speelt eet drinkt gebruikt reist kent kocht zegt vindt
geboren moeder vader broer zus dochter zoon vrouw man vriend vriendin kinderen auto huis
vergadering project team klant gebruiker helaas gelukkig eerlijk persoonlijk onlangs
uiteindelijk let herinnering belangrijk oma opa oom tante hond kat dokter adres nummer
bestelling factuur nieuwe laatste eerste volgende verschillende mevrouw meneer volgens
gezien
",
        "",
    )],
    decimal_comma: true,
    asking: &[(
        "wat wie waar wanneer waarom hoe welke welk hoeveel werd was waren had hadden er",
        "Waar woont Anna?",
    )],
    correcting: &[(
        "nu voortaan inmiddels verplaatst gewijzigd veranderd nieuwe nieuw geannuleerd uitgesteld",
        "De sleutel ligt nu in de lade.",
    )],
    ..LanguageTable::EMPTY
};
