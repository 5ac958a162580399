//! German.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    free: &[
        ("der die das den dem des", "Der Hund schläft."),
        ("ein eine einen einem einer eines", "Anna hat eine Katze."),
        ("und", "Anna singt und Bernd malt."),
        ("dass daß", "Anna sagt, dass sie krank ist."),
        ("sehr", "Die Suppe ist sehr scharf."),
        ("ist sind bin bist seid", "Bernd ist mein Mann."),
        // Also an auxiliary of the past, but then the participle stays: "hat gelacht".
        ("hat haben habe hast habt", "Ich habe Krebs."),
        ("in im an am", "Der Schlüssel liegt im Schrank."),
    ],
    turning: &[
        ("ohne kaum fast beinahe", "Er kam ohne Jacke."),
        ("oder entweder ob", "Nimm die rote oder die blaue Pille."),
        (
            "wenn falls sofern außer nur bloß sonst",
            "Ich leihe ihr Geld, wenn sie fragt.",
        ),
        (
            "
vielleicht wohl möglicherweise wahrscheinlich vermutlich angeblich anscheinend offenbar
eventuell womöglich
",
            "Vielleicht hat Anna den Ring.",
        ),
        (
            "
kann kannst können könnt könnte könnten konnte konnten darf dürfen durfte dürfte muss musst
müssen musste müsste soll sollen sollte sollten will willst wollen wollte wollten mag möchte
möchten würde würden wird werden
",
            "Anna darf fahren.",
        ),
        (
            "
glaube glaubt glauben denke denkt meine_ich vermute vermutet scheint schien scheinbar hoffe
hofft zweifle zweifelt nehme_an
",
            "Ich glaube, Marek war es.",
        ),
        (
            "
alle alles allen jeder jede jedes jeden jedem manche mancher einige mehrere wenige viele
beide meisten halb
",
            "Alle Proben waren sauber.",
        ),
        (
            "
immer manchmal oft selten meistens gelegentlich teilweise mindestens höchstens stets
",
            "Sie schließt immer ab.",
        ),
        (
            "bevor nachdem vor nach seit während als obwohl weil bis",
            "Vor dem Essen nimmt sie A.",
        ),
        (
            "
hört_auf aufgehört aufhören weigert verweigert vermeidet meidet vergisst vergaß leugnet
bestreitet gescheitert
",
            "Sie weigert sich zu zahlen.",
        ),
        (
            "ehemalige ehemaliger ehemaligen früher frühere früherer ex falsch angebliche",
            "Das ist mein ehemaliger Chef.",
        ),
        (
            "gegen statt anstatt weniger mehr zu ab",
            "Bernd ist gegen den Plan.",
        ),
    ],
    following: &[
        (
            "nicht nie niemals nichts nirgends keineswegs keinesfalls",
            "Ich mag Tee nicht.",
        ),
        (
            "kein keine keinen keinem keiner keines keinerlei",
            "Ich trinke Kaffee keinen.",
        ),
        (
            "niemand niemanden niemandem weder noch",
            "Den Code kennt niemand.",
        ),
    ],
    pronouns: &[
        (
            "ich mich mir mein meine meinen meinem meiner meines",
            "Das ist mein Rad.",
        ),
        (
            "
du dich dir dein deine deinen deinem deiner Sie Ihnen Ihr Ihre Ihren Ihrem Ihrer
",
            "Du schuldest mir Geld.",
        ),
        (
            "er ihn ihm sein seine seinen seinem seiner seines",
            "Er hat ihn gesehen.",
        ),
        ("sie ihr ihre ihren ihrem ihrer ihres es", "Sie lacht."),
        (
            "wir uns unser unsere unseren unserem unserer euch euer eure ihnen",
            "Wir zahlen.",
        ),
        (
            "man jemand jemanden wer wen wem welcher welche welches sich",
            "Jemand rief an.",
        ),
    ],
    joining: &[(
        "und aber sowie auch sondern",
        "Anna singt, aber Bernd malt.",
    )],
    attaching: &[(
        "von vom mit für bei beim zu zum zur aus wie über durch als um",
        "Der Bruder von Anna singt.",
    )],
    relative: &[
        (
            "
gestern vorgestern heute morgen übermorgen jetzt nun gerade derzeit aktuell zurzeit momentan
kürzlich neulich bald
",
            "Mia kam gestern.",
        ),
        (
            "
letzte letzten letzter letztes letztem nächste nächsten nächster nächstes nächstem vorige
vorigen kommende kommenden diese dieser dieses diesen diesem vergangene vergangenen
",
            "Sie kam letzte Woche.",
        ),
        (
            "schon noch bereits seitdem damals früher später",
            "Sie ist noch in Rom.",
        ),
    ],
    numbers: &[
        (
            "
null 0 eins 1 zwei 2 zwo 2 drei 3 vier 4 fünf 5 sechs 6 sieben 7 acht 8 neun 9 zehn 10 elf
11 zwölf 12
",
            "Sie hat zwei Hunde.",
        ),
        (
            "
dreizehn 13 vierzehn 14 fünfzehn 15 sechzehn 16 siebzehn 17 achtzehn 18 neunzehn 19 zwanzig
20 dreißig 30 vierzig 40 fünfzig 50 sechzig 60 siebzig 70 achtzig 80 neunzig 90 hundert 100
tausend 1000
",
            "Er ist vierzig.",
        ),
        (
            "
zweimal zweimal dreimal dreimal doppelt doppelt million million millionen millionen
milliarde milliarde
",
            "Sie läuft zweimal am Tag.",
        ),
        (
            "
erste erste ersten erste zweite zweite zweiten zweite dritte dritte dritten dritte vierte
vierte vierten vierte fünfte fünfte fünften fünfte
",
            "Er wohnt im dritten Stock.",
        ),
    ],
    abbreviations: &[(
        "
bzw ggf evtl usw inkl zzgl str tel nr okt dez ca fr hr dipl ing geb abs bsp sog zb
",
        "Sie hat Tee bzw. Kaffee bestellt.",
    )],
    after_ordinals: &[(
        "
januar februar märz april mai juni juli august september oktober november dezember stock
klasse etage geburtstag jahrestag hochzeitstag jahrhundert semester kapitel platz
",
        "Sie kommt am 3. Mai.",
    )],
    frames: &[(
        "
der_nutzer_hat_erwähnt_dass die_nutzerin_hat_erwähnt_dass der_nutzer_sagte_dass
es_ist_wichtig_zu_wissen_dass es_ist_wichtig_sich_zu_merken_dass bitte_beachten_dass
zu_beachten_ist_dass ich_habe_gelernt_dass ich_habe_erfahren_dass
",
        "Ich habe gelernt, dass Anna am liebsten Tee trinkt.",
    )],
    evidence: &[(
        "
der die das den dem des ein eine einen einem einer eines und oder aber denn sondern doch
weil dass daß wenn als ob wie wo wer was wann warum wieso weshalb welcher welche welches ich
du er sie es wir ihr mich dich sich uns euch ihm ihn ihnen mir dir mein meine meinen meinem
meiner meines dein deine deinen deinem deiner sein seine seinen seinem seiner seines ihre
ihren ihrem ihrer ihres unser unsere unseren unserem unserer euer eure in im an am auf aus
bei beim mit nach von vom vor zu zum zur über unter neben zwischen durch für gegen ohne um
bis seit während wegen trotz ab außer ist sind war waren bin bist sei wird werden wurde
wurden hat haben hatte hatten kann können konnte muss müssen musste soll sollen sollte will
wollen wollte darf dürfen mag mögen möchte möchten auch noch schon nur sehr so dann dort
hier da heute immer oft manchmal meistens mehr viel viele wenig wenige alle alles jeder jede
jedes jeden jedem etwas man dies diese dieser dieses diesen diesem jene außerdem jedoch
deshalb daher trotzdem eigentlich vielleicht wahrscheinlich natürlich inzwischen
mittlerweile derzeit aktuell zurzeit früher später bald gerade jetzt damals danach davor
dabei dafür damit daran darauf davon dazu darüber zudem ebenfalls laut gemäß bitte ja hallo
übrigens also eben halt wohl zwar gern gerne lieber ins ans einmal selbst sowie sowohl seid
habe hast habt kaum fast beinahe entweder falls sofern bloß sonst möglicherweise vermutlich
angeblich anscheinend offenbar eventuell womöglich kannst könnt könnte könnten konnten
durfte dürfte musst müsste sollten willst wollten würde würden glaube glaubt glauben denke
denkt vermute vermutet scheint schien scheinbar hoffe hofft zweifle zweifelt allen manche
mancher einige mehrere beide meisten halb selten gelegentlich teilweise mindestens höchstens
stets bevor nachdem obwohl aufgehört aufhören weigert verweigert vermeidet meidet vergisst
vergaß leugnet bestreitet gescheitert ehemalige ehemaliger ehemaligen frühere früherer ex
falsch angebliche statt anstatt weniger nicht nie niemals nichts nirgends keineswegs
keinesfalls kein keine keinen keinem keiner keines keinerlei niemand niemanden niemandem
weder Sie Ihnen Ihr Ihre Ihren Ihrem Ihrer jemand jemanden wen wem
",
        "Der Hund schläft.",
    )],
    // Words of every day that are no names at the beginning of a sentence.
    common: &[(
        "
abend abende absprache adresse alkohol allergie alltag alter angebot angst anfang anruf
antrag antwort anwalt anwältin apfel arbeit arbeitgeber arbeitstag art arzt ärztin aufgabe
auge augen ausbildung ausflug auto bad bahn bahnhof ball balkon bank bau bedarf beispiel
bein berg berge bericht beruf besuch bett bewerbung bezug bier bild biologie blut boden
brief brille brot bruder brüder buch bücher büro bus butter café chef chefin computer dank
daten datum deckel dienst diät ding dinge dorf drucker durst eier eis eltern ende enkel
enkelin entscheidung erdnuss erdnüsse erdnüssen essen fach fahrer fahrrad fall familie farbe
feier ferien fernsehen fest fieber film firma fisch fleisch flug flughafen form frage fragen
frau frauen freizeit freude freund freunde freunden freundin freundinnen frühstück fuß
fußball garten gast gäste geburt geburtstag gefühl geld gemüse gerät gericht geschäft
geschichte geschwister gesicht gespräch gesundheit getränk gewicht gitarre glas gluten glück
grad großeltern großmutter großvater grund gruppe hand handy haus hause haustier haustiere
heimat hemd herz herr hilfe himmel hobby hochzeit hof hotel hund hunde hunger idee
information informationen inhalt internet jahr jahre jahren jahres job junge kaffee kalender
karte käse kasse katze katzen kaufmann keller kind kinder kindern kirche klasse klausur
klavier kleid kleidung koffer kollege kollegen kollegin kollegium kompromiss kontakt konto
konzert kopf kopfschmerzen kosten küche kuchen kunde kunden kundin kunst kurs laden laktose
land leben lehrer lehrerin leute licht liebe liebling lied liste lohn luft lust mädchen
maler mann männer mannschaft markt maschine meer meinung mensch menschen miete mieter milch
minute minuten mitarbeiter mitarbeiterin mitte mittag mittagessen moment monat monate
monaten morgen motorrad müll museum musik mutter nachbar nachbarin nachbarn nachmittag
nachricht nacht name namen natur netz notiz nummer nüsse nüssen obst oma onkel opa ordnung
ort paar papier park partner partnerin pause person personen pferd pflanze pilz pilze plan
plätze platz polizei post preis problem probleme produkt programm projekt projekte prüfung
quelle rad radio rat raum rechner recht rechnung regel regen reihe reis reise restaurant
rind rolle rose rücken ruf ruhe sache sachen saft salat salz satz schatz schiff schloss
schlüssel schmerzen schnee schokolade schreibtisch schritt schuh schuhe schule schüler
schulter schwein schweinefleisch schwester schwestern schwimmbad see seite sinn sitzung sohn
söhne sonne sorge spaß spiel spiele sport sprache sprachen stadt stelle steuer stimme stock
strand straße stress stück student studentin studium stuhl stunde stunden suppe system tag
tage tagen tante tasche tasse team tee teil telefon tempo tennis termin termine text thema
ticket tier tiere tisch tochter töchter tod ton tor training treffen treppe trinken tür typ
überblick uhr umzug unfall universität unterlagen unterricht urlaub vater veganer veganerin
vegetarier vegetarierin verein vergleich verkehr vertrag vertrieb verwandte video vogel
vorliebe vorschlag vorteil wagen wahl wald wand wasser wechsel weg wein weise welt wert
wetter wind woche wochen wochenende wochenenden wohnung wolle wort worte wörter wunsch zahl
zahn zahnarzt zahnärztin zeit zeiten zeitung zelt zeug ziel zimmer zucker zug zukunft
zusammenhang zustand zweck zwilling zwillinge nutzer nutzerin benutzer benutzerin anwender
anwenderin assistent gegenstand üblichen folgendes folgende wesentlichen allgemeinen ehrlich
nase arm arme haar haare kaffeemaschine zigaretten zigarette raucher raucherin musiker
musikerin ingenieur ingenieurin software baby hafen insel fluss turm brücke tassen gläser
flasche flaschen liter kilo gramm meter kilometer prozent euro menge kiste packung dose
teller löffel
",
        "",
    )],
    decimal_comma: true,
    capital_nouns: true,
    asking: &[(
        "was wer wen wem wo woher wohin wann warum wieso weshalb wie welche welcher welches welchen welchem hat hatte hatten war waren wurde wurden worden gibt es etwas",
        "Was hat sie gekauft?",
    )],
    correcting: &[(
        "jetzt nun stattdessen inzwischen mittlerweile verschoben geändert umgezogen neuer neue neues neuerdings korrektur ersetzt abgesagt zurückgebracht statt",
        "Der Schlüssel liegt jetzt im Schrank.",
    )],
    ..LanguageTable::EMPTY
};
