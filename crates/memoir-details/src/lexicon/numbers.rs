//! Number words and units.

use super::{ALL, DE, EN, ES, FR, IT, Langs, NL, PL, PT, RU, SV, TR};

/// Cardinals: languages, then pairs of a word and its value. A word with [`ALL`] means the number in
/// every language it could be read in.
pub(super) const CARDINALS: &[(Langs, &str)] = &[
    (ALL, "
two 2 three 3 four 4 seven 7 eight 8 ten 10 eleven 11 twelve 12 thirteen 13 fourteen 14
fifteen 15 sixteen 16 seventeen 17 eighteen 18 nineteen 19 twenty 20 thirty 30 forty 40 fifty 50
sixty 60 seventy 70 eighty 80 ninety 90 zwei 2 zwo 2 drei 3 fünf 5 sechs 6 sieben 7 neun 9 zehn 10
zwölf 12 dreizehn 13 vierzehn 14 fünfzehn 15 sechzehn 16 siebzehn 17 achtzehn 18 neunzehn 19
zwanzig 20 dreißig 30 vierzig 40 fünfzig 50 sechzig 60 siebzig 70 achtzig 80 neunzig 90
два 2 две 2 двух 2 двум 2 двумя 2 двое 2 двоих 2 три 3 трех 3 трём 3 тремя 3 трое 3 троих 3 четыре 4 четырех 4 четверо 4 четырем 4
пять 5 пяти 5 пятью 5 пятеро 5 шесть 6 шести 6 семь 7 семи 7 восемь 8 восьми 8 девять 9 девяти 9 десять 10
десяти 10 одиннадцать 11 двенадцать 12 тринадцать 13 четырнадцать 14 пятнадцать 15 шестнадцать 16
семнадцать 17 восемнадцать 18 девятнадцать 19 двадцать 20 двадцати 20 тридцать 30 тридцати 30 сорок 40 пятьдесят 50
шестьдесят 60 семьдесят 70 восемьдесят 80 девяносто 90 двести 200 триста 300 четыреста 400 пятьсот 500
дві 2 чотири 4 п'ять 5 шість 6 сім 7 вісім 8 дев'ять 9
δυο 2 τρεισ 3 τρια 3 τεσσερισ 4 τεσσερα 4 πεντε 5 εξι 6 επτα 7 οκτω 8 εννεα 9 δεκα 10
اثنان 2 اثنين 2 ثلاثه 3 ثلاث 3 اربعه 4 اربع 4 خمسه 5 خمس 5 سته 6 سبعه 7 سبع 7 ثمانيه 8 ثماني 8 تسعه 9 تسع 9 عشره 10 عشر 10 عشرين 20 ثلاثين 30
ولدان 2 ولدين 2 طفلان 2 طفلين 2
שני 2 שתי 2 שניים 2 שתיים 2 שלושה 3 שלוש 3 ארבעה 4 ארבע 4 חמישה 5 חמש 5 שישה 6 שש 6 שבעה 7 שבע 7 שמונה 8 תשעה 9 תשע 9 עשרה 10 עשר 10
עשרים 20 שלושים 30
दो 2 तीन 3 चार 4 पांच 5 पाँच 5 छह 6 छः 6 सात 7 आठ 8 नौ 9 दस 10 ग्यारह 11 बारह 12 पंद्रह 15 बीस 20 तीस 30
두 2 둘 2 세 3 셋 3 네 4 넷 4 다섯 5 여섯 6 일곱 7 여덟 8 아홉 9 열 10 스무 20 서른 30 마흔 40 쉰 50
"),
    // Words of further languages that are no words of any other.
    (ALL, "
deux 2 trois 3 huit 8 neuf 9 douze 12 cuatro 4 cinco 5 siete 7 ocho 8 nueve 9 doce 12 veinte 20 treinta 30
cinque 5 dieci 10 dodici 12 dois 2 duas 2 tres 3 oito 8 twee 2 drie 3 vijf 5 zeven 7 negen 9 twaalf 12
dwa 2 dwie 2 trzy 3 cztery 4 sześć 6 siedem 7 osiem 8 dziewięć 9 dziesięć 10 dwanaście 12 fyra 4 åtta 8
"),
    (EN, "five 5 six 6 nine 9 zero 0 "),
    (FR, "
deux 2 trois 3 quatre 4 cinq 5 six 6 sept 7 huit 8 neuf 9 dix 10 onze 11 douze 12 treize 13 quatorze 14
quinze 15 seize 16 vingt 20 trente 30 quarante 40 cinquante 50 soixante 60 zéro 0 cent 100
"),
    (DE, "vier 4 acht 8 elf 11 null 0 "),
    (NL, "
twee 2 drie 3 vier 4 vijf 5 zes 6 zeven 7 acht 8 negen 9 tien 10 elf 11 twaalf 12 dertien 13 veertien 14
vijftien 15 zestien 16 zeventien 17 achttien 18 negentien 19 twintig 20 dertig 30 veertig 40 vijftig 50 zestig 60 nul 0
"),
    (ES, "
dos 2 tres 3 cuatro 4 cinco 5 seis 6 siete 7 ocho 8 nueve 9 diez 10 once 11 doce 12 trece 13 catorce 14
quince 15 dieciséis 16 diecisiete 17 dieciocho 18 diecinueve 19 veinte 20 veintiún 21 veintiuno 21 veintidós 22 veintitrés 23
veinticuatro 24 veinticinco 25 treinta 30 cuarenta 40 cincuenta 50 sesenta 60 setenta 70 ochenta 80 noventa 90 cero 0 cien 100 ciento 100
doscientos 200 trescientos 300 quinientos 500
"),
    (PT, "
dois 2 duas 2 três 3 quatro 4 cinco 5 seis 6 sete 7 oito 8 nove 9 dez 10 onze 11 doze 12 treze 13 catorze 14 quatorze 14
quinze 15 dezesseis 16 dezassete 17 dezessete 17 dezoito 18 dezenove 19 vinte 20 trinta 30 quarenta 40 cinquenta 50
sessenta 60 setenta 70 oitenta 80 noventa 90 cem 100 cento 100 zero 0
"),
    (IT, "
due 2 tre 3 quattro 4 cinque 5 sei 6 sette 7 otto 8 nove 9 dieci 10 undici 11 dodici 12 tredici 13 quattordici 14
quindici 15 sedici 16 diciassette 17 diciotto 18 diciannove 19 venti 20 trenta 30 quaranta 40 cinquanta 50 sessanta 60
settanta 70 ottanta 80 novanta 90 cento 100 zero 0
"),
    (PL, "
dwa 2 dwie 2 dwoje 2 dwóch 2 trzy 3 troje 3 trzech 3 cztery 4 czworo 4 pięć 5 pięcioro 5 sześć 6 siedem 7 osiem 8 dziewięć 9
dziesięć 10 dwanaście 12 piętnaście 15 dwadzieścia 20 trzydzieści 30 sto 100
"),
    (RU, "сто 100 ста 100 ноль 0 "),
    (SV, "två 2 to 2 tre 3 fyra 4 fire 4 fem 5 sex 6 sju 7 åtta 8 nio 9 tio 10 tolv 12 tjugo 20 trettio 30 "),
    (TR, "iki 2 üç 3 dört 4 beş 5 altı 6 yedi 7 sekiz 8 dokuz 9 on 10 yirmi 20 otuz 30 "),
];

/// Words for one that are articles or pronouns as well.
pub(super) const ONES: &str = "one ein eine un une uno una um uma één один одна одно";

/// Words with which an amount or a time may begin without being a number.
pub(super) const TRIGGERS: &str = "
a an half halb quarter viertel halbe halben halber demi media mezzo mezza meia полчаса половина dozen dutzend
minus минус menos meno moins eins
";

/// Scales: word and power of ten.
pub(super) const SCALES: &[(Langs, &str)] = &[
    (ALL, "
hundred 2 hundert 2 honderd 2 thousand 3 tausend 3 duizend 3 million 6 millions 6 millionen 6 millones 6
millón 6 milioni 6 milione 6 milhões 6 milhão 6 miljoen 6 mio 6 mln 6 milliarde 9 milliarden 9
milliard 9 milliards 9 miljard 9 миллион 6 миллиона 6 миллионов 6 млн 6 тысяч 3 тысячи 3 тысяча 3 тыс 3 млрд 9
миллиардов 9 lakh 5 crore 7 لاف 3 الف 3 مليون 6 אלף 3 מיליון 6 हजार 3 हज़ार 3 लाख 5
"),
    (EN, "billion 9 billions 9 trillion 12 grand 3"),
    (FR, "mille 3"),
    (ES, "mil 3"),
    (PT, "mil 3"),
    (IT, "mille 3 mila 3"),
];

/// Ordinals and their values.
pub(super) const ORDINALS: &[(Langs, &str)] = &[
    (EN, "
first 1 second 2 third 3 fourth 4 fifth 5 sixth 6 seventh 7 eighth 8 ninth 9 tenth 10 eleventh 11
twelfth 12 thirteenth 13 fourteenth 14 fifteenth 15 sixteenth 16 seventeenth 17 eighteenth 18
nineteenth 19 twentieth 20 thirtieth 30 hundredth 100
"),
    (DE, "
zweite 2 zweiten 2 zweiter 2 zweites 2 dritte 3 dritten 3 dritter 3 drittes 3 vierte 4 vierten 4
fünfte 5 fünften 5 sechste 6 sechsten 6 siebte 7 siebten 7 achten 8 neunte 9 neunten 9 zehnte 10 zehnten 10
"),
    (FR, "deuxième 2 troisième 3 quatrième 4 cinquième 5 sixième 6 septième 7 huitième 8 neuvième 9 dixième 10"),
    (ES, "segundo 2 segunda 2 tercero 3 tercera 3 tercer 3 cuarto 4 cuarta 4 quinto 5 quinta 5"),
    (IT, "secondo 2 seconda 2 terzo 3 terza 3 quarto 4 quarta 4 quinto 5 quinta 5"),
    (PT, "segundo 2 terceiro 3 terceira 3 quarto 4 quarta 4 quinto 5 quinta 5"),
    (NL, "tweede 2 derde 3 vierde 4 vijfde 5 zesde 6 zevende 7 achtste 8"),
    (RU, "второй 2 вторая 2 второго 2 третий 3 третья 3 третьем 3 третьего 3 четвертый 4 пятый 5 пятом 5 пятого 5"),
];

/// Words for a multiple: word, value and whether it multiplies what follows.
pub(super) const MULTIPLES: &[(Langs, &str)] = &[
    (EN, "twice 2 thrice 3 double 2 doubled 2 triple 3 tripled 3"),
    (
        DE,
        "zweimal 2 dreimal 3 viermal 4 fünfmal 5 doppelt 2 doppelte 2",
    ),
    (ES, "doble 2"),
    (FR, "double 2"),
    (RU, "дважды 2 трижды 3"),
    (NL, "tweemaal 2 driemaal 3"),
];

/// Words that say a small number without stating it; they carry it but are no details.
pub(super) const CARRIERS: &str = "
couple 2 pair 2 twins 2 both 2 beide 2 beiden 2 tous 2 ambos 2 entrambi 2 оба 2 обе 2 triplets 3 trio 3
zwillinge 2 paar 2 single 1 sole 1 alone 1
";

/// A unit of measure: its base unit, how many of the base unit it is, and its names.
pub(super) struct UnitRow {
    pub(super) base: &'static str,
    pub(super) factor: f64,
    pub(super) names: &'static str,
}

const fn row(base: &'static str, factor: f64, names: &'static str) -> UnitRow {
    UnitRow {
        base,
        factor,
        names,
    }
}

/// Units and currencies. Metric units and times convert into their base unit; a name in two rows
/// would be ambiguous, so there is none.
pub(super) const UNITS: &[UnitRow] = &[
    row(
        "m",
        1000.0,
        "km kms kilometer kilometers kilometre kilometres kilometern kilomètre kilomètres kilómetro kilómetros chilometro chilometri quilômetro quilômetros quilómetros км километр километра километров 킬로미터 公里 千米 キロメートル キロ كيلومتر קילומטר किलोमीटर किमी",
    ),
    row(
        "m",
        1.0,
        "m meter meters metre metres metern mètre mètres metro metros metri м метр метра метров 미터 米 公尺 メートル متر מטר मीटर",
    ),
    row(
        "m",
        0.01,
        "cm centimeter centimeters centimetre centimetres zentimeter centimètres centímetros centimetri см сантиметр сантиметров 센티 厘米 公分 センチ",
    ),
    row(
        "m",
        0.001,
        "mm millimeter millimeters millimetre millimetres мм",
    ),
    row(
        "mile",
        1.0,
        "mile miles mi meile meilen milla millas miglia mijl",
    ),
    row("ft", 1.0, "ft foot feet"),
    row("inch", 1.0, "inch inches zoll"),
    row("yd", 1.0, "yard yards yd"),
    row(
        "g",
        1000.0,
        "kg kgs kilo kilos kilogram kilograms kilogramm kilogrammes kilogramos chilo chili chilogrammi quilo quilos кг килограмм килограмма килограммов 킬로그램 公斤 千克 كيلو كيلوغرام קילו קילוגרם किलो किलोग्राम",
    ),
    row(
        "g",
        1.0,
        "g gram grams gramm grammes gramos grammi gramas г гр грамм граммов 그램 克 グラム غرام גרם ग्राम",
    ),
    row(
        "g",
        0.001,
        "mg milligram milligrams milligramm milligrammes miligramos мг מ\"ג",
    ),
    row("mcg", 1.0, "mcg µg μg microgram micrograms iu"),
    row("ton", 1.0, "ton tons tonne tonnes tonnen t тонн тонны"),
    row("oz", 1.0, "oz ounce ounces"),
    row("pound", 1.0, "£ gbp pound pounds quid lb lbs pfund libras"),
    row(
        "l",
        1000.0,
        "l liter liters litre litres litro litros litri л литр литра литров 리터 升 リットル لتر ליטר लीटर",
    ),
    row(
        "l",
        1.0,
        "ml milliliter milliliters millilitre millilitres мл",
    ),
    row("gal", 1.0, "gallon gallons gal"),
    row(
        "cup",
        1.0,
        "cup cups tasse tassen tasses taza tazas tazze xícaras kopjes чашки чашек",
    ),
    row(
        "s",
        1.0,
        "s sec secs second seconds sekunde sekunden secondes segundo segundos secondi seconden секунд секунды 초 秒",
    ),
    row(
        "s",
        60.0,
        "min mins minute minutes minuten minuto minutos minuti minuut мин минут минуты 분 分钟 分鐘 分間 دقيقه دقايق דקות मिनट",
    ),
    row(
        "s",
        3600.0,
        "h hr hrs hour hours stunde stunden std heure heures hora horas ora ore uur uren ч час часа часов 시간 小时 小時 時間 ساعه ساعات שעות घंटे",
    ),
    row(
        "day",
        1.0,
        "day days tag tage tagen jour jours día días giorno giorni dia dias dag dagen день дня дней 일간 天 日間 يوم ايام ימים दिन",
    ),
    row(
        "day",
        7.0,
        "week weeks wk wks woche wochen semaine semaines semana semanas settimana settimane weken неделя недели недель неделю 주 周 週 週間 星期 اسبوع اسابيع שבועות हफ्ते",
    ),
    row(
        "mon",
        1.0,
        "month months monat monate monaten mois mes meses mese mesi mês maand maanden месяц месяца месяцев 개월 个月 個月 ヶ月 か月 شهر اشهر חודשים महीने",
    ),
    row(
        "mon",
        12.0,
        "year years yr yrs jahr jahre jahren ans année années an año años anno anni ano anos jaar год года лет 년간 年间 年間 سنه سنوات שנים साल वर्ष",
    ),
    row(
        "usd",
        1.0,
        "$ usd us$ dollar dollars dólares dollari dólar dollari доллар доллара долларов 달러 美元 ドル دولار דולר डॉलर buck bucks",
    ),
    row(
        "eur",
        1.0,
        "€ eur euro euros евро 유로 欧元 ユーロ يورو אירו",
    ),
    row("cny", 1.0, "元 块 塊 rmb cny yuan 人民币"),
    row("jpy", 1.0, "¥ 円 jpy yen"),
    row("krw", 1.0, "₩ 원 krw won"),
    row("inr", 1.0, "₹ inr rupee rupees रुपये रुपए rs"),
    row(
        "rub",
        1.0,
        "₽ rub руб рубль рубля рублей rubel rubles roubles",
    ),
    row("chf", 1.0, "chf franken francs"),
    row("ils", 1.0, "₪ שקל שקלים ils shekels"),
    row("sar", 1.0, "ريال"),
    row("egp", 1.0, "جنيه"),
    row("sek", 1.0, "kr sek kronor kroner"),
    row("pln", 1.0, "zł pln złotych"),
    row("try", 1.0, "₺ lira"),
    row("cent", 1.0, "cents"),
    row(
        "%",
        1.0,
        "% percent prozent procent процент процента процентов 퍼센트 パーセント",
    ),
    row(
        "deg",
        1.0,
        "° degree degrees grad grados gradi graus graden градус градуса градусов 도 度",
    ),
    row("degc", 1.0, "celsius ℃"),
    row("degf", 1.0, "fahrenheit ℉"),
    row("m2", 1.0, "sqm qm m² m2 quadratmeter 平米 坪"),
    row("kb", 1.0, "kb"),
    row("mb", 1.0, "mb megabyte megabytes"),
    row("gb", 1.0, "gb gigabyte gigabytes gib"),
    row("tb", 1.0, "tb terabyte terabytes"),
    row("mile/h", 1.0, "mph"),
    row("km/h", 1.0, "kmh kph"),
    row("ms", 1.0, "ms millisecond milliseconds"),
    row("hz", 1.0, "hz hertz"),
    row("ghz", 1.0, "ghz"),
    row("w", 1.0, "watt watts"),
    row("kw", 1.0, "kw kilowatt"),
    row("v", 1.0, "volt volts"),
    row("kcal", 1.0, "kcal calories kalorien calorías"),
    row(
        "times",
        1.0,
        "times time x × mal fois veces vez volte vezes keer раз раза 번 次 回 مرات פעמים बार",
    ),
    row("point", 1.0, "points punkte points"),
];
