//! German.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    function: "\
der die das den dem des ein eine einen einem einer eines und aber denn sondern doch dass als wie wo wer was wann \
warum wieso weshalb welcher welche welches ich du er sie es wir ihr mich dich sich uns euch ihm ihn ihnen mir dir \
mein meine meinen meinem meiner meines dein deine deinen deinem deiner sein seine seinen seinem seiner seines ihre \
ihren ihrem ihrer ihres unser unsere unseren unserem unserer euer eure in im an am auf aus bei beim mit von vom zu \
zum zur über unter neben zwischen durch für um wegen trotz ist sind war waren bin bist sei wurde wurden hat haben \
hatte hatten mögen auch sehr so dann dort hier da viel wenig etwas man dies jene ausserdem jedoch deshalb daher \
trotzdem eigentlich natürlich inzwischen mittlerweile danach davor dabei dafür damit daran darauf davon dazu darüber \
zudem ebenfalls laut gemäss bitte ja hallo übrigens also eben halt zwar gern gerne lieber ins ans einmal selbst sowie \
sowohl seid habe hast habt würde würden jemand jemanden wen wem",
    asking: "woher wohin welchen welchem worden gibt",
    telling: "\
oder weil wenn ob nach vor gegen ohne bis seit während ab ausser wird werden kann können konnte muss müssen musste \
soll sollen sollte will wollen wollte darf dürfen mag möchte möchten noch schon nur heute immer oft manchmal meistens \
mehr viele wenige alle alles jeder jede jedes jeden jedem diese dieser dieses diesen diesem vielleicht wahrscheinlich \
derzeit aktuell zurzeit früher später bald gerade jetzt damals wohl kaum fast beinahe entweder falls sofern bloss \
sonst möglicherweise vermutlich angeblich anscheinend offenbar eventuell womöglich kannst könnt könnte könnten \
konnten durfte dürfte musst müsste sollten willst wollten glaube glaubt glauben denke denkt vermute vermutet scheint \
schien scheinbar hoffe hofft zweifle zweifelt allen manche mancher einige mehrere beide meisten halb selten \
gelegentlich teilweise mindestens höchstens stets bevor nachdem obwohl aufgehört aufhören weigert verweigert \
vermeidet meidet vergisst vergass leugnet bestreitet gescheitert ehemalige ehemaliger ehemaligen frühere früherer ex \
falsch angebliche statt anstatt weniger nicht nie niemals nichts nirgends keineswegs keinesfalls kein keine keinen \
keinem keiner keines keinerlei niemand niemanden niemandem weder",
    common: "\
abend abende absprache alkohol allergie alltag alter angebot angst anfang anruf antrag antwort anwalt anwältin apfel \
arbeit arbeitgeber arbeitstag arzt ärztin aufgabe auge augen ausbildung ausflug bahn bahnhof balkon bau bedarf \
beispiel bein berg berge bericht beruf besuch bett bewerbung bezug bier bild biologie blut boden brille brot bruder \
brüder buch bücher büro café chefin dank daten datum deckel dienst diät ding dinge dorf drucker durst eier eis eltern \
ende enkel enkelin entscheidung erdnuss erdnüsse erdnüssen essen fach fahrer fahrrad familie farbe feier ferien \
fernsehen fest fieber firma fisch fleisch flug flughafen frage fragen frau frauen freizeit freude freund freunde \
freunden freundin freundinnen frühstück fuss fussball garten gast gäste geburt geburtstag gefühl geld gemüse gerät \
gericht geschäft geschichte geschwister gesicht gespräch gesundheit getränk gewicht gitarre glas glück grad \
grosseltern grossmutter grossvater grund gruppe handy haus hause haustier haustiere heimat hemd herz herr hilfe \
himmel hochzeit hof hund hunde hunger idee informationen inhalt jahr jahre jahren jahres junge kaffee kalender karte \
käse kasse katze katzen kaufmann keller kinder kindern kirche klasse klausur klavier kleid kleidung koffer kollege \
kollegen kollegin kollegium kompromiss kontakt konto konzert kopf kopfschmerzen kosten küche kuchen kunde kunden \
kundin kunst kurs laden laktose leben lehrer lehrerin leute licht liebe liebling lied liste lohn luft lust mädchen \
maler mann männer mannschaft markt maschine meer meinung mensch menschen miete mieter milch minuten mitarbeiter \
mitarbeiterin mitte mittag mittagessen monat monate monaten morgen motorrad müll musik mutter nachbar nachbarin \
nachbarn nachmittag nachricht nacht namen natur netz notiz nüsse nüssen obst onkel ordnung ort paar papier partnerin \
pause personen pferd pflanze pilz pilze plätze platz polizei preis probleme produkt programm projekte prüfung quelle \
rad rat raum rechner recht rechnung regel regen reihe reis reise rind rolle rücken ruf ruhe sache sachen saft salat \
salz satz schatz schiff schloss schlüssel schmerzen schnee schokolade schreibtisch schritt schuh schuhe schule \
schüler schulter schwein schweinefleisch schwester schwestern schwimmbad seite sinn sitzung sohn söhne sonne sorge \
spass spiel spiele sprache sprachen stadt stelle steuer stimme stock strand strasse stück studentin studium stuhl \
stunde stunden suppe tag tage tagen tasche tasse tee teil telefon tempo termin termine thema tier tiere tisch tochter \
töchter tod ton tor treffen treppe trinken tür typ überblick uhr umzug unfall universität unterlagen unterricht \
urlaub vater veganer veganerin vegetarier vegetarierin verein vergleich verkehr vertrag vertrieb verwandte vogel \
vorliebe vorschlag vorteil wagen wahl wald wand wasser wechsel weg wein weise welt wert wetter woche wochen \
wochenende wochenenden wohnung wolle wort worte wörter wunsch zahl zahn zahnarzt zahnärztin zeit zeiten zeitung zelt \
zeug ziel zimmer zucker zug zukunft zusammenhang zustand zweck zwilling zwillinge nutzer nutzerin benutzer benutzerin \
anwender anwenderin assistent gegenstand üblichen folgendes folgende wesentlichen allgemeinen ehrlich nase arme haar \
haare kaffeemaschine zigaretten zigarette raucher raucherin musiker musikerin ingenieur ingenieurin hafen insel fluss \
turm brücke tassen gläser flasche flaschen liter kilo gramm meter kilometer prozent euro menge kiste packung teller \
löffel",
    numbers: "\
null 0 eins 1 zwei 2 zwo 2 drei 3 vier 4 fünf 5 sechs 6 sieben 7 acht 8 neun 9 zehn 10 elf 11 zwölf 12 dreizehn 13 \
vierzehn 14 fünfzehn 15 sechzehn 16 siebzehn 17 achtzehn 18 neunzehn 19 zwanzig 20 dreißig 30 vierzig 40 fünfzig 50 \
sechzig 60 siebzig 70 achtzig 80 neunzig 90 hundert 100 tausend 1000 zweimal zweimal dreimal dreimal doppelt doppelt \
million million millionen millionen milliarde milliarde erste erste ersten erste zweite zweite zweiten zweite dritte \
dritte dritten dritte vierte vierte vierten vierte fünfte fünfte fünften fünfte",
    correcting: "\
jetzt nun stattdessen inzwischen mittlerweile verschoben geändert umgezogen neuer neue neues neuerdings korrektur \
ersetzt abgesagt zurückgebracht statt",
    abbreviations: "bzw ggf evtl usw inkl zzgl str tel nr okt dez ca fr hr dipl ing geb abs bsp sog zb",
    negations: "\
nicht nichts nie niemals nimmer nirgends nirgendwo keineswegs keinesfalls kein keine keinen keinem keiner keines \
keins keinerlei niemand niemanden niemandem niemandes weder ohne nein",
    relative: "\
gestern vorgestern heute übermorgen jetzt nun derzeit zurzeit momentan kürzlich neulich bald demnächst gegenwärtig \
aktuell heutzutage soeben vorhin heutige heutigen heutiger heutiges gestrige gestrigen derzeitige derzeitigen \
vor_kurzem in_letzter_zeit zur_zeit im_moment",
    unless: "morgen=am_jeden_guten_den_der_einem_eines_ein_vom_diesem_gegen_nächsten_bis",
    shifts: "\
letzte letzten letzter letztes letztem nächste nächsten nächster nächstes nächstem vorige vorigen voriger voriges \
vorigem kommende kommenden kommender kommendes vergangene vergangenen vergangener vergangenes diese dieser dieses \
diesen diesem",
    spans: "\
tage tagen woche wochen wochenende monat monate monaten monats quartal jahr jahre jahren jahres jahrzehnt jahrzehnten \
jahrhundert frühling frühjahr sommer herbst winter saison nacht abend weihnachten ostern",
    ago_before: "vor",
    amounts: "ein einem einer einigen wenigen paar mehreren vielen langer",
    months: "\
januar/jänner/jan februar/feb märz april mai juni juli august september oktober november dezember",
    weekdays: "\
montag/montags dienstag/dienstags mittwoch/mittwochs donnerstag/donnerstags freitag/freitags \
samstag/samstags/sonnabend sonntag/sonntags",
    years: "in im seit bis von ab jahr jahre jahres frühling sommer herbst winter anfang mitte ende",
    subjects: "er",
    parties: "ich mich mir mein meine meinen meinem meiner meines wir uns unser unsere unseren unserem unserer",
    ..LanguageTable::EMPTY
};
