//! First names and places that are names wherever they stand, and what stands around names.

/// Latin-script first names of many countries, and places; folded on loading.
pub(super) const GIVEN: &str = "
aaron abdul abigail adam adrian ahmed aisha akira alan albert alejandro alena alex alexander
alexandra alfred ali alice alicia alina alison amanda amelia amir amy ana anastasia anders andre
andrea andreas andrew andrzej angela angelika anita anja anke ann anna annabel anne annette annika
anthony anton antonio antonia arjun arthur ashley astrid aylin ayse barbara bastian beatriz ben
benjamin bernd bernhard beth bianca birgit bjorn boris brenda brian bruno camila camille carl carla
carlos carmen carol caroline catherine cecilia chantal charles charlotte chloe chris christa christina
christine christoph christopher clara claudia claire clemens cristina daniel daniela david
deborah denise dennis diana diego dieter dietmar dirk dmitri dominik dorothea edward
elena elif elias elizabeth elke ella ellen elsa emil emily emma emre enrique eric erik erika ernst
esra ethan eva fabian fatima fatma federico felix fernanda fernando filip finn fiona florian
francesca francesco francisco franz frederik friedrich fritz gabriel gabriela gabriele gareth georg
george gerd gerhard giorgio giovanni giulia giuseppe greta guido guillermo gunter gustav hamid
hanna hannah hannes hans harald hasan hassan heidi heike heinrich heinz helen helena helga helmut
henrik henry herbert hiroshi holger horst hugo ian ibrahim ida igor ines ingo ingrid irene irina
isabel isabella ivan jacob jakob jakub james jan jana jane janet janina jasmin jason javier jeff
jennifer jenny jens jeremy jessica jessie jill jim joachim joan joanna joao joe joel johan johann johanna
john jonas jonathan jordan jorge jose josef joseph josephine joshua juan judith julia julian juliane julie julien jun
jurgen justin kai kamila karim karin karl karla karsten kasia katarina katarzyna kate katharina
katherine kathrin katja katrin keith kemal ken kenji kenneth kerstin kevin khalid kim
klara klaus konrad krzysztof kristina kurt lars laura lea leila lena leo leon leonie liam linda linus lisa
lorenzo lothar louis louise luca lucas lucia lucy ludwig luigi luis lukas luke luisa lutz maja magda magdalena malte
manfred manuel marc marcel marcin marco marek margaret margarete maria marianne mario marion marius
markus marta martha martin martina mary matteo matthew matthias maya megan mehmet melanie mia
michael michaela michal michel michelle miguel mike mila milan mina miriam mohamed mohammed moritz
murat mustafa nadia nadine nadja naomi natalia natalie nathan nina noah nora norbert oksana ole
oleg olga oliver olivia omar oscar oskar otto pablo pamela paola patricia patrick paul paula paulo
pavel pawel pedro peter petra philip philipp pia pierre piotr priya rachel rafael rahul rainer ralf
raquel rebecca regina renate ricardo richard rita robert roberto rodrigo roger roland rolf roman
ronald rosa rudolf ruth ryan sabine sabrina salma sam samantha samir samuel sandra sara sarah sascha
scott sebastian selin sergei sergio sharon silke silvia simon simone sofia sonja sophia sophie stefan
stefanie stefano steffen stella stephan stephanie stephen steve steven susan susanne svenja sven tamara
tanja tatjana teresa thea theo theresa thomas thorsten tim timo tina tobias tom tomas tomasz toni torsten
ulrich ulrike uta uwe valentina vanessa vera veronika victor victoria viktor vincent vladimir volker
walter werner wiebke wilhelm william wolfgang xavier yasmin yuki yusuf zeynep zofia zoe
berlin hamburg munchen munich koln cologne frankfurt stuttgart dusseldorf leipzig dresden bremen
hannover nurnberg bonn mannheim freiburg wien vienna zurich bern basel genf geneva salzburg graz
london paris madrid barcelona lisbon lisboa porto rome roma milan milano turin torino naples napoli
venice florence amsterdam rotterdam utrecht antwerp antwerpen brussels brussel bruxelles lyon
marseille toulouse bordeaux nantes lille nice sevilla seville valencia bilbao dublin edinburgh
manchester liverpool glasgow oxford cambridge bristol leeds boston chicago seattle denver dallas
houston austin atlanta miami philadelphia washington toronto vancouver montreal sydney melbourne
auckland tokyo osaka kyoto seoul busan beijing shanghai taipei singapore bangkok hanoi jakarta
mumbai delhi bangalore chennai dubai cairo istanbul ankara izmir athens prague praha warsaw warszawa
krakow budapest bucharest sofia belgrade zagreb kyiv kiev moscow oslo stockholm copenhagen helsinki
reykjavik deutschland germany france spain espana italy italia portugal netherlands belgium
austria osterreich schweiz switzerland frankreich spanien italien polen england scotland ireland
wales america usa canada kanada mexico brazil brasil argentina chile peru colombia china japan
korea india pakistan russia russland ukraine turkei turkey greece griechenland sweden schweden
norway norwegen denmark danemark finland finnland bayern hessen sachsen
google microsoft siemens bosch bmw volkswagen audi mercedes netflix spotify sap ikea lidl aldi
lufthansa whatsapp facebook instagram twitter youtube
";

