//! Polish.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    free: &[
        ("i oraz", "Anna śpiewa i Jan maluje."),
        ("że iż", "Anna mówi, że Jan śpi."),
        ("bardzo", "Zupa jest bardzo ostra."),
        ("jest są jestem jesteś jesteśmy", "Jan jest moim mężem."),
        ("w we na", "Klucz leży na stole."),
    ],
    turning: &[
        (
            "nie nigdy nic nikt nikogo nikomu żaden żadna żadne żadnego żadnej ani bez",
            "Nie palę.",
        ),
        ("prawie niemal ledwie ledwo", "Prawie umarłem."),
        ("lub albo czy bądź", "Weź czerwoną lub niebieską."),
        (
            "jeśli jeżeli gdyby chyba_że tylko oprócz poza",
            "Zapłacę, jeśli poprosi.",
        ),
        (
            "może chyba prawdopodobnie podobno rzekomo zapewne pewnie możliwe",
            "Może Anna ma pierścień.",
        ),
        (
            "
mogą mogę mógł mogła mógłby mogłaby musi muszę muszą musiał musiała powinien powinna powinni
chce chcę chciał chciałby chciałaby trzeba należy będzie będą ma_być wolno
",
            "Anna musi zapłacić.",
        ),
        (
            "myślę myśli sądzę sądzi uważam wydaje wierzę przypuszczam wątpię",
            "Myślę, że to Marek.",
        ),
        (
            "
wszystko wszyscy wszystkie każdy każda każde kilka niektóre niektórzy wiele wielu mało dużo
obaj obie oba większość pół
",
            "Wszystkie próbki są czyste.",
        ),
        (
            "zawsze czasem czasami często rzadko zwykle najmniej przynajmniej częściowo",
            "Zawsze zamyka drzwi.",
        ),
        (
            "przed po od zanim odkąd podczas kiedy gdy choć chociaż bo ponieważ aż",
            "Przed kolacją bierze A.",
        ),
        (
            "przestał przestała przestaje odmawia odmówił odmówiła unika zapomina zaprzecza",
            "Odmawia podpisania.",
        ),
        (
            "były była_żona dawny dawna eks fałszywy",
            "To mój dawny szef.",
        ),
        (
            "przeciw przeciwko więcej mniej niż",
            "Jan jest przeciw planowi.",
        ),
    ],
    following: &[("wcale", "Lubię herbatę wcale.")],
    pronouns: &[
        (
            "ja mnie mi mój moja moje mojego mojej moim",
            "Moja siostra śpi.",
        ),
        ("ty cię ci tobie twój twoja twoje pan pani", "Ty masz dług."),
        ("on jego jemu go mu ona jej ją ono", "Ona śpi."),
        (
            "my nas nam nasz nasza oni one ich im swój swoja swoje",
            "My płacimy.",
        ),
        (
            "kto ktoś kogoś komuś który która które którzy się to ten ta te",
            "Ktoś dzwonił.",
        ),
    ],
    joining: &[("i oraz a ale też także", "Anna śpiewa, a Jan maluje.")],
    attaching: &[("z ze do dla o u jak przez za", "Brat dla Anny śpiewa.")],
    relative: &[
        (
            "
wczoraj przedwczoraj dziś dzisiaj jutro pojutrze teraz obecnie niedawno ostatnio wkrótce
",
            "Przyszła wczoraj.",
        ),
        (
            "
zeszły zeszłym zeszłego przyszły przyszłym przyszłego następny następnym temu ostatni
ostatnim
",
            "Przyjdzie w przyszłym tygodniu.",
        ),
        ("jeszcze już nadal", "Jest jeszcze w Rzymie."),
    ],
    numbers: &[
        (
            "
zero 0 jeden 1 dwa 2 dwie 2 trzy 3 cztery 4 pięć 5 sześć 6 siedem 7 osiem 8 dziewięć 9
dziesięć 10 jedenaście 11 dwanaście 12 piętnaście 15 dwadzieścia 20 trzydzieści 30
czterdzieści 40 pięćdziesiąt 50 sto 100 tysiąc 1000
",
            "Ma dwa koty.",
        ),
        (
            "
pierwszy pierwszy drugi drugi trzeci trzeci dwóch dwóch trzech trzech milion milion
",
            "To trzeci raz.",
        ),
    ],
    // Free words are not exchanged for one another; these are one word.
    forms: &[("i/oraz", "Anna śpiewa i Jan maluje.")],
    abbreviations: &[(
        "np itd itp ul godz tel pl al",
        "Kupiła chleb itd. w mieście.",
    )],
    after_ordinals: &[(
        "
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada
grudnia
",
        "Urodziny są 3. maja.",
    )],
    frames: &[(
        "
użytkownik_powiedział_że użytkownik_wspomniał_że warto_pamiętać_że ważne_jest_że
należy_pamiętać_że dowiedziałem_się_że dowiedziałam_się_że
",
        "Warto pamiętać, że Jan nie je mięsa.",
    )],
    evidence: &[(
        "
i oraz a ale lub albo że żeby jeśli kiedy gdzie jak dlaczego kto co który która które ja ty
on ona ono my wy oni one mnie ciebie jego jej ich mój moja moje swój swoja swoje ten ta to
te tego tej w we na z ze do od po pod nad przy przez dla między przed u o za jest są był
była było byli będzie ma mają miał miała może mogą musi bardzo już jeszcze też także tylko
tam tu tutaj teraz potem zawsze często czasami każdy każda inny inna więc jednak się obecnie
dzisiaj wczoraj jutro iż jestem jesteś jesteśmy nie nigdy nic nikt nikogo nikomu żaden żadna
żadne żadnego żadnej ani bez prawie niemal ledwie ledwo czy bądź jeżeli gdyby oprócz poza
chyba prawdopodobnie podobno rzekomo zapewne pewnie możliwe mogę mógł mogła mógłby mogłaby
muszę muszą musiał musiała powinien powinna powinni chce chcę chciał chciałby chciałaby
trzeba należy będą wolno myślę myśli sądzę sądzi uważam wydaje wierzę przypuszczam wątpię
wszystko wszyscy wszystkie każde kilka niektóre niektórzy wiele wielu mało dużo obaj obie
oba większość pół czasem rzadko zwykle najmniej przynajmniej częściowo zanim odkąd podczas
gdy choć chociaż bo ponieważ aż przestał przestała przestaje odmawia odmówił odmówiła unika
zapomina zaprzecza były dawny dawna eks fałszywy przeciw przeciwko więcej mniej niż wcale mi
mojego mojej moim cię ci tobie twój twoja twoje pan pani jemu go mu ją nas nam nasz nasza im
ktoś kogoś komuś którzy
",
        "Anna śpiewa i Jan maluje.",
    )],
    // Words of every day that are no names at the beginning of a sentence.
    common: &[(
        "
zresztą właściwie ostatnio zazwyczaj naprawdę zdaniem według dlatego ponadto mieszka pracuje
lubi woli uczy mówi gra je pije nosi używa prosi zna kupił kupiła matka ojciec brat siostra
córka syn dzieci mąż żona przyjaciel samochód dom spotkanie projekt zespół klient klientka
użytkownik niestety szczerze ważne przypomnienie babcia dziadek pies kot lekarz adres numer
nowy nowa ostatni pierwszy
",
        "",
    )],
    decimal_comma: true,
    asking: &[(
        "co kto gdzie kiedy dlaczego jak jaki jaka jakie który która które ile czy był była było były",
        "Gdzie jest klucz?",
    )],
    correcting: &[(
        "teraz obecnie zamiast zmieniono zmienił przeniesiono przeniósł nowy nowa nowe odwołano przełożono",
        "Klucz leży teraz w szufladzie.",
    )],
    ..LanguageTable::EMPTY
};
