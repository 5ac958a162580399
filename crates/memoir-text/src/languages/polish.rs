//! Polish.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    function: "\
i oraz a ale że żeby kiedy gdzie jak dlaczego kto co który która które ja ty on ona ono my wy oni one mnie ciebie \
jego jej ich mój moja moje swój swoja swoje ten ta to te tego tej w we na z ze do pod nad przy przez dla między u o \
za jest są był była było byli ma mają miał miała bardzo też także tam tu tutaj potem inny inna więc jednak się iż \
jestem jesteś jesteśmy czy były mi mojego mojej moim cię ci tobie twój twoja twoje pan pani jemu go mu ją nas nam \
nasz nasza im ktoś kogoś komuś którzy",
    asking: "jaki jaka jakie ile",
    telling: "\
lub albo jeśli od po przed będzie może mogą musi już jeszcze tylko teraz zawsze często czasami każdy każda obecnie \
dzisiaj wczoraj jutro nie nigdy nic nikt nikogo nikomu żaden żadna żadne żadnego żadnej ani bez prawie niemal ledwie \
ledwo bądź jeżeli gdyby oprócz poza chyba prawdopodobnie podobno rzekomo zapewne pewnie możliwe mogę mógł mogła \
mógłby mogłaby muszę muszą musiał musiała powinien powinna powinni chce chcę chciał chciałby chciałaby trzeba należy \
będą wolno myślę myśli sądzę sądzi uważam wydaje wierzę przypuszczam wątpię wszystko wszyscy wszystkie każde kilka \
niektóre niektórzy wiele wielu mało dużo obaj obie oba większość pół czasem rzadko zwykle najmniej przynajmniej \
częściowo zanim odkąd podczas gdy choć chociaż bo ponieważ aż przestał przestała przestaje odmawia odmówił odmówiła \
unika zapomina zaprzecza dawny dawna eks fałszywy przeciw przeciwko więcej mniej niż wcale",
    common: "\
zresztą właściwie ostatnio zazwyczaj naprawdę zdaniem według dlatego ponadto mieszka pracuje lubi woli uczy mówi gra \
je pije nosi używa prosi zna kupił kupiła matka ojciec brat siostra córka syn dzieci mąż żona przyjaciel samochód dom \
spotkanie zespół klient klientka użytkownik niestety szczerze ważne przypomnienie babcia dziadek pies kot lekarz \
numer nowy nowa ostatni pierwszy",
    numbers: "\
zero 0 jeden 1 dwa 2 dwie 2 trzy 3 cztery 4 pięć 5 sześć 6 siedem 7 osiem 8 dziewięć 9 dziesięć 10 jedenaście 11 \
dwanaście 12 piętnaście 15 dwadzieścia 20 trzydzieści 30 czterdzieści 40 pięćdziesiąt 50 sto 100 tysiąc 1000 pierwszy \
pierwszy drugi drugi trzeci trzeci dwóch dwóch trzech trzech milion milion",
    correcting: "\
teraz obecnie zamiast zmieniono zmienił przeniesiono przeniósł nowy nowa nowe odwołano przełożono",
    abbreviations: "np itd itp ul godz tel pl al",
    negations: "\
nie nigdy nic nikt nikogo nikomu nikim niczego nigdzie żaden żadna żadne żadnego żadnej żadnych żadną ani bez wcale",
    relative: "\
wczoraj przedwczoraj dziś dzisiaj jutro pojutrze teraz obecnie niedawno ostatnio wkrótce aktualnie wczorajszy \
wczorajsza wczorajszej dzisiejszy dzisiejsza dzisiejszej jutrzejszy rok_temu tydzień_temu miesiąc_temu",
    shifts: "\
zeszły zeszła zeszłe zeszłego zeszłej zeszłym ubiegły ubiegła ubiegłego ubiegłej ubiegłym przyszły przyszłego \
przyszłej przyszłym następny następna następnego następnej następnym ostatni ostatnia ostatniego ostatniej ostatnim \
ostatnich miniony minionego minionej minionym bieżącym bieżącego ten tego tej tym",
    spans: "\
dni dniach tydzień tygodnia tygodniu tygodnie tygodni weekend weekendu miesiąc miesiąca miesiącu miesiące miesięcy \
kwartale rok roku lata latach lat lato lecie zima zimy zimie wiosna wiosny wiosnę jesień jesieni sezonie noc nocy \
wieczór",
    ago_behind: "temu",
    amounts: "kilka kilku parę wiele wielu jakiś",
    months: "\
styczeń/stycznia/styczniu luty/lutego/lutym marzec/marca/marcu kwiecień/kwietnia/kwietniu maj/maja/maju \
czerwiec/czerwca/czerwcu lipiec/lipca/lipcu sierpień/sierpnia/sierpniu wrzesień/września/wrześniu \
październik/października/październiku listopad/listopada/listopadzie grudzień/grudnia/grudniu",
    weekdays: "\
poniedziałek/poniedziałku wtorek/wtorku środa/środę/środy czwartek/czwartku piątek/piątku sobota/sobotę/soboty \
niedziela/niedzielę/niedzieli",
    years: "w od do r rok roku wiosną latem jesienią zimą",
    name_endings: "a y i e ę ą u owi em iem om ami ach ów ie ego emu im ej",
    subjects: "on ona oni one",
    parties: "ja mnie mi mną mój moja moje moi my nas nam nami nasz nasza nasze",
    marks_names: true,
    ..LanguageTable::EMPTY
};
