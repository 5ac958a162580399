//! Spanish.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    free: &[
        ("el la los las lo", "El perro duerme."),
        ("un una unos unas", "Ana tiene una gata."),
        ("y e", "Ana canta y Luis pinta."),
        ("que", "Ana dice que Luis duerme."),
        ("muy", "La casa es muy fría."),
        (
            "es son soy eres somos está están estoy estamos",
            "Luis es mi marido.",
        ),
        ("ha han he hemos", "Ana ha llegado."),
        ("en", "La llave está en la caja."),
    ],
    turning: &[
        (
            "no nunca jamás nada nadie ningún ninguno ninguna ni tampoco",
            "No fumo.",
        ),
        ("sin casi apenas", "Viene sin chaqueta."),
        ("o u", "Toma la roja o la azul."),
        (
            "si salvo excepto sólo solo solamente a_menos con_tal",
            "Pago si ella pregunta.",
        ),
        (
            "
quizá quizás tal_vez probablemente posiblemente a_lo_mejor supuestamente aparentemente acaso
",
            "Quizás Ana tiene el anillo.",
        ),
        (
            "
puede puedo pueden podía podría podrían debe debo deben debía debería deberían quiere quiero
quería hay_que tiene_que tengo_que va_a
",
            "Ana debe pagar.",
        ),
        (
            "creo cree creía pienso piensa supongo supone parece parecía duda dudo espero",
            "Creo que fue Marcos.",
        ),
        (
            "
todo toda todos todas cada algún alguno alguna algunos algunas varios varias mucho mucha
muchos muchas poco poca pocos pocas ambos mayoría medio media
",
            "Todas las muestras están limpias.",
        ),
        (
            "siempre a_veces normalmente suele raramente menos más",
            "Siempre cierra la puerta.",
        ),
        (
            "antes después desde mientras cuando aunque porque hasta",
            "Antes de comer toma A.",
        ),
        (
            "dejó dejé rehúsa rechaza evita olvida niega",
            "Dejó de fumar.",
        ),
        (
            "antiguo antigua ex falso falsa exmarido exmujer",
            "Es mi antiguo jefe.",
        ),
        ("contra", "Luis está contra el plan."),
    ],
    following: &[("no_en_absoluto para_nada", "Me gusta para nada.")],
    pronouns: &[
        ("yo me mí mi mis conmigo", "Mi casa es fría."),
        (
            "tú te ti tu tus usted ustedes os vuestro vuestra",
            "Tú me debes dinero.",
        ),
        ("él ella ello le les se su sus", "Ella duerme."),
        (
            "nosotros nosotras nos nuestro nuestra nuestros nuestras ellos ellas",
            "Nosotros pagamos.",
        ),
        (
            "quien quién alguien eso esto aquello cual",
            "Alguien llamó.",
        ),
    ],
    joining: &[("y e pero también además", "Ana canta pero Luis pinta.")],
    attaching: &[(
        "de del al con para por a como sobre",
        "El hermano de Ana canta.",
    )],
    relative: &[
        (
            "ayer anteayer hoy mañana ahora actualmente recientemente pronto anoche",
            "Vino ayer.",
        ),
        (
            "último última pasado pasada próximo próxima hace este_año esta_semana este_mes",
            "Viene la semana próxima.",
        ),
        ("todavía aún ya", "Aún está en Roma."),
    ],
    numbers: &[
        (
            "
cero 0 dos 2 tres 3 cuatro 4 cinco 5 seis 6 siete 7 ocho 8 nueve 9 diez 10 once 11 doce 12
trece 13 catorce 14 quince 15 veinte 20 treinta 30 cuarenta 40 cincuenta 50 sesenta 60
setenta 70 ochenta 80 noventa 90 cien 100 mil 1000
",
            "Tiene dos gatos.",
        ),
        (
            "
primer primero primero primero primera primero segundo segundo segunda segundo tercer
tercero tercero tercero tercera tercero millón millón millones millones
",
            "Vive en el tercer piso.",
        ),
    ],
    // Free words are not exchanged for one another; these are one word.
    forms: &[("y/e", "Ana canta y Luis pinta.")],
    abbreviations: &[("sr sra dra av pág núm ud uds", "La Sra. Paz duerme.")],
    frames: &[(
        "
el_usuario_mencionó_que el_usuario_dijo_que es_importante_recordar_que
es_importante_señalar_que cabe_señalar_que hay_que_tener_en_cuenta_que he_aprendido_que
",
        "Es importante recordar que Luis no come cerdo.",
    )],
    evidence: &[(
        "
el la los las un una unos unas de del al y e o u pero sino porque que qué quien quién cual
cuál cuando cuándo donde dónde como cómo si sí yo tú él ella ello nosotros ustedes ellos
ellas me te se le les lo nos os mi mis tu tus su sus nuestro nuestra nuestros nuestras a en
con por para sobre bajo entre hasta desde hacia según durante ante tras contra es son era
eran fue fueron soy eres somos ser está están estaba estoy estar ha han he hay había haber
tiene tienen tenía tener puede pueden debe deben quiere quieren va van hace muy más menos
también además todavía aún ya siempre normalmente todo toda todos todas cada otro otra otros
otras mismo misma mucho mucha muchos muchas poco pocos este esta estos estas ese esa esos
esas esto eso aquel aquella aquí ahí allí ahora hoy ayer mañana entonces luego después antes
mientras aunque actualmente sin embargo gracias hola tampoco así tan tanto cuyo quizás suele
estamos hemos no nunca jamás nada nadie ningún ninguno ninguna ni casi apenas salvo excepto
sólo solo solamente quizá probablemente posiblemente supuestamente aparentemente acaso puedo
podía podría podrían debo debía debería deberían quiero quería creo cree creía pienso piensa
supongo supone parece parecía duda dudo espero algún alguno alguna algunos algunas varios
varias poca pocas ambos mayoría medio media raramente dejó dejé rehúsa rechaza evita olvida
niega antiguo antigua ex falso falsa exmarido exmujer mí conmigo ti usted vuestro vuestra
nosotras alguien aquello
",
        "El perro duerme.",
    )],
    // Words of every day that are no names at the beginning of a sentence.
    common: &[(
        "
vive trabaja prefiere estudia habla juega come bebe toma usa necesita viaja lleva conoce
compra llegó nació dijo dice pidió empezó odia madre padre hermano hermana hija hijo hijos
esposa esposo marido mujer amigo amiga coche casa reunión proyecto equipo cliente clienta
usuario usuaria desgraciadamente afortunadamente francamente personalmente generalmente
recientemente finalmente básicamente realmente nota recordatorio importante abuela abuelo
tío tía perro gato médico dirección número pedido factura nuevo nueva último última primer
primera próximo próxima recuerda señora señor vivo trabajo estudio hablo gusta gustan
encanta encantan duele cumple sale entra llega paga cuesta juntos
",
        "",
    )],
    decimal_comma: true,
    asking: &[(
        "qué quién quiénes cuál cuáles dónde cuándo cómo cuánto cuánta cuántos por hizo tiene fue era había algún alguna",
        "¿Dónde está la llave?",
    )],
    correcting: &[(
        "ahora cambió cambiado nueva nuevo trasladó movió canceló aplazó finalmente reemplazó",
        "La llave está ahora en el cajón.",
    )],
    ..LanguageTable::EMPTY
};
