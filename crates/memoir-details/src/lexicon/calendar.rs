//! Names of months, weekdays, seasons, holidays and of days in words.

use super::{ALL, DE, EN, ES, FR, IT, Langs, NL, PL, PT, RU, SV, TR};

/// Twelve groups of names of the months, January first.
pub(super) const MONTHS: [&str; 12] = [
    "january jan januar jänner janvier enero gennaio janeiro januari января январь январе stycznia styczeń ocak يناير ינואר जनवरी",
    "february feb februar février febrero febbraio fevereiro februari февраля февраль феврале lutego şubat فبراير פברואר फरवरी",
    "march märz marzo março maart марта март марте marca mart مارس מרץ मार्च",
    "april apr avril abril aprile апреля апрель апреле kwietnia nisan ابريل אפריל अप्रैल",
    "mai mayo maggio maio mei мая май мае maja maj mayıs مايو מאי मई",
    "june jun juni juin junio giugno junho июня июнь июне czerwca haziran يونيو יוני जून",
    "july jul juli juillet julio luglio julho июля июль июле lipca temmuz يوليو יולי जुलाई",
    "august aug août agosto augustus августа август августе sierpnia ağustos اغسطس אוגוסט अगस्त",
    "september sep sept septembre septiembre settembre setembro сентября сентябрь сентябре września eylül سبتمبر ספטמבר सितंबर",
    "october oct okt oktober octobre octubre ottobre outubro октября октябрь октябре października ekim اكتوبر אוקטובר अक्टूबर",
    "november nov novembre noviembre novembro ноября ноябрь ноябре listopada kasım نوفمبر נובמבר नवंबर",
    "december dec dez dezember décembre diciembre dicembre dezembro декабря декабрь декабре grudnia aralık ديسمبر דצמבר दिसंबर",
];

/// Names of months that are other words in other languages.
pub(super) const MONTHS_BY_LANGUAGE: &[(Langs, &str, u8)] = &[
    (EN, "may", 5),
    (EN, "mar", 3),
    (FR | SV, "mars", 3),
    (DE, "mär", 3),
];

/// Seven groups of names of the weekdays, Monday first.
pub(super) const WEEKDAYS: [&str; 7] = [
    "monday mondays mon montag montags lundi lundis lunes lunedì segunda-feira maandag понедельник понедельника понедельникам понедельникам poniedziałek måndag pazartesi 월요일 月曜日 月曜 星期一 周一 週一 礼拜一 الاثنين सोमवार",
    "tuesday tuesdays tue tues dienstag dienstags mardi mardis martes martedì terça-feira terça dinsdag вторник вторника вторникам wtorek tisdag salı 화요일 火曜日 火曜 星期二 周二 週二 礼拜二 الثلاثاء मंगलवार",
    "wednesday wednesdays wed mittwoch mittwochs mercredi mercredis miércoles mercoledì quarta-feira woensdag среда среду среды среде средам środa środę onsdag çarşamba 수요일 水曜日 水曜 星期三 周三 週三 礼拜三 الاربعاء बुधवार",
    "thursday thursdays thu thur thurs donnerstag donnerstags jeudi jeudis jueves giovedì quinta-feira donderdag четверг четверга четвергам czwartek torsdag perşembe 목요일 木曜日 木曜 星期四 周四 週四 礼拜四 الخميس गुरुवार",
    "friday fridays fri freitag freitags vendredi vendredis viernes venerdì sexta-feira vrijdag пятница пятницу пятницы пятнице пятницам piątek fredag cuma 금요일 金曜日 金曜 星期五 周五 週五 礼拜五 الجمعه शुक्रवार",
    "saturday saturdays samstag samstags sonnabend samedi samedis sábado sábados sabato zaterdag суббота субботу субботы субботе субботам sobota sobotę lördag cumartesi 토요일 土曜日 土曜 星期六 周六 週六 礼拜六 السبت शनिवार",
    "sunday sundays sonntag sonntags dimanche dimanches domingo domingos domenica zondag воскресенье воскресенья воскресеньям niedziela niedzielę söndag 일요일 日曜日 日曜 星期日 星期天 周日 週日 周天 礼拜天 الاحد रविवार",
];

/// Weekday abbreviations that are other words unless capitalised in that language.
pub(super) const WEEKDAYS_BY_LANGUAGE: &[(Langs, &str, u8)] = &[
    (EN, "sat", 6),
    (EN, "sun", 7),
    (PL, "wtorki", 2),
    (TR, "pazar", 7),
];

