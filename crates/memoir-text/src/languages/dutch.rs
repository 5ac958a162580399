//! Dutch.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    function: "\
de het een en maar want dat die dit deze wie wat waar wanneer waarom hoe ik jij je hij zij ze wij we jullie mij me \
jou hem haar ons hun mijn jouw zijn onze in op aan bij met naar van door over onder tussen om uit tijdens is ben bent \
was waren wordt worden werd heeft hebben had hadden ook heel erg zeer iets er daar hier echter daarom bovendien \
eigenlijk ja hallo bedankt graag liever zelf toch wel heb hebt mezelf u uw hen iemand men zich",
    asking: "welke welk hoeveel",
    telling: "\
of als voor tegen tot sinds na te kan kunnen kon moet moeten wil willen mag mogen zal zullen zou nog al veel meer \
weinig alle alles elke elk iedere ieder dan toen nu vandaag gisteren morgen altijd vaak soms meestal alleen momenteel \
tegenwoordig misschien zonder bijna nauwelijks amper hetzij indien tenzij behalve slechts mits anders wellicht \
mogelijk waarschijnlijk vermoedelijk blijkbaar zogenaamd konden zouden moest mocht wilde wilden hoeft denk denkt \
dacht geloof gelooft vermoed vermoedt lijkt leek schijnt twijfelt hoopt sommige enkele meerdere vele beide meeste \
half zelden minstens hoogstens deels voordat nadat terwijl hoewel omdat totdat stopt stopte gestopt weigert weigerde \
vermijdt vergeet ontkent voormalige vroegere ex vals valse minder niet nooit niets nergens niks geen niemand noch",
    common: "\
woont werkt houdt studeert spreekt speelt eet drinkt gebruikt reist kent kocht zegt vindt geboren moeder vader broer \
zus dochter zoon vrouw vriend vriendin kinderen huis vergadering klant gebruiker helaas gelukkig eerlijk persoonlijk \
onlangs uiteindelijk herinnering belangrijk oom hond kat dokter bestelling factuur nieuwe laatste eerste volgende \
verschillende mevrouw meneer volgens gezien",
    numbers: "\
nul 0 twee 2 drie 3 vier 4 vijf 5 zes 6 zeven 7 acht 8 negen 9 tien 10 elf 11 twaalf 12 dertien 13 veertien 14 \
vijftien 15 zestien 16 twintig 20 dertig 30 veertig 40 vijftig 50 zestig 60 zeventig 70 tachtig 80 negentig 90 \
honderd 100 duizend 1000 één 1 eerste eerste tweede tweede derde derde miljoen miljoen miljard miljard tweemaal \
tweemaal",
    correcting: "nu voortaan inmiddels verplaatst gewijzigd veranderd nieuwe nieuw geannuleerd uitgesteld",
    abbreviations: "mevr dhr bijv enz nr blz",
    negations: "niet nooit niets niks geen niemand nergens noch zonder nee neen evenmin",
    relative: "\
gisteren eergisteren vandaag overmorgen nu momenteel onlangs binnenkort vanavond vannacht vanmorgen vanochtend \
vanmiddag tegenwoordig recent recentelijk zojuist straks",
    unless: "morgen=de_s_elke_iedere_goede_die",
    shifts: "vorig vorige afgelopen volgend volgende komend komende deze dit laatste",
    spans: "\
dagen week weken weekend maand maanden kwartaal jaar jaren eeuw lente zomer herfst winter voorjaar najaar seizoen \
nacht avond kerst pasen",
    ago_behind: "geleden",
    amounts: "een enkele paar meerdere vele wat",
    months: "januari februari maart april mei juni juli augustus september oktober november december",
    weekdays: "\
maandag/maandags dinsdag/dinsdags woensdag/woensdags donderdag/donderdags vrijdag/vrijdags zaterdag/zaterdags \
zondag/zondags",
    years: "in sinds tot vanaf jaar lente zomer herfst winter begin eind",
    name_endings: "s",
    subjects: "hij zij ze",
    defining: "die dat",
    parties: "ik me mij mijn wij we ons onze",
    marks_names: true,
    ..LanguageTable::EMPTY
};
