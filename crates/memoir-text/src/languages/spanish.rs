//! Spanish.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    function: "\
el la los las un una unos unas de del al y e pero sino que qué quien quién cual cuál cuando cuándo donde dónde como \
cómo si sí yo tú él ella ello nosotros ustedes ellos ellas me te se le les lo nos os mi mis tu tus su sus nuestro \
nuestra nuestros nuestras a en con por para sobre bajo entre hacia según durante ante tras es son era eran fue fueron \
soy eres somos ser está están estaba estoy estar ha han he hay había haber tiene tienen tenía tener quieren va van \
muy también además otro otra otros otras mismo misma este esta estos estas ese esa esos esas esto eso aquel aquella \
aquí ahí allí entonces luego embargo gracias hola así tan tanto cuyo estamos hemos algún alguna mí conmigo ti usted \
vuestro vuestra nosotras alguien aquello",
    asking: "quiénes cuáles cuánto cuánta cuántos hizo",
    telling: "\
o u porque hasta desde contra puede pueden debe deben quiere hace más menos todavía aún ya siempre normalmente todo \
toda todos todas cada mucho mucha muchos muchas poco pocos ahora hoy ayer mañana después antes mientras aunque \
actualmente sin tampoco quizás suele no nunca jamás nada nadie ningún ninguno ninguna ni casi apenas salvo excepto \
sólo solo solamente quizá probablemente posiblemente supuestamente aparentemente acaso puedo podía podría podrían \
debo debía debería deberían quiero quería creo cree creía pienso piensa supongo supone parece parecía duda dudo \
espero alguno algunos algunas varios varias poca pocas ambos mayoría medio media raramente dejó dejé rehúsa rechaza \
evita olvida niega antiguo antigua ex falso falsa exmarido exmujer",
    common: "\
trabaja prefiere estudia habla juega necesita lleva conoce llegó nació dijo pidió empezó hermano hermana hija hijo \
hijos esposo mujer coche reunión proyecto equipo clienta usuario usuaria desgraciadamente afortunadamente \
recientemente básicamente recordatorio abuela abuelo tío tía perro dirección factura nuevo nueva primer primera \
recuerda señora señor vivo trabajo estudio hablo gusta gustan encanta encantan duele cumple entra llega paga cuesta \
juntos",
    numbers: "\
cero 0 dos 2 tres 3 cuatro 4 cinco 5 seis 6 siete 7 ocho 8 nueve 9 diez 10 once 11 doce 12 trece 13 catorce 14 quince \
15 veinte 20 treinta 30 cuarenta 40 cincuenta 50 sesenta 60 setenta 70 ochenta 80 noventa 90 cien 100 mil 1000 primer \
primero primero primero primera primero segundo segundo segunda segundo tercer tercero tercero tercero tercera \
tercero millón millón millones millones",
    correcting: "ahora cambió cambiado nueva nuevo trasladó movió canceló aplazó finalmente reemplazó",
    abbreviations: "sr sra dra av pág núm ud uds",
    negations: "no nunca jamás nada nadie ningún ninguno ninguna ningunos ningunas ni sin tampoco",
    relative: "\
ayer anteayer hoy ahora actualmente recientemente anoche últimamente pronto esta_noche hace_poco semana_que_viene \
mes_que_viene año_que_viene",
    unless: "mañana=la_una_cada_esta_aquella_mañana_por",
    shifts: "\
último última últimos últimas próximo próxima próximos próximas pasado pasada este esta estos estas",
    shifts_behind: "pasado pasada pasados pasadas próximo próxima próximos próximas",
    spans: "\
días semana semanas mes meses trimestre año años década siglo primavera verano otoño invierno temporada noche navidad",
    ago_before: "hace",
    ago_behind: "atrás",
    amounts: "un una unos unas pocos pocas algunos algunas varios varias muchos muchas",
    months: "\
enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre",
    weekdays: "lunes martes miércoles jueves viernes sábado/sábados domingo/domingos",
    years: "en desde hasta año del primavera verano otoño invierno",
    name_endings: "s es",
    subjects: "él ella ellos ellas",
    defining: "que quien quienes",
    parties: "yo me mi mí mis mío mía míos mías conmigo nos nosotros nosotras nuestro nuestra nuestros nuestras",
    marks_names: true,
    ..LanguageTable::EMPTY
};
