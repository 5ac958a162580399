//! Italian.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    free: &[
        ("il lo la i gli le l", "Il cane dorme."),
        ("un uno una", "Anna ha una gatta."),
        (
            "nel nello nella nei negli nelle nell sul sulla sui sulle sullo",
            "La chiave è nel cassetto.",
        ),
        ("e ed", "Anna canta e Luca dipinge."),
        ("che", "Anna dice che Luca dorme."),
        // Also a quantity ("molto pane"), whose loss leaves a vaguer sentence.
        ("molto", "La casa è molto fredda."),
        ("è sono sei siamo siete", "Luca è mio marito."),
        ("ha hanno ho hai abbiamo avete", "Ho un gatto."),
        ("in", "La chiave è in macchina."),
    ],
    turning: &[
        (
            "non mai niente nulla nessun nessuno nessuna né neanche nemmeno neppure",
            "Non fumo.",
        ),
        ("senza quasi appena", "Viene senza giacca."),
        ("o oppure", "Prendi la rossa o la blu."),
        (
            "se salvo tranne eccetto solo soltanto purché",
            "Pago se lei chiede.",
        ),
        (
            "forse probabilmente magari possibilmente presumibilmente apparentemente",
            "Forse Anna ha l'anello.",
        ),
        (
            "
può posso possono poteva potrebbe potrebbero deve devo devono doveva dovrebbe dovrebbero
vuole voglio voleva vorrebbe bisogna
",
            "Anna deve pagare.",
        ),
        (
            "credo crede pensa penso suppongo sembra sembrava pare dubita dubito spero",
            "Credo che sia Marco.",
        ),
        (
            "
tutto tutta tutti tutte ogni qualche alcuni alcune vari varie molti molte poco poca pochi
poche entrambi maggior metà
",
            "Tutti i campioni sono puliti.",
        ),
        (
            "sempre spesso talvolta raramente solito meno più",
            "Chiude sempre la porta.",
        ),
        (
            "prima dopo da quando mentre anche_se benché perché finché durante",
            "Prima di cena prende A.",
        ),
        (
            "smette smesso rifiuta rifiutato evita dimentica nega",
            "Rifiuta di firmare.",
        ),
        ("ex falso falsa", "È il mio ex capo."),
        ("contro troppo", "Luca è contro il piano."),
    ],
    following: &[("mica affatto", "Mi piace mica.")],
    pronouns: &[
        ("io mi me mio mia miei mie", "La mia casa è fredda."),
        (
            "tu ti te tuo tua tuoi tue voi vi vostro vostra",
            "Tu mi devi soldi.",
        ),
        (
            "lui lei egli ella suo sua suoi sue si ci ne loro",
            "Lei dorme.",
        ),
        ("noi nostro nostra nostri nostre essi", "Noi paghiamo."),
        (
            "chi cui qualcuno ciò questo quello quale",
            "Qualcuno ha chiamato.",
        ),
    ],
    joining: &[("e ed ma anche inoltre", "Anna canta ma Luca dipinge.")],
    attaching: &[(
        "
di d del dello della dei degli delle dell al allo alla ai agli alle all con per a da su come
",
        "Il fratello di Anna canta.",
    )],
    relative: &[
        (
            "ieri oggi domani adesso ora attualmente recentemente presto stasera stamattina",
            "È venuta ieri.",
        ),
        (
            "scorso scorsa prossimo prossima fa ultimo ultima",
            "Viene la settimana prossima.",
        ),
        ("ancora già", "È ancora a Roma."),
    ],
    numbers: &[
        (
            "
zero 0 due 2 tre 3 quattro 4 cinque 5 sette 7 otto 8 nove 9 dieci 10 undici 11 dodici 12
tredici 13 quattordici 14 quindici 15 venti 20 trenta 30 quaranta 40 cinquanta 50 sessanta
60 settanta 70 ottanta 80 novanta 90 cento 100 mille 1000
",
            "Ha due gatti.",
        ),
        (
            "
primo primo secondo secondo seconda secondo terzo terzo terza terzo milione milione milioni
milioni
",
            "Vive al terzo piano.",
        ),
    ],
    // Free words are not exchanged for one another; these are one word.
    forms: &[("e/ed", "Anna canta e Luca dipinge.")],
    contractions: &[(
        "l'=l un'=un dell'=dell all'=all nell'=nell sull'=sull d'=d c'=ci m'=mi",
        "L'acqua è fredda.",
    )],
    abbreviations: &[("sig dott prof avv ecc pag", "Il sig. Rossi dorme.")],
    frames: &[(
        "
l_utente_ha_detto_che è_importante_ricordare_che è_importante_notare_che va_notato_che
si_noti_che ho_imparato_che
",
        "È importante ricordare che Luca non mangia maiale.",
    )],
    evidence: &[(
        "
il lo la i gli le l un uno una di del dello della dei degli delle dell a al allo alla ai
agli alle all da dal dallo dalla dai dagli dalle dall in nel nello nella nei negli nelle
nell con su sul sullo sulla sui sugli sulle sull per tra fra e ed o ma però perché che chi
cui quale quali quando dove come se io tu lui lei noi voi loro mi ti si ci vi ne mio mia
miei mie tuo tua suo sua suoi sue nostro nostra nostri nostre è sono era erano sei siamo
essere stato stata ha hanno ho aveva avere può possono deve devono vuole vogliono fa fanno
va vanno molto più meno anche ancora già sempre spesso solo tutto tutta tutti tutte ogni
altro altra altri altre stesso stessa questo questa questi queste quello quella quelli
quelle qui lì ora adesso oggi ieri domani poi dopo prima mentre attualmente inoltre tuttavia
quindi perciò così grazie ciao anzi oppure siete hai abbiamo avete non mai niente nulla
nessun nessuno nessuna né neanche nemmeno neppure senza quasi appena salvo tranne eccetto
soltanto purché forse probabilmente magari possibilmente presumibilmente apparentemente
posso poteva potrebbe potrebbero devo doveva dovrebbe dovrebbero voglio voleva vorrebbe
bisogna credo crede pensa penso suppongo sembra sembrava pare dubita dubito spero qualche
alcuni alcune vari varie molti molte poco poca pochi poche entrambi maggior metà talvolta
raramente solito benché finché durante smette smesso rifiuta rifiutato evita dimentica nega
ex falso falsa contro troppo mica affatto me te tuoi tue vostro vostra egli ella essi
qualcuno ciò d
",
        "Il cane dorme.",
    )],
    // Words of every day that are no names at the beginning of a sentence.
    common: &[(
        "
vive lavora abita preferisce studia parla gioca mangia beve prende usa viaggia conosce
compra piace piacciono adora odia detesta dice disse detto chiesto madre padre fratello
sorella figlia figlio figli moglie marito amico amica macchina casa riunione progetto
squadra cliente utente purtroppo fortunatamente francamente personalmente generalmente
recentemente finalmente nota promemoria importante nonna nonno zio zia cane gatto medico
indirizzo numero ordine fattura nuovo nuova ultimo ultima primo prossimo prossima diversi
ricorda signora signor nato nata onestamente sinceramente praticamente diciamo
",
        "",
    )],
    decimal_comma: true,
    asking: &[(
        "che cosa quale quali chi dove quando come perché quanto quanta quanti era erano aveva avevano",
        "Dove abita Anna?",
    )],
    correcting: &[(
        "ora adesso invece spostato spostata cambiato cambiata nuovo nuova annullato rimandato",
        "La chiave è ora nel cassetto.",
    )],
    ..LanguageTable::EMPTY
};
