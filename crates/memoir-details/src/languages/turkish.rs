//! Turkish.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    free: &[
        // Also the number one; "1" counts.
        ("bir", "Bir kedi uyuyor."),
        ("ve", "Anna şarkı söylüyor ve Can resim yapıyor."),
        ("ki", "Diyor ki yağmur yağacak."),
        // Also a quantity ("çok para"), whose loss leaves a vaguer sentence.
        ("çok", "Çorba çok acı."),
    ],
    turning: &[
        ("asla hiç hiçbir kimse ne sakın", "Asla sigara içmem."),
        ("neredeyse az_kalsın ancak", "Neredeyse ölüyordum."),
        ("veya ya yahut yoksa", "Kırmızı veya mavi hapı al."),
        (
            "eğer ise sadece yalnızca yalnız hariç",
            "Eğer isterse öderim.",
        ),
        (
            "belki galiba sanırım herhalde muhtemelen olabilir güya sözde sanki",
            "Belki yüzük Anna'da.",
        ),
        (
            "gerek lazım gerekiyor zorunda istiyor istiyorum ister",
            "Anna ödemek zorunda.",
        ),
        (
            "düşünüyorum düşünüyor inanıyorum inanıyor görünüyor umuyorum",
            "Marek olduğunu düşünüyorum.",
        ),
        (
            "bütün tüm her bazı birkaç çoğu az ikisi yarım hepsi",
            "Bütün örnekler temiz.",
        ),
        (
            "hep her_zaman bazen sık nadiren genellikle en",
            "Kapıyı hep kilitler.",
        ),
        (
            "önce sonra beri iken diye rağmen kadar çünkü",
            "Yemekten önce alır.",
        ),
        (
            "bıraktı bıraktım reddetti reddediyor kaçınıyor unuttu inkar",
            "Sigarayı bıraktı.",
        ),
        ("eski sahte", "Bu benim eski patronum."),
        ("karşı daha", "Can plana karşı."),
        ("mi mı mu mü", "Anna hamile mi."),
    ],
    following: &[(
        "değil yok değilim değiliz değildi yoktu yoktur",
        "Çay severim değil.",
    )],
    turning_parts: &[(
        "
miyor mıyor muyor müyor mez maz medi madı meyecek mayacak memeli mamalı mem mam meyin mayın
mıyor
",
        "Çay sevmiyor.",
    )],
    pronouns: &[
        ("ben beni bana benim bende benden", "Ben ödedim."),
        (
            "sen seni sana senin siz sizi size sizin",
            "Sen bana borçlusun.",
        ),
        ("o onu ona onun onda ondan", "O uyuyor."),
        (
            "biz bizi bize bizim onlar onları onlara onların",
            "Biz ödüyoruz.",
        ),
        ("kim kimi kendi kendisi biri birisi", "Biri aradı."),
    ],
    joining: &[("ve ama fakat de da ayrıca", "Anna geldi ama Can gitti.")],
    attaching: &[("ile için gibi göre", "Anna ile Can geldi.")],
    relative: &[
        (
            "dün bugün yarın şimdi geçenlerde yakında artık",
            "Dün geldi.",
        ),
        (
            "geçen gelecek önümüzdeki son bu_hafta bu_yıl",
            "Gelecek hafta gelir.",
        ),
        ("hâlâ hala henüz", "Hâlâ Roma'da."),
    ],
    numbers: &[
        (
            "
sıfır 0 iki 2 üç 3 dört 4 beş 5 altı 6 yedi 7 sekiz 8 dokuz 9 on 10 yirmi 20 otuz 30 kırk 40
elli 50 altmış 60 yetmiş 70 seksen 80 doksan 90 yüz 100 bin 1000
",
            "Onun iki kedisi var.",
        ),
        (
            "birinci birinci ikinci ikinci üçüncü üçüncü milyon milyon",
            "Üçüncü katta oturuyor.",
        ),
    ],
    abbreviations: &[("vb vs cad sok doç prof av", "Ekmek vb. aldı.")],
    frames: &[(
        "kullanıcı_dedi_ki unutulmamalıdır_ki belirtmek_gerekir_ki",
        "Unutulmamalıdır ki Can domuz eti yemez.",
    )],
    evidence: &[(
        "
ve veya ama fakat için ile bu şu o bir de da ki mi ne nasıl neden ben sen biz siz onlar
benim senin onun bizim çok daha en gibi kadar sonra önce her bütün ya hem çünkü eğer olarak
olan oldu olduğunu var göre artık şimdi bugün dün yarın asla hiç hiçbir kimse sakın
neredeyse ancak yahut yoksa ise sadece yalnızca yalnız hariç belki galiba sanırım herhalde
muhtemelen olabilir güya sözde sanki gerek lazım gerekiyor zorunda istiyor istiyorum ister
düşünüyorum düşünüyor inanıyorum inanıyor görünüyor umuyorum tüm bazı birkaç çoğu az ikisi
yarım hepsi hep bazen sık nadiren genellikle beri iken diye rağmen bıraktı bıraktım reddetti
reddediyor kaçınıyor unuttu inkar eski sahte karşı mı mu mü değil yok değilim değiliz
değildi yoktu yoktur beni bana bende benden seni sana sizi size sizin onu ona onda ondan
bizi bize onları onlara onların kim kimi kendi kendisi biri birisi ayrıca
",
        "Bir kedi uyuyor.",
    )],
    // Words of every day that are no names at the beginning of a sentence.
    common: &[(
        "
yaşıyor çalışıyor seviyor oturuyor konuşuyor oynuyor kullanıyor tercih ediyor annesi babası
kardeşi kızı oğlu eşi arkadaşı toplantı proje kullanıcı müşteri bence aslında maalesef
önemli yeni geçen gelecek gerçekten zaten
",
        "",
    )],
    decimal_comma: true,
    asking: &[(
        "ne kim nerede nereye nereden neden niçin nasıl hangi kaç mı mi mu mü var",
        "Anahtar nerede?",
    )],
    correcting: &[(
        "artık şimdi yerine değişti taşındı yeni iptal ertelendi",
        "Anahtar artık çekmecede.",
    )],
    ..LanguageTable::EMPTY
};
