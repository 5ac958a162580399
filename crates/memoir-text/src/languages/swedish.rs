//! Swedish.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    function: "\
och men att det en ett som på i av med till från vid över mellan är var har hade blir blev han hon jag du vi ni mig \
dig sig oss min mitt mina sin sitt sina hennes deras också mycket när där här mere når hans den de väldigt din ditt \
dina er ert era honom henne vår vårt våra dem man vem detta även samt hos åt",
    asking: "vad varför hur vilken vilket vilka fanns",
    telling: "\
eller för om under efter före kan ska skulle vill måste bara mer nu sedan alltid ofta ibland utan nästan knappt \
antingen ifall såvida endast annars förutom utom kanske nog möjligen troligen förmodligen antagligen tydligen kunde \
kunna skall får fick bör borde ville lär tror trodde tycker verkar verkade tvivlar misstänker hoppas alla allt varje \
någon något några flera få många båda flesta halv sällan oftast minst högst delvis innan medan fast eftersom tills \
slutar slutade slutat vägrar vägrade undviker glömmer förnekar tidigare ex falsk falskt förra mot mindre än inte \
aldrig ej icke ikke aldri ingen inget inga ingenting ingenstans varken",
    common: "\
bor arbetar jobbar gillar föredrar studerar talar spelar äter dricker använder mamma pappa bror syster dotter barn \
fru vän bil hus möte kund användare tyvärr vanligtvis viktigt ny senaste",
    numbers: "\
noll 0 två 2 tre 3 fyra 4 fem 5 sex 6 sju 7 åtta 8 nio 9 tio 10 elva 11 tolv 12 tretton 13 fjorton 14 femton 15 \
sexton 16 tjugo 20 trettio 30 fyrtio 40 femtio 50 sextio 60 sjuttio 70 åttio 80 nittio 90 hundra 100 tusen 1000 \
första första andra andra tredje tredje miljon miljon miljoner miljoner miljard miljard",
    correcting: "nu numera istället flyttad flyttat flyttade ändrad ändrat ny nytt inställd",
    abbreviations: "bl ca osv kl nr tfn",
    negations: "inte aldrig ej icke ikke aldri ingen inget inga ingenting ingenstans varken utan nej",
    relative: "\
igår idag imorgon imorse ikväll inatt nu nuförtiden numera nyligen snart häromdagen förrgår i_går i_dag i_morgon \
i_morse i_kväll i_natt i_år i_fjol i_somras i_vintras i_våras i_höstas för_närvarande",
    shifts: "förra nästa senaste sista kommande denna detta",
    spans: "\
dagarna vecka veckan veckor veckorna helg helgen månad månaden månader månaderna kvartal år året åren sommar sommaren \
vinter vintern vår våren höst hösten natt kväll jul",
    ago_behind: "sedan sen",
    amounts: "en ett några flera många par",
    months: "januari februari mars april maj juni juli augusti september oktober november december",
    weekdays: "\
måndag/måndagen tisdag/tisdagen onsdag/onsdagen torsdag/torsdagen fredag/fredagen lördag/lördagen söndag/söndagen",
    years: "år sedan från till våren sommaren hösten vintern",
    name_endings: "s",
    subjects: "han hon",
    defining: "som",
    parties: "jag mig min mitt mina vi oss vår vårt våra",
    marks_names: true,
    ..LanguageTable::EMPTY
};