/// Words for parts of the year, of the day and for days: key, languages, names.
pub(super) const NAMED_DAYS: &[(&str, Langs, &str)] = &[
    (
        "spring",
        ALL,
        "spring frühling frühjahr printemps primavera voorjaar весна весной весну весны wiosna wiosną våren ilkbahar 봄 春天 春季 春 الربيع אביב",
    ),
    (
        "summer",
        ALL,
        "summer summers sommer été verano estate verão zomer лето летом лета lato latem sommaren yaz 여름 夏天 夏季 夏 الصيف קיץ",
    ),
    (
        "autumn",
        ALL,
        "autumn herbst automne otoño autunno outono herfst осень осенью осени jesień jesienią hösten sonbahar 가을 秋天 秋季 秋 الخريف סתיו",
    ),
    (
        "winter",
        ALL,
        "winter winters hiver invierno inverno зима зимой зиму зимы zima zimą vintern kış 겨울 冬天 冬季 冬 الشتاء חורף",
    ),
    (
        "yesterday",
        ALL,
        "yesterday gestern ayer ieri ontem gisteren вчера wczoraj igår dün 어제 昨天 昨日 امس אתמול",
    ),
    ("yesterday", FR, "hier"),
    ("tomorrow", DE, "morgen"),
    ("tomorrow", NL, "morgen"),
    ("mañana", ES, "mañana"),
    (
        "today",
        ALL,
        "today heute aujourd'hui hoy oggi hoje vandaag сегодня dzisiaj dziś idag bugün 오늘 今天 今日 اليوم היום आज",
    ),
    (
        "tomorrow",
        ALL,
        "tomorrow demain domani amanhã завтра jutro imorgon yarın 내일 明天 明日 غدا מחר",
    ),
    ("tonight", ALL, "tonight 今晚 今夜 오늘밤"),
    (
        "overmorrow",
        ALL,
        "übermorgen après-demain dopodomani overmorgen послезавтра 모레 后天 明後日",
    ),
    (
        "ereyesterday",
        ALL,
        "vorgestern avant-hier anteayer eergisteren позавчера 그저께 前天 一昨日",
    ),
    ("last week", ALL, "上周 上週 上星期 先週 지난주"),
    ("next week", ALL, "下周 下週 下星期 来週 다음주"),
    ("last month", ALL, "上个月 先月 지난달"),
    ("next month", ALL, "下个月 来月 다음달"),
    ("last year", ALL, "去年 昨年 작년 vorjahr"),
    ("next year", ALL, "明年 来年 내년"),
    (
        "weekend",
        ALL,
        "weekend weekends wochenende wochenenden fin-de-semana weekenden выходные выходным выходных 주말 周末 週末",
    ),
    (
        "weekday",
        ALL,
        "weekday weekdays wochentags werktags будни будням",
    ),
    (
        "every day",
        ALL,
        "daily everyday täglich quotidiennement diariamente ogni-giorno dagelijks ежедневно codziennie 매일 每天 毎日 يوميا",
    ),
    (
        "every week",
        ALL,
        "weekly wöchentlich wöchentliche wöchentliches hebdomadaire semanal semanalmente settimanale wekelijks еженедельно 매주 每周 每週 毎週",
    ),
    (
        "every month",
        ALL,
        "monthly monatlich mensuel mensuelle mensual mensualmente mensile mensal maandelijks ежемесячно 매월 每月 每个月 毎月",
    ),
    (
        "every year",
        ALL,
        "yearly annually jährlich annuel anualmente annuale jaarlijks ежегодно 매년 每年 毎年",
    ),
    ("every night", ALL, "nightly 毎晩 每晚"),
    ("every morning", ALL, "毎朝 每天早上"),
    (
        "christmas",
        ALL,
        "christmas xmas weihnachten noël navidad natale kerst kerstmis рождество рождества bożego noel 크리스마스 圣诞节 聖誕節 クリスマス",
    ),
    (
        "easter",
        ALL,
        "easter ostern pâques pascua pasqua páscoa pasen пасха пасху пасхи wielkanoc 부활절 复活节",
    ),
    (
        "new year",
        ALL,
        "silvester neujahr nochevieja capodanno сильвестр 설날 元旦 正月 お正月",
    ),
    ("thanksgiving", ALL, "thanksgiving erntedank 추석 感恩节"),
    ("halloween", ALL, "halloween"),
    ("spring festival", ALL, "春节 春節"),
    ("mid-autumn", ALL, "中秋节 中秋節"),
    ("national day", ALL, "国庆节 國慶節"),
    ("pentecost", ALL, "pfingsten pentecost pentecôte"),
    ("ramadan", ALL, "ramadan رمضان"),
    ("hanukkah", ALL, "hanukkah חנוכה"),
    ("passover", ALL, "passover פסח"),
    ("diwali", ALL, "diwali दिवाली"),
    ("eid", ALL, "eid"),
    ("golden week", ALL, "ゴールデンウィーク"),
    ("obon", ALL, "お盆"),
];

