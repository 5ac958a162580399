//! Closed-class words and frequent sentence openers of the languages other than English.

use super::{ALL, DE, ES, FR, IT, Langs, NL, PL, PT, RU, SV, TR};

/// Function words by language.
pub(super) const FUNCTION: &[(Langs, &str)] = &[
    (DE, "
der die das den dem des ein eine einen einem einer eines und oder aber denn sondern doch weil dass
daß wenn als ob wie wo wer was wann warum wieso weshalb welcher welche welches ich du er sie es wir
ihr mich dich sich uns euch ihm ihn ihnen mir dir mein meine meinen meinem meiner meines dein deine
deinen deinem deiner sein seine seinen seinem seiner seines ihre ihren ihrem ihrer ihres unser
unsere unseren unserem unserer euer eure in im an am auf aus bei beim mit nach von vom vor zu zum
zur über unter neben zwischen durch für gegen ohne um bis seit während wegen trotz ab außer ist
sind war waren bin bist sei wird werden wurde wurden hat haben hatte hatten kann können konnte muss
müssen musste soll sollen sollte will wollen wollte darf dürfen mag mögen möchte möchten auch noch
schon nur sehr so dann dort hier da heute immer oft manchmal meistens mehr viel viele wenig wenige
alle alles jeder jede jedes jeden jedem etwas man dies diese dieser dieses diesen diesem jene
außerdem jedoch deshalb daher trotzdem eigentlich vielleicht wahrscheinlich natürlich inzwischen
mittlerweile derzeit aktuell zurzeit früher später bald gerade jetzt damals danach davor dabei
dafür damit daran darauf davon dazu darüber zudem ebenfalls laut gemäß bitte ja hallo übrigens also
eben halt wohl zwar gern gerne lieber am ins ans einmal selbst sowie sowohl
"),
    (FR, "
le la les l un une des du de d au aux et ou mais donc or car si que qu qui quoi dont où quand
comment pourquoi je j tu il elle on nous vous ils elles me m te t se s lui leur y en ce c cet cette
ces mon ma mes ton ta tes son sa ses notre nos votre vos leurs à dans par pour sur sous avec chez
vers entre depuis pendant avant après contre selon est sont était étaient suis es sommes êtes été être
a ai as avons avez ont avait avaient avoir fait faire va vont peut peuvent doit doivent veut très
plus aussi encore toujours souvent parfois déjà bien peu beaucoup trop tout tous toute toutes
chaque quelque quelques autre autres même mêmes comme alors puis ensuite enfin ici là actuellement
maintenant aujourd'hui hier demain cependant pourtant toutefois néanmoins ainsi oui lors lorsque
lorsqu puisque puisqu jusqu parce tandis afin malgré environ merci bonjour voici voilà cela ça ceci
celui celle ceux
"),
    (ES, "
el la los las un una unos unas de del al y e o u pero sino porque que qué quien quién cual cuál
cuando cuándo donde dónde como cómo si sí yo tú él ella ello nosotros ustedes ellos ellas me te se
le les lo nos os mi mis tu tus su sus nuestro nuestra nuestros nuestras a en con por para sobre bajo
entre hasta desde hacia según durante ante tras contra es son era eran fue fueron soy eres somos
ser está están estaba estoy estar ha han he hay había haber tiene tienen tenía tener puede pueden
debe deben quiere quieren va van hace muy más menos también además todavía aún ya siempre
normalmente todo toda todos todas cada otro otra otros otras mismo misma mucho mucha muchos muchas
poco pocos este esta estos estas ese esa esos esas esto eso aquel aquella aquí ahí allí ahora hoy
ayer mañana entonces luego después antes mientras aunque actualmente sin embargo gracias hola
tampoco así tan tanto cuyo cual quizás suele
"),
    (IT, "
il lo la i gli le l un uno una di del dello della dei degli delle dell a al allo alla ai agli alle
all da dal dallo dalla dai dagli dalle dall in nel nello nella nei negli nelle nell con su sul
sullo sulla sui sugli sulle sull per tra fra e ed o ma però perché che chi cui quale quali quando
dove come se io tu lui lei noi voi loro mi ti si ci vi ne lo gli mio mia miei mie tuo tua suo sua
suoi sue nostro nostra nostri nostre è sono era erano sei siamo essere stato stata ha hanno ho
aveva avere può possono deve devono vuole vogliono fa fanno va vanno molto più meno anche ancora
già sempre spesso solo tutto tutta tutti tutte ogni altro altra altri altre stesso stessa questo
questa questi queste quello quella quelli quelle qui lì ora adesso oggi ieri domani poi dopo prima
mentre attualmente inoltre tuttavia quindi perciò così grazie ciao anzi oppure
"),
    (PT, "
o a os as um uma uns umas de do da dos das em no na nos nas ao à aos às e ou mas porque que quem
qual quais quando onde como se eu tu ele ela nós vós eles elas você vocês me te lhe lhes meu minha
meus minhas teu tua seu sua seus suas nosso nossa nossos nossas com por para pelo pela pelos pelas
sobre sob entre até desde durante contra é são era eram foi foram sou ser está estão estava estar há
tem têm tinha ter pode podem deve devem quer querem vai vão faz muito mais menos também ainda já
sempre todo toda todos todas cada outro outra outros outras mesmo mesma este esta estes estas esse
essa esses essas isto isso aquele aquela aqui ali lá agora hoje ontem amanhã então depois antes
enquanto embora atualmente além dela dele delas deles neste nesta nisso nele nela dia obrigado obrigada olá num numa costuma
"),
    (NL, "
de het een en of maar want dat die dit deze wie wat waar wanneer waarom hoe als ik jij je hij zij
ze wij we jullie mij me jou hem haar ons hun mijn jouw zijn onze in op aan bij met naar van voor
door over onder tussen tegen om uit tot sinds tijdens na te is ben bent was waren wordt worden werd
heeft hebben had hadden kan kunnen kon moet moeten wil willen mag mogen zal zullen zou ook nog al
heel erg zeer veel meer weinig alle alles elke elk iedere ieder iets er daar hier dan toen nu
vandaag gisteren morgen altijd vaak soms meestal alleen echter daarom bovendien momenteel tegenwoordig
eigenlijk misschien ja hallo bedankt graag liever zelf toch wel
"),
    (RU, "
и а но или что чтобы если когда где куда откуда как почему зачем кто чей который которая которое
которые я ты он она оно мы вы они меня тебя его её ее ему ей нас вас их мне тебе нам вам им мной
мой моя моё мои моего моей твой твоя свой своя своё свои своего своей своему своим наш наша наши
ваш ваша этот эта это эти этого этой тот та то те того той в во на с со к ко у о об от до из за по
под над при про через для между перед после около среди кроме быть был была было были есть будет
будут может могут можно нужно надо должен должна очень уже ещё еще также тоже только лишь же бы ли
вот там тут здесь сейчас теперь тогда потом затем всегда часто иногда обычно весь вся всё все всех
каждый каждая каждую другой другая другие сам сама сами более менее много мало несколько потому
поэтому однако хотя пока да привет спасибо кстати недавно сегодня вчера завтра так такой такая
раньше теперь зато или либо
і та що це він вона вони ми як у з до від для його її їх є був була було дуже також тільки але
"),
    (PL, "
i oraz a ale lub albo że żeby jeśli kiedy gdzie jak dlaczego kto co który która które ja ty on ona
ono my wy oni one mnie ciebie jego jej ich mój moja moje swój swoja swoje ten ta to te tego tej w
we na z ze do od po pod nad przy przez dla między przed u o za jest są był była było byli będzie ma
mają miał miała może mogą musi bardzo już jeszcze też także tylko tam tu tutaj teraz potem zawsze
często czasami każdy każda inny inna więc jednak się obecnie dzisiaj wczoraj jutro
"),
    (SV, "
och eller men att det den de en ett som på i av för med till från om vid under över efter före mellan
är var har hade kan ska skulle vill måste blir blev han hon jag du vi ni mig dig sig oss min mitt
mina sin sitt sina hans hennes deras också bara mycket mer när där här nu sedan alltid ofta ibland
og eller det den er på til fra av jeg ikke hun ham hende hans sin deres også meget mere når
"),
    (TR, "
ve veya ama fakat için ile bu şu o bir de da ki mi ne nasıl neden ben sen biz siz onlar benim senin
onun bizim çok daha en gibi kadar sonra önce her bütün ya hem çünkü eğer olarak olan oldu olduğunu var
göre artık şimdi bugün dün yarın
"),
];

/// Frequent openers and everyday words which are no names.
pub(super) const COMMON: &[(Langs, &str)] = &[
    (FR, "
habite travaille aime adore préfère possède parle joue mange boit prend vit étudie utilise souhaite
voudrait demande évite déteste mère père frère sœur fille fils mari femme enfant enfants ami amie
voiture maison réunion rendez-vous projet équipe client cliente utilisateur utilisatrice
malheureusement heureusement franchement personnellement normalement généralement récemment
apparemment finalement évidemment concernant suite pensez note attention rappel madame monsieur
tante oncle grand-mère grand-père chien chat médecin adresse numéro livraison facture né née
plusieurs certains certaines chacun ancien ancienne petit petite grand grande nouveau nouvelle
honnêtement sincèrement hormis seul seule dernier dernière premier première prochain
"),
    (ES, "
vive trabaja prefiere estudia habla juega come bebe toma usa necesita viaja lleva conoce
compra llegó nació dijo dice pidió quería cree piensa parece empezó dejó odia evita
madre padre hermano hermana hija hijo hijos esposa esposo marido mujer amigo amiga coche
casa reunión proyecto equipo cliente clienta usuario usuaria desgraciadamente afortunadamente
francamente personalmente generalmente recientemente finalmente básicamente realmente nota
recordatorio importante abuela abuelo tío tía perro gato médico dirección número pedido factura
nuevo nueva último última primer primera próximo próxima algunos algunas varios varias creo
pienso supongo recuerda señora señor vivo trabajo estudio hablo gusta gustan encanta encantan duele
cumple sale entra llega paga cuesta juntos solo sólo
"),
    (IT, "
vive lavora abita preferisce studia parla gioca mangia beve prende usa viaggia conosce
compra piace piacciono adora odia evita detesta dice disse detto chiesto vuole vorrebbe crede pensa sembra madre padre fratello
sorella figlia figlio figli moglie marito amico amica macchina casa riunione progetto squadra cliente
utente purtroppo fortunatamente francamente personalmente generalmente recentemente finalmente nota
promemoria importante nonna nonno zio zia cane gatto medico indirizzo numero ordine fattura nuovo
nuova ultimo ultima primo prima prossimo prossima alcuni alcune diversi credo penso suppongo ricorda
signora signor nato nata onestamente sinceramente praticamente diciamo
"),
    (PT, "
mora vive trabalha prefere gosta adora estuda fala joga come bebe toma usa precisa viaja leva conhece
comprou disse diz pediu acha pensa parece nasceu odeia evita mãe pai irmão irmã filha filho filhos
esposa marido mulher amigo amiga carro casa reunião projeto equipe equipa cliente usuário usuária
infelizmente felizmente francamente pessoalmente geralmente recentemente finalmente basicamente
realmente nota lembrete importante avó avô tio tia cachorro cão gato médico endereço número pedido
fatura novo nova último última primeiro primeira próximo próxima alguns algumas vários várias acho
penso lembre senhora senhor sinceramente honestamente
"),
    (NL, "
woont werkt houdt studeert spreekt speelt eet drinkt gebruikt reist kent kocht zegt vindt denkt
geboren moeder vader broer zus dochter zoon vrouw man vriend vriendin kinderen auto huis vergadering
project team klant gebruiker helaas gelukkig eerlijk persoonlijk meestal onlangs uiteindelijk let
herinnering belangrijk oma opa oom tante hond kat dokter adres nummer bestelling factuur nieuwe
laatste eerste volgende sommige verschillende mevrouw meneer volgens gezien
"),
    (RU, "
живёт живет работает любит предпочитает учится говорит играет ест пьёт пьет носит использует хочет
просит думает считает знает купил купила родился родилась сказал сказала мама папа мать отец брат
сестра дочь сын дети муж жена друг подруга машина дом встреча проект команда клиент клиентка
пользователь пользовательница обычно честно кажется наверное возможно вероятно например бабушка дедушка дядя
тётя собака кошка кот врач адрес номер заказ счёт новый новая последний первая первый следующий
некоторые разные важно помни запомни напоминание заметка конечно вообще просто летом зимой весной
осенью утром вечером днём ночью ребёнок дочка сынок коллега начальник директор поезд рейс
"),
    (PL, "
zresztą podobno chyba właściwie ostatnio zazwyczaj naprawdę wydaje moim zdaniem według dlatego ponadto poza mieszka pracuje lubi woli uczy mówi gra je pije nosi używa chce prosi myśli zna kupił kupiła matka
ojciec brat siostra córka syn dzieci mąż żona przyjaciel samochód dom spotkanie projekt zespół klient
klientka użytkownik niestety zwykle szczerze ważne przypomnienie babcia dziadek pies kot lekarz adres
numer nowy nowa ostatni pierwszy
"),
    (SV, "
bor arbetar jobbar gillar föredrar studerar talar spelar äter dricker använder mamma pappa bror syster
dotter son barn man fru vän bil hus möte projekt kund användare tyvärr vanligtvis viktigt ny senaste
"),
    (TR, "
yaşıyor çalışıyor seviyor istiyor oturuyor konuşuyor oynuyor kullanıyor tercih ediyor annesi babası
kardeşi kızı oğlu eşi arkadaşı toplantı proje kullanıcı müşteri genellikle bence aslında maalesef
önemli yeni geçen gelecek her galiba sanırım gerçekten ayrıca zaten
"),
    (ALL, "
ο η το οι τα τον την τους τις του της των στο στη στην στον στις και αλλά που για με από σε ότι πως δεν είναι
ήταν έχει είχε νομίζω πιστεύω μάλλον συνήθως τελικά επίσης βασικά ευτυχώς δυστυχώς σήμερα χθες αύριο μένει
δουλεύει εργάζεται του της μας σας μου σου ένας μία ένα
але він вона його її вони це здається взагалі насправді зазвичай мабуть
"),
];

/// Verbs at the head of a clause, by which a further clause is known.
pub(super) const VERBS: &str = "
isst trinkt mag liebt wohnt lebt arbeitet spielt hasst nutzt spricht kommt geht fährt hat ist war
mange boit aime vit habite travaille joue est sont parle come bebe vive trabaja juega es está tiene
habla gusta prefiere mangia beve lavora abita gioca ha parla preferisce mora trabalha gosta joga é
tem fala eet drinkt woont werkt houdt heeft ест пьёт пьет любит живёт живет работает играет носит
prefere préfère bevorzugt raucht fume fuma rookt курит
";

/// German articles, possessives and contractions: what follows is an ordinary noun.
pub(super) const GERMAN_ARTICLES: &str = "
der die das den dem des ein eine einen einem einer eines mein meine meinen meinem meiner meines dein
deine deinen deinem deiner sein seine seinen seinem seiner seines ihr ihre ihren ihrem ihrer ihres
unser unsere unseren unserem unserer euer eure kein keine keinen keinem keiner im am zum zur vom
beim ins ans jeder jede jedes jeden jedem dieser diese dieses diesen diesem alle viele wenige mehr
viel wenig etwas einige mehrere beide manche welche welcher jener
";

/// German nouns of everyday life, which are capitalised without being names.
pub(super) const GERMAN_NOUNS: &str = "
abend abende absprache adresse alkohol allergie alltag alter angebot angst anfang anruf antrag
antwort anwalt anwältin apfel arbeit arbeitgeber arbeitstag art arzt ärztin aufgabe auge augen ausbildung ausflug
auto bad bahn bahnhof ball balkon bank bau bedarf beispiel bein berg berge bericht beruf besuch bett
bewerbung bezug bier bild biologie bitte blut boden brief brille brot bruder brüder buch bücher büro
bus butter café chef chefin computer dank daten datum deckel dienst diät ding dinge dorf drucker durst eier eis
eltern ende enkel enkelin ende entscheidung erdnuss erdnüsse erdnüssen essen fach fahrer fahrrad fall
familie farbe feier ferien fernsehen fest fieber film firma fisch fleisch flug flughafen form frage
fragen frau frauen freizeit freude freund freunde freunden freundin freundinnen frühstück fuß fußball garten gast
gäste geburt geburtstag gefühl geld gemüse gerät gericht geschäft geschichte geschwister gesicht
gespräch gesundheit getränk gewicht gitarre glas gluten glück grad großeltern großmutter großvater grund gruppe hand
handy haus hause haustier haustiere heimat hemd herz herr hilfe himmel hobby hochzeit hof hotel hund hunde hunger idee
information informationen inhalt internet jahr jahre jahren jahres job junge kaffee kalender karte
käse kasse katze katzen kaufmann keller kind kinder kindern kirche klasse klausur klavier kleid
kleidung koffer kollege kollegen kollegin kollegium kompromiss kontakt konto konzert kopf kopfschmerzen kosten küche kuchen kunde
kunden kundin kunst kurs laden laktose land leben lehrer lehrerin leute licht liebe liebling lied liste lohn
luft lust mädchen maler mann männer mannschaft markt maschine meer meinung mensch menschen miete
mieter milch minute minuten mitarbeiter mitarbeiterin mitte mittag mittagessen moment monat monate
monaten morgen motorrad müll museum musik mutter nachbar nachbarin nachbarn nachmittag nachricht
nacht name namen natur netz notiz nummer nüsse nüssen obst oma onkel opa ordnung ort paar papier park partner partnerin
pause person personen pferd pflanze pilz pilze plan plätze platz polizei post preis problem probleme
produkt programm projekt projekte prüfung quelle rad radio rat raum rechner recht rechnung regel regen reihe
reis reise restaurant rind rolle rose rücken ruf ruhe sache sachen saft salat salz satz schatz schiff schloss
schlüssel schmerzen schnee schokolade schreibtisch schritt schuh schuhe schule schüler schulter schwein schweinefleisch schwester
schwestern schwimmbad see seite sinn sitzung sohn söhne sonne sorge spaß spiel spiele sport sprache
sprachen stadt stelle steuer stimme stock strand straße stress stück student studentin studium stuhl
stunde stunden suppe system tag tage tagen tante tasche tasse team tee teil telefon tempo tennis
termin termine text thema ticket tier tiere tisch tochter töchter tod ton tor training treffen
treppe trinken tür typ überblick uhr umzug unfall universität unterlagen unterricht urlaub vater
veganer veganerin vegetarier vegetarierin verein vergleich verkehr vertrag vertrieb verwandte video vogel vorliebe vorschlag
vorteil wagen wahl wald wand wasser wechsel weg wein weise welt wert wetter wetter wind woche wochen
wochenende wochenenden wohnung wolle wort worte wörter wunsch zahl zahn zahnarzt zahnärztin zeit zeiten zeitung zelt
zeug ziel zimmer zucker zug zukunft zusammenhang zustand zweck zwilling zwillinge nutzer nutzerin benutzer
benutzerin anwender anwenderin assistent gegenstand üblichen folgendes folgende wesentlichen allgemeinen
kunde kundin ehrlich nase arm arme haar haare kaffeemaschine zigaretten zigarette raucher raucherin musiker
musikerin ingenieur ingenieurin software kind baby hafen insel fluss turm brücke
";

/// German nouns after which another noun stands without being a name (`Tasse Kaffee`).
pub(super) const GERMAN_MEASURES: &str = "
tasse tassen glas gläser flasche flaschen stück liter kilo gramm meter kilometer minuten stunden
tage wochen monate jahre uhr prozent euro paar art menge kiste packung dose teller grad löffel
";