/// Titles and forms of address, which are no names and after which a name follows.
pub(super) const TITLES: &str = "
mr mrs ms miss mx dr prof sir madam madame monsieur mme mlle herr frau fräulein señor señora
señorita sr sra srta don doña signor signora signorina sig dott dottoressa senhor senhora meneer mevrouw
dhr mevr pan pani hr fr st ste captain
";

/// Abbreviations whose full stop ends no sentence.
pub(super) const ABBREVIATIONS: &str = "
vs etc approx no nr art jr sr inc ltd corp co tel ca bzw ggf evtl usw str ave blvd rd dept est min
max jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat nov okt dez inkl zzgl
ul г ул д кв им стр тел руб
";

/// Words for streets, which are abbreviated at will and therefore no details.
pub(super) const STREETS: &str = "
street st avenue ave road rd lane ln drive dr boulevard blvd way square court place plaza calle rue
via rua avenida улица ул проспект straat
";

/// Capitalised roles that stand for whoever the memory is about.
pub(super) const ROLES: &str = "
user assistant agent uncle aunt auntie granny customer client mom mum dad mama papa mommy daddy grandma grandpa nutzer benutzer kunde team
";

/// First names in scripts without capitals.
pub(super) const CASELESS: &str = "
محمد احمد علي حسن حسين عمر خالد يوسف ابراهيم مصطفي محمود فاطمه مريم عايشه ليلي ساره نور زينب هند سلمي
كريم سامي طارق رامي سعيد ناصر فيصل عبدالله عبدالرحمن سلمان ماجد هدي رنا دينا لينا ياسمين امينه خديجه سلوي منى مني
القاهره دبي الرياض بيروت عمان دمشق بغداد الاسكندريه مصر لبنان سوريا العراق المغرب تونس الجزاير الاردن جده الدوحه الكويت
דוד משה יוסף יעקב אברהם יצחק דניאל מיכאל יונתן איתי נועם אורי עומר איתן גיא רון תומר אלון יובל שרה רבקה רחל
לאה מרים נועה תמר מאיה יעל מיכל שירה רונית דנה הדס ענת אורלי כהן לוי מזרחי פרץ ביטון תלאביב ירושלים חיפה
חיפה אילת ישראל
राम श्याम मोहन राहुल अमित संजय राजेश सुरेश रमेश विजय अजय अनिल सुनील दीपक रवि प्रिया पूजा नेहा सीता गीता
अंजलि कविता सुनीता रीना मीरा अनीता शर्मा वर्मा गुप्ता सिंह कुमार पटेल दिल्ली मुंबई कोलकाता चेन्नई
बेंगलुरु बैंगलोर हैदराबाद पुणे जयपुर लखनऊ भारत वाराणसी
서울 부산 대구 인천 광주 대전 울산 제주 강남 홍대 수원 분당 판교 한국 일본 미국 중국
";

