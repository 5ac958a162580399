//! Turkish.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    function: "\
ve ama fakat için ile bu şu o bir de da ki mi ne nasil neden ben sen biz siz onlar benim senin onun bizim çok gibi \
hem olarak olan oldu olduğunu var göre mu mü beni bana bende benden seni sana sizi size sizin onu ona onda ondan bizi \
bize onlari onlara onlarin kim kimi kendi kendisi biri birisi ayrica",
    asking: "nerede nereye nereden niçin hangi kaç",
    telling: "\
veya daha en kadar sonra önce her bütün ya çünkü eğer artik şimdi bugün dün yarin asla hiç hiçbir kimse sakin \
neredeyse ancak yahut yoksa ise sadece yalnizca yalniz hariç belki galiba sanirim herhalde muhtemelen olabilir güya \
sözde sanki gerek lazim gerekiyor zorunda istiyor istiyorum ister düşünüyorum düşünüyor inaniyorum inaniyor görünüyor \
umuyorum tüm bazi birkaç çoğu az ikisi yarim hepsi hep bazen sik nadiren genellikle beri iken diye rağmen birakti \
biraktim reddetti reddediyor kaçiniyor unuttu inkar eski sahte karşi değil yok değilim değiliz değildi yoktu yoktur",
    common: "\
yaşiyor çalişiyor seviyor oturuyor konuşuyor oynuyor kullaniyor tercih ediyor annesi babasi kardeşi kizi oğlu eşi \
arkadaşi toplanti proje kullanici müşteri bence aslinda maalesef önemli yeni geçen gelecek gerçekten zaten",
    numbers: "\
sıfır 0 iki 2 üç 3 dört 4 beş 5 altı 6 yedi 7 sekiz 8 dokuz 9 on 10 yirmi 20 otuz 30 kırk 40 elli 50 altmış 60 yetmiş \
70 seksen 80 doksan 90 yüz 100 bin 1000 birinci birinci ikinci ikinci üçüncü üçüncü milyon milyon",
    correcting: "artık şimdi yerine değişti taşındı yeni iptal ertelendi",
    abbreviations: "vb vs cad sok doç prof av",
    negations: "değil yok hiç hiçbir asla değilim değiliz değildi yoktu yoktur",
    negation_parts: "\
miyor mıyor muyor müyor madı medi mayacak meyecek mıyor mayan meyen mamış memiş mamak memek",
    relative: "\
dün bugün yarın şimdi geçenlerde yakında bugünlerde şu_anda bu_gece bu_sabah bu_akşam son_zamanlarda geçen_gün \
evvelsi_gün",
    shifts: "geçen gelecek önümüzdeki son bu geçtiğimiz",
    spans: "\
gün günlerde hafta haftaki haftada haftalarda ay ayda aylarda yıl yılda yıllarda sene yaz kış bahar ilkbahar sonbahar \
gece akşam",
    ago_behind: "önce evvel",
    amounts: "bir birkaç çok kaç",
    months: "\
ocak/ocakta/ocağın şubat/şubatta/şubatın mart/martta/martın nisan/nisanda/nisanın mayıs/mayısta/mayısın \
haziran/haziranda/haziranın temmuz/temmuzda/temmuzun ağustos/ağustosta/ağustosun eylül/eylülde/eylülün \
ekim/ekimde/ekimin kasım/kasımda/kasımın aralık/aralıkta/aralığın",
    weekdays: "pazartesi salı çarşamba perşembe cuma cumartesi pazar",
    years: "yıl yılı yılında yılının yılından beri",
    name_endings: "lar ler in un nin nun da de ta te dan den tan ten a e i u ya ye yi yu la le yla yle",
    marks_names: true,
    ..LanguageTable::EMPTY
};
