//! Italian.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    function: "\
il lo la i gli le l un uno una di del dello della dei degli delle dell a al allo alla ai agli alle all da dal dallo \
dalla dai dagli dalle dall in nel nello nella nei negli nelle nell con su sul sullo sulla sui sugli sulle sull per \
tra fra e ed ma però perché che chi cui quale quali quando dove come io tu lui lei noi voi loro mi ti si ci vi ne mio \
mia miei mie tuo tua suo sua suoi sue nostro nostra nostri nostre è sono era erano sei siamo essere stato stata ha \
hanno ho aveva avere vogliono fanno va vanno molto anche altro altra altri altre stesso stessa questo questa questi \
queste quello quella quelli quelle qui lì poi inoltre tuttavia quindi perciò così grazie ciao anzi siete hai abbiamo \
avete né me te tuoi tue vostro vostra egli ella essi qualcuno ciò d",
    asking: "cosa quanto quanta quanti avevano",
    telling: "\
o se può possono deve devono vuole fa più meno ancora già sempre spesso solo tutto tutta tutti tutte ogni ora adesso \
oggi ieri domani dopo prima mentre attualmente oppure non mai niente nulla nessun nessuno nessuna neanche nemmeno \
neppure senza quasi appena salvo tranne eccetto soltanto purché forse probabilmente magari possibilmente \
presumibilmente apparentemente posso poteva potrebbe potrebbero devo doveva dovrebbe dovrebbero voglio voleva \
vorrebbe bisogna credo crede pensa penso suppongo sembra sembrava pare dubita dubito spero qualche alcuni alcune vari \
varie molti molte poco poca pochi poche entrambi maggior metà talvolta raramente solito benché finché durante smette \
smesso rifiuta rifiutato evita dimentica nega ex falso falsa contro troppo mica affatto",
    common: "\
lavora abita preferisce studia parla gioca mangia beve prende viaggia conosce piace piacciono detesta detto chiesto \
fratello sorella figlia figlio figli moglie marito amico amica macchina riunione progetto squadra utente purtroppo \
fortunatamente promemoria nonna nonno zio zia cane gatto medico indirizzo numero ordine fattura nuovo nuova ultimo \
ultima primo prossimo prossima diversi ricorda signora signor nato nata onestamente praticamente diciamo",
    numbers: "\
zero 0 due 2 tre 3 quattro 4 cinque 5 sette 7 otto 8 nove 9 dieci 10 undici 11 dodici 12 tredici 13 quattordici 14 \
quindici 15 venti 20 trenta 30 quaranta 40 cinquanta 50 sessanta 60 settanta 70 ottanta 80 novanta 90 cento 100 mille \
1000 primo primo secondo secondo seconda secondo terzo terzo terza terzo milione milione milioni milioni",
    correcting: "ora adesso invece spostato spostata cambiato cambiata nuovo nuova annullato rimandato",
    abbreviations: "sig dott prof avv ecc pag",
    negations: "\
non no mai niente nulla nient nessun nessuno nessuna né senza neanche nemmeno neppure mica",
    relative: "\
ieri oggi domani adesso attualmente recentemente stasera stamattina stanotte ultimamente quest'anno poco_fa \
al_momento",
    unless: "ora=ogni_mezza_prima_ultima_un_una_quarta_alla",
    shifts: "\
ultimo ultima ultimi ultime scorso scorsa scorsi scorse prossimo prossima prossimi prossime questo questa questi \
queste",
    shifts_behind: "scorso scorsa scorsi scorse prossimo prossima prossimi prossime passato passata",
    spans: "\
giorni settimana settimane weekend mese mesi trimestre anno anni decennio secolo primavera estate autunno inverno \
stagione notte sera natale pasqua",
    ago_behind: "fa",
    amounts: "un una un' qualche alcuni alcune pochi poche molti molte",
    months: "\
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    weekdays: "lunedì martedì mercoledì giovedì venerdì sabato/sabati domenica/domeniche",
    years: "nel dal fino anno del estate primavera autunno inverno",
    subjects: "lui",
    defining: "che cui",
    parties: "io m mi me mio mia miei mie noi ci nostro nostra nostri nostre",
    marks_names: true,
    ..LanguageTable::EMPTY
};