/// Arabic, Hebrew, Hindi words after which a name follows.
pub(super) const CASELESS_TITLES: &str = "
السيد السيده الدكتور الدكتوره دكتور دكتوره استاذ الاستاذ الاستاذه المهندس المهندسه اسمه اسمها صديقي صديقته صديقتي زوجته زوجها
מר גברת גב' דר' ד\"ר פרופסור פרופ' רב הרב קוראים
श्री श्रीमती डॉ डॉक्टर सुश्री
";

/// Chinese and Japanese places and companies.
pub(super) const HAN_NAMES: &str = "
北京 上海 广州 廣州 深圳 杭州 南京 成都 重庆 重慶 武汉 武漢 西安 天津 苏州 蘇州 青岛 青島 厦门 大连 长沙 郑州 香港 台北 台湾 臺北
高雄 澳门 中国 中國 美国 美國 日本 英国 法国 德国 韩国 东京 東京 大阪 京都 横浜 名古屋 札幌 福岡 神戸 仙台 広島 沖縄 渋谷 新宿 銀座 秋葉原
北海道 奈良 鎌倉 箱根 千葉 埼玉 伦敦 巴黎 纽约 柏林 腾讯 阿里巴巴 百度 华为 微信 支付宝 小米 字节跳动 海淀 朝阳区 浦东
任天堂 楽天 日立 富士通 本田 豊田 慶應 早稲田
";

/// Common Chinese surnames.
pub(super) const HAN_SURNAMES: &str = "王李张張刘劉陈陳杨楊黄黃赵趙吴吳周徐孙孫马馬朱胡郭何林罗羅郑鄭梁谢謝宋唐许許邓鄧韩韓冯馮曹彭曾肖田董潘袁蔡蒋蔣余杜叶葉程魏苏蘇吕呂丁沈任姚卢盧姜崔钟鐘谭譚陆陸汪范石廖贾賈韦夏付方邹熊孟秦邱江尹薛闫段雷侯龙龍史陶黎贺顾顧毛郝龚邵万萬钱錢严嚴覃武戴莫孔向汤";

/// Ordinary words that begin with a character which is also a surname.
pub(super) const HAN_ORDINARY: &str = "
马上 馬上 周末 周一 周二 周三 周四 周五 周六 周日 周年 周围 黄色 黄金 黄油 黄瓜 张开 何时 何种 任何 任务 任意 方便 方法 方式 方面 方向 方案 石头
江边 江南 万一 万元 夏天 夏季 程序 程度 余下 余额 付款 付费 付钱 向来 向前 武术 毛病 毛衣 钱包 钱都 钱的 严重 严格 顾客 顾问 史上 段时间
姜茶 许多 許多 谢谢 謝謝 曾经 曾經 田径 林业 胡椒 胡萝卜 叶子 苏打 钟头 龙虾 孔子 雷雨 马拉松 高兴 陆续 江湖 白天 白色 唐装 杜绝 方 石油 秦朝 宋朝 唐朝
";

/// Katakana words of everyday life.
pub(super) const KATAKANA: &str = "
コーヒー ミーティング プロジェクト メール レストラン ホテル バス タクシー テニス サッカー ピアノ ギター パソコン スマホ
ペット チーム データ システム サービス ユーザー メモ リスト スケジュール アレルギー アルコール ビール ワイン ジュース
ケーキ パン チーズ チョコレート アイス サラダ スープ パスタ ピザ カレー ラーメン ランチ ディナー アパート マンション
エアコン テレビ ラジオ カメラ ゲーム アニメ スポーツ ジム ヨガ ランニング マラソン コンサート イベント パーティー クラス
コース テスト レポート プレゼン オフィス ビル エレベーター トイレ キッチン ベッド ソファ テーブル ドア カード クレジット
ポイント セール プレゼント ドレス シャツ セーター コート バッグ アイデア イメージ スタイル タイプ レベル ルール ストレス
リラックス アドバイス サポート トラブル ミス チェック スタート ゴール オープン クローズ ダイエット ベジタリアン ヴィーガン
カフェ デザイン エンジニア マネージャー スタッフ リモート リモートワーク バージョン サーバー アプリ ネット サイト オンライン クライアント ナッツ ピーナッツ
ミルク バター フルーツ トマト タバコ インド メートル キロ グラム センチ リットル ドル ユーロ パーセント ヶ
";