/// Parts of the day and named times: key, languages, names.
pub(super) const NAMED_TIMES: &[(&str, Langs, &str)] = &[
    (
        "t12:00",
        ALL,
        "noon midday mezzogiorno mediodía midi полдень 정오 正午",
    ),
    (
        "t00:00",
        ALL,
        "midnight mitternacht minuit medianoche mezzanotte middernacht полночь 자정 半夜12点",
    ),
    ("morning", EN, "morning mornings"),
    ("afternoon", EN, "afternoon afternoons"),
    ("evening", EN, "evening evenings"),
    ("night", EN, "night nights"),
    ("morning", DE, "morgens vormittags vormittag"),
    ("morning", FR, "matin matins matinée"),
    ("morning", IT, "mattina mattino"),
    ("morning", PT, "manhã manhãs"),
    ("morning", NL, "ochtend ochtenden"),
    ("morning", RU, "утро утром утра утрам"),
    ("morning", ALL, "早上 上午 午前 아침 오전 早晨"),
    ("afternoon", DE, "nachmittag nachmittags"),
    ("afternoon", FR, "après-midi"),
    ("afternoon", IT, "pomeriggio"),
    ("afternoon", NL, "middag"),
    ("afternoon", ALL, "下午 午後 오후"),
    ("evening", DE, "abend abends abende"),
    ("evening", FR, "soir soirs soirée"),
    ("evening", IT, "sera serata"),
    ("evening", NL, "avond avonden"),
    ("evening", RU, "вечер вечером вечера вечерам"),
    ("evening", ALL, "晚上 夜 저녁"),
    ("night", DE, "nacht nachts"),
    ("night", FR, "nuit"),
    ("night", ES, "noche noches"),
    ("night", IT, "notte"),
    ("night", PT, "noite noites"),
    ("night", RU, "ночь ночью ночи"),
    ("night", ALL, "밤"),
];

/// Words which say that the day meant is the one before or the one after.
pub(super) const RELATIVES: &[(&str, &str)] = &[
    (
        "last",
        "last previous past letzten letzte letzter letztes letztem vorigen vergangenen dernier dernière pasado pasada scorso scorsa passado passada vorige afgelopen прошлый прошлом прошлую прошлой прошлого прошлое 지난 上",
    ),
    (
        "next",
        "next coming following upcoming nächsten nächste nächster nächstes nächstem kommenden kommende prochain prochaine próximo próxima prossimo prossima volgende komende следующий следующую следующем следующей следующая 다음 下",
    ),
];

/// Words for a span of the calendar that only mean a date with such a word.
pub(super) const SPANS: &[(&str, &str)] = &[
    (
        "week",
        "week woche semaine semana settimana неделе неделю недели",
    ),
    (
        "month",
        "month monat mois mes mese mês maand месяце месяц месяца",
    ),
    ("year", "year jahr année an año anno ano jaar году год года"),
    ("night", "night nacht nuit noche notte noite"),
    ("morning", "morning"),
    ("evening", "evening abend"),
    ("quarter", "quarter quartal trimestre"),
    ("decade", "decade"),
];

/// Phrases of several words for a day or a frequency: folded words and key.
pub(super) const PHRASES: &[(&str, &str)] = &[
    ("the day before yesterday", "ereyesterday"),
    ("day before yesterday", "ereyesterday"),
    ("the day after tomorrow", "overmorrow"),
    ("day after tomorrow", "overmorrow"),
    ("new year's eve", "new year"),
    ("new year eve", "new year"),
    ("new year day", "new year"),
    ("new year", "new year"),
    ("every day", "every day"),
    ("each day", "every day"),
    ("once a day", "every day"),
    ("once per day", "every day"),
    ("every week", "every week"),
    ("each week", "every week"),
    ("once a week", "every week"),
    ("once per week", "every week"),
    ("every month", "every month"),
    ("each month", "every month"),
    ("once a month", "every month"),
    ("every year", "every year"),
    ("each year", "every year"),
    ("once a year", "every year"),
    ("every night", "every night"),
    ("each night", "every night"),
    ("every morning", "morning"),
    ("each morning", "morning"),
    ("jeden tag", "every day"),
    ("jede woche", "every week"),
    ("einmal pro woche", "every week"),
    ("einmal die woche", "every week"),
    ("jeden monat", "every month"),
    ("jedes jahr", "every year"),
    ("tous les jours", "every day"),
    ("chaque jour", "every day"),
    ("chaque semaine", "every week"),
    ("toutes les semaines", "every week"),
    ("chaque mois", "every month"),
    ("chaque annee", "every year"),
    ("todos los dias", "every day"),
    ("cada dia", "every day"),
    ("cada semana", "every week"),
    ("todas las semanas", "every week"),
    ("cada mes", "every month"),
    ("ogni giorno", "every day"),
    ("tutti i giorni", "every day"),
    ("ogni settimana", "every week"),
    ("ogni mese", "every month"),
    ("todos os dias", "every day"),
    ("toda semana", "every week"),
    ("elke dag", "every day"),
    ("iedere dag", "every day"),
    ("elke week", "every week"),
    ("каждыи день", "every day"),
    ("каждую неделю", "every week"),
    ("каждыи месяц", "every month"),
    ("каждыи год", "every year"),
    ("раз в неделю", "every week"),
    ("раз в день", "every day"),
];
