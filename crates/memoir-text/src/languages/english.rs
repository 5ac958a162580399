//! English.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    function: "\
the of to is are was were and that with his her she he they their this from have has had you your who which what when \
been would will my me it its for but by as at an be does did about there i'm don't we our i likes",
    asking: "\
a very really in on mine myself us ours ourselves yours yourself yourselves him himself hers herself them theirs \
themselves itself whom whose somebody someone anybody anyone everybody everyone also plus 's like against where why \
how do am could should can shall may might any some these those tell please",
    telling: "not because",
    common: "\
a or nor so yet if then else than these those here where while whom whose why how mine myself us ours ourselves yours \
yourself him himself hers herself itself them theirs themselves one ones someone somebody something anyone anybody \
anything everyone everybody everything each every either both all any some many much more most few fewer less least \
several enough other others another such same own in on against between into through during before after above below \
up down out off over under again further once until till since although though unless whereas whether within across \
along around behind beside besides beyond despite except inside outside near onto per regarding toward towards upon \
via versus like just only also too very quite rather really even still already always often sometimes usually maybe \
perhaps however therefore thus hence moreover furthermore additionally meanwhile otherwise instead anyway indeed \
actually basically currently recently lately now soon later earlier eventually finally generally typically normally \
especially particularly probably possibly apparently whenever wherever whatever whoever whichever somewhere anywhere \
everywhere elsewhere afterwards afterward nevertheless nonetheless regardless apart aside alongside beneath amid \
among amongst throughout hopefully lastly firstly secondly thirdly overall altogether together anymore somehow \
somewhat sooner ago away back forth hereby thereby anyhow alas admittedly notably namely previously formerly \
originally initially ever almost nearly am being do doing done having can could shall should may might must ought \
need dare lets please yes yeah yep ok okay oh well hi hello hey thanks thank dear sorry etc vs ie eg ps nb fyi btw \
asap aka re approx accept add admit agree allow answer appear apply appreciate approve argue arrange arrive ask \
assume attend avoid bake base become begin believe belong book borrow bring build buy call cancel care carry catch \
celebrate change charge check choose claim clean climb close collect commute compare complain complete confirm \
connect consider consist consult contact contain continue convert cook coordinate cost count cover create cut dance \
deal decide decline define delay deliver depend describe deserve design develop dislike discuss divorce donate draw \
dream drink drive drop earn eat email emphasize employ encourage end enjoy enter evaluate exercise expect experience \
explain explore express face fail fear feed feel fight fill find finish fit fix fly focus follow forget forgive \
gather get give go grow guess handle happen hate head hear help hike hire hold hope host identify ignore imagine \
implement improve include indicate inform insist inspire intend introduce invest invite involve issue join jog jump \
keep kick know lack last laugh launch lead lean learn leave lend limit listen live lock look lose love maintain make \
manage marry match matter mean measure meet mention migrate mind miss monitor move notice notify object observe offer \
open operate order organize pack paint participate pass pay perform pick play point practice practise prefer prepare \
present prevent print produce promise propose protect prove provide publish pull push put raise reach react read \
realize recall receive recommend record recover reduce refer refuse regret relate relax release rely remain remember \
remind remove renew rent repair repeat replace reply report represent request require research reserve resign respond \
rest retire return review ride ring rise run save say schedule seem seek sell send separate serve set settle share \
ship shop show shut sign sing sit ski sleep smile smoke solve sound speak spend stand start state stay stick stop \
store struggle study submit subscribe succeed suffer suggest support suppose surf swim switch take talk taste teach \
tell tend test think track train transfer translate travel treat trust try turn type understand update upgrade use \
value verify view visit volunteer vote wait wake walk want warn wash watch wear weigh welcome win wish wonder work \
worry write ate began begun became bought brought built came caught chose chosen dealt drank driven drove drew drunk \
eaten fell fallen fed felt fought found flew flown forgot forgotten gave given went gone got gotten grew grown heard \
held hid kept knew known led left lent lost made meant met paid ran rang rode said sang sat saw seen sent sold shown \
slept spoke spoken spent stood stole swam swum took taken taught told thought threw understood woke won wore worn \
wrote written born hurt hit tied died lies lying dying tying swimming running getting planning stopped planned \
preferred referred apologies apology reminder heads sidenote anecdote trivia reiterate spelling sourdough rumor \
rumour gossip chances odds word guesses judging granted assuming provided considering speaking based depending \
according compared due owing contrary similarly likewise conversely unsurprisingly surprisingly interestingly oddly \
strangely sadly luckily thankfully gratefully allergies allergen medication medications symptom symptoms dosage \
diagnosis prescription ability absence accessory accessories adapter adventure aisle algorithm alert analysis \
analytics announcement apartment appetite appliance armchair arrangement assignment assistance atmosphere attempt \
attic auction authentication authorization automation avocado badge baking barbecue bargain basket batch bathtub \
bedding bench beverage bicycle billing binder biscuit blender blouse booking bookshelf boots bracelet brainstorming \
breakfast broccoli brochure browser brunch bucket buffet bulb bundle burger cabbage cabinet caching cafeteria \
caffeine calculator candle canteen cardboard cardigan caregiver carpool carrot cashier casserole catering ceiling \
celery ceremony cereal certificate certification chapel charger checklist checkout chemist cherry chili chimney \
chocolates cholesterol chores cilantro cinema cinnamon citizenship classroom cleaner cleaning clothes clothing clue \
coaching cocoa coconut commuting compiler concern conferences confirmation consent console construction container \
contest contribution conversion cookies coordination coriander correspondence couch counselor coupon coverage cracker \
craft crossing cucumber cupboard curfew curry curtain cushion cutlery debugging decor decoration deductible dentistry \
dependency deploy depot diagram diaper diarrhea dishes dishwasher disclaimer distraction documentation donation donut \
doorbell dough drawer drill drone drought dryer duplicate dust earrings earphones eggplant eggs electricity \
electronics elementary embassy emoji emojis endpoint enrollment entertainment envelope eviction exhibition expense \
expenses extension eyesight fabric facilities failure farewell faucet feature fertilizer fiber fiction filing finding \
fireplace firewall firmware fixture flashlight flexibility flooring flowers font foods footage forecast forms formula \
formatting fraud freezer freight frontend fuel furnace gallery gardening gate gathering genre glasses gloves goggles \
gown grading grandchild grandchildren grant graphics grill gravity guardian guests guideline guidelines gutter \
gymnastics handbook handwriting hangover harassment hazard headline healthcare hearing heater helmet herb highlight \
highway hiking hint hiring hoodie hosting hospitality housing humidity hygiene icon immigration incident indentation \
indicator indoor infection inflation infrastructure ingredients inheritance inhaler injection inquiry insomnia \
inspection installation instructor integration intern intersection inventory invitation irrigation jam jar jeans \
jewelry jogging joints juggling jury justice karaoke kayak kettlebell keychain kindergarten knitting laundry lawn \
layout leak leather lease legend legislation leftovers lens lentils lettuce liability librarian lid lighting linen \
lipstick literature livestock loading lobby locker lodging logging logistics logo lotion luggage lumber lunchbox \
machinery mailbox mailing makeup management manual manuscript marinade mattress mayor meatballs mechanic meditation \
mentor mentoring merger microphone microwave midterm milestone mileage mindfulness minimalism minutes \
misunderstanding mixer moisturizer monitoring moods mosquito motivation mower mug muscle mustard naming napkin \
narrator nap navigation necklace needle negotiation neighborhoods nickname nightmare nightshift noodles nursery \
nursing nutrition nutritionist oak oats obligation observation occupation ocean omelette onion onions operator \
optician oral orchard orchestra organizer origin outage outdoors outfit outlet output oven ownership oyster packaging \
pajamas pancake panel paperwork parcel parenting participation passcode password passwords patch patio paycheck \
payroll pear pedestrian pencil penicillin pension percentage perfume permit pets pharmacy pharmacist photos phrase \
physiotherapy pickup pie pill pills pillow pineapple pitch plaster playground plumber plumbing poetry pollen \
pollution porch porridge portfolio portrait postcard poster potatoes pottery poultry pram prayer predictions \
pregnancy prescriptions presents preserve prevention pricing printing privilege prototype pub publication publishing \
pumpkin punctuation puppy puzzle quarantine questionnaire quilt rabbit raincoat ramp rash ratio readme rebate \
receptionist recession recipes recruiter recruiting recruitment recycling refactoring referee referral refund \
refrigerator rehab rehearsal rehearsals reimbursement relatives reliability relocation renovation renovations rental \
replacement reporter reputation reservation reservations residency resignation resolution restriction restrictions \
restrooms resume retreat reunion revenue reviewer rewards rhythm ribbon ritual roadmap roasted robot rollback roster \
rug rumors sabbatical safety sailing salon sanctuary sauna sausage savings scaling scarf scenario scholarship \
scissors scoring sculpture seafood seating seasoning secretary seed semester seminar sensor server servers settlement \
sewing shampoo shed sheet shellfish shelter shipment shipping shortcut shorts showroom shrimp shuttle sidewalk \
signature signup silverware skateboard skating sketch skincare skirt sleepover slippers smell smoothie snacks \
sneakers snoring snowboarding soap socks soda soreness spa spaghetti spam spinach spine sponsor spoon spreadsheet \
squash squirrel stability staging stamp starter statistics steam stepdaughter sticker stockings stool stopover \
storage stove strap strawberry stretching stroller subway suitcase sunglasses sunlight sunrise sunscreen sunset \
supermarket superstition supervisor supplement supplements suppliers surcharge surgeon survey sustainability \
sunflower swimsuit syllabus syntax syrup tablet tablets tap tasks tattoo taxes teaspoon teammates telemetry temple \
tenancy terrace territory theft thermostat thesis thumb tickets tights tile tires tissue toast toaster toddler toilet \
toll tomato tomatoes toothbrush tournament towel toys tracker tracking tradition trail trailer translation translator \
trash treadmill trekking tricks tripod trousers truck trunk tuition tunnel turbine tutorial tutoring typing typo \
umbrella underwear uniforms uninstall unlocking usability utensils utilities utility vacancy vaccination vaccine \
vacuum validation vase vault vegan vegetation vendor vendors venue verification versions vest veterinarian videos \
vinegar visa visas vocabulary volleyball volunteers volunteering voucher wage waiting waitress wardrobe warehouse \
warranty washer waste watchlist waterproof wax weakness weights wheat wheelchair whiskey wiring witness wool workflow \
workload workplace workshops workspace worksheet wrist yogurt zipper zucchini accessibility access accident account \
accountant action active activity actor address adult advance advice afternoon age agency agenda agent agreement air \
airline airport alarm album alcohol allergic allergy alternative amount ancient angle angry animal anniversary annual \
api app apple application appointment approach area argument army arrival article artist asleep aspect assistant \
assumption attitude audience aunt author availability available average award aware awareness background backup bag \
bakery balance band bar baseball basement basic basis basketball bath bathroom battery beach bean bear beard \
beautiful beauty bed bedroom bedtime beef beer behavior behaviour belief bell best better big bike bill bird birth \
birthday bit black blanket blind block blog blood blue board boat body bone bonus border boring boss bottle bottom \
bowl box boy boyfriend branch bread break bridge bright broad broken brother brown budget bug building business busy \
button cabin cable cafe cake calendar calm camera camp camping cancer candidate capacity capital car carbon card \
cardiologist career careful carpet cart case cash cat category cause cell center central centre century certain chair \
challenge chance channel chapter character charity cheap cheese chemistry chess chicken chief child childhood \
children chocolate choice church city civil class classic classmate clear clearly climate clinic clock closet cloud \
club coach coast coat code coding coffee cold colleague collection college color colour comfort comfortable \
commercial commission committee common communication community company competition complaint complex concert \
conclusion condition conference confidence conflict connection constant content contract contractor control \
conversation cooking cool copy corner corporate correct cottage country couple courage course court cousin coworker \
cream creative credit crew crisis critical crowd crucial culture cup current curious custom customer cycle cycling \
dad daily damage danger dangerous dark data database date daughter day dead deadline death debt decade decision deep \
default degree delivery demand dentist department departure deployment deposit depth description desert desk dessert \
detail developer development device diabetes dialog diary diet difference different difficult digital dinner direct \
direction director dirty disability disagreement disaster discount discussion disease dish distance district doctor \
document dog dollar door double doubt draft drama dress dressing driver driving drug dry duration duty ear early \
earth east eastern easy easily economy edge editor education effect effective effort egg elder elderly election \
electric electrical element elevator emergency emotion emotional employee employer empty energy engine engineer \
engineering entire entrance entry environment equal equipment error essay essential estate estimate evening event \
evidence exact exactly exam example excellent exception excited exciting existing expensive expert explanation extra \
extreme eye facility fact factor factory fair faith false familiar family famous fan far farm fashion fast fat father \
fault favorite favourite fee feedback feeling female fence festival fever field figure file final finance financial \
fine finger fire firm first fish fitness flat flexible flight floor flour flower flu folder following food foot \
football force foreign forest formal former fortunately forward frame framework free freedom freelance french \
frequent frequently fresh fridge friend friendly friends front fruit full fully fun function fund funny furniture \
future game gaming garage garden garlic gas gear general gift girl girlfriend glad glass goal god gold golf good \
goods government grade graduate graduation grandfather grandma grandmother grandpa grandparents grandson \
granddaughter grass gray great green grey grocery groceries ground group growth guard guest guide guidance guilty \
guitar gym habit hair half hall happy hard hardware hat headache headquarters health healthy heart heat heating heavy \
height helpful hidden high highly hill history hobbies holiday holidays home homework honest honestly horse hospital \
hour house household huge human humor hundred husband ice idea ideal ideally illness image immediate immediately \
impact important importantly impossible improvement income increase incredible independent individual industry \
ingredient injury inner insight instance instruction instrument insulin insurance intention interest interesting \
internal international internship interview introduction investment invoice iron island item jacket joint joke \
journalist journey joy judge juice junior kettle key keyboard kid kids king kitchen knee knife knowledge lab label \
lady lake lamp landlord language laptop large laser late latest law lawyer layer lazy leader leadership leaf league \
lecture leg legal leisure lemon lesson letter level library license life lift light line link list little loan local \
location logic long lot loud low loyal luck lucky lunch lunchtime machine magazine mail main mainly maintenance major \
majority male manager manner map marathon march mark market marketing marriage married mass master material math \
mathematics maximum meal meaning meat media medical medicine medium meeting member membership memory men mental menu \
merely message metal method middle migraine mild military milk minimum minor mirror missing mission mistake mix \
mobile mode model modern mom money month monthly mood moon morning mortgage mother motorcycle mountain mouse mouth \
movie mum mushroom music musical musician narrow nation national native natural naturally nature neck negative \
neighbor neighborhood neighbour neighbourhood nephew nervous network new newest news newspaper next nice niece night \
noise noisy normal north northern nose notebook notes notification novel number nurse nut nuts obvious obviously \
occasion occasional occasionally odd office officer official oil old older oldest online opening operation opinion \
opportunity opposite option orange ordinary organic organization original outdoor overnight owner package page pain \
painter painting pair pan paper parent parents parking part participant particular party passenger passion passport \
past pasta path patience patient pattern payment peace peanut peanuts pen people pepper percent perfect performance \
period permanent permission personal personality personally pet phase phone photo photographer photography physical \
physician physics pianist piano picture piece pilot pink pipe pizza place plain plane planet plant plastic plate \
platform player playing plenty plus pocket poem poet police policy political politics pool poor popular pork portion \
position positive possible possibility pot potato potential pound power powerful practical precise preference \
pregnant premium preparation presence presentation president press pressure pretty previous price pride priest \
primary principal printer priority privacy private prize procedure process product production profession professional \
professor profile program programmer programming progress promotion proof proper properly property proposal \
protection protein proud psychologist public purchase pure purple purpose quality quarter queen query question quick \
quickly quiet quietly race racing rain rainy range rare rarely rate raw reader reading ready real reality reason \
reasonable receipt recent recipe recommendation red reference region regular regularly relation relationship relative \
relatively relevant reliable religion remote remotely repository requirement researcher resident residence resource \
respect response responsibility responsible result retirement rice rich rid right risk river road role roof room \
roommate root rough route router routine row rule runner rural sad safe sail salad salary salmon salt sample sand \
sandwich sauce saving scale school science scientist scooter screen script sea season seat second secret section \
secure security senior sense sensitive sentence serious seriously service session setting settings setup severe \
shadow shape sharp shelf shift shirt shoe shoes shopping short shorter shortly shoulder shower shy sibling siblings \
sick side access_level signal significant silence silent silver similar simple simply singer single sink sister site \
situation size skiing skill skills skin sky slight slightly slow slowly small smart smoker smoking smooth snack snow \
soccer social society sofa soft soil solar soldier solid solution song soul soup source south southern space spare \
special specialist specific speech speed sports spot spouse square staff stage stairs standard standup star startup \
statement station status steady steak step stepfather stepmother stepson stomach stone storm story straight strange \
strategy stream street strength stressful strict string strong stronger structure studio stuff stupid style subject \
subscription success successful sudden suddenly sugar suit suitable sum summary sun sunny super supper supplier \
supply surgery surprise surprising sushi sweater sweet swimmer table tail talent tall target task tax taxi tea \
teacher teaching teammate technical technique technology teenager teeth telephone television temperature temporary \
tenant tension term terrible testing theater theatre theme theory therapist therapy thick thin thing things thoughts \
thousand tie tight time tiny tip tired title today tomorrow tone tonight tool tooth top topic total touch tough tour \
tourist town toy trade traffic trainer transport transportation treatment tree trial trip trouble true truly truth \
tuna tutor twin twins typical ugly ultimate unable uncle unfortunately unhappy uniform union unique unit university \
unknown unlike unusual upper urban urgent usage useful user users usual vacation valley valuable van variety various \
vegetable vegetables vegetarian vehicle version vet victim village violin virus vision visitor vital vitamin voice \
volume waiter wall wallet war warm warning water wave way weak wealth weather web website wedding week weekday \
weekdays weekend weekends weekly weight weird west western wet wheel white whole wide wife wild window wine winner \
winter wire wise woman women wonderful wood wooden words worker working workout workshop world worried worse worst \
worth wrong yard year yearly years yellow yesterday yoga young younger youngest youth zone zoo asthma arthritis \
pescatarian lactose dairy hometown surname username timezone stack backend repo merge commit rollout hotfix \
postmortem retro sprint onboarding stakeholder dashboard config pipeline cluster slides deck headphones podcast \
playlist sci fi thriller romance",
    numbers: "\
zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 ten 10 eleven 11 twelve 12 thirteen 13 fourteen \
14 fifteen 15 sixteen 16 seventeen 17 eighteen 18 nineteen 19 twenty 20 thirty 30 forty 40 fifty 50 sixty 60 seventy \
70 eighty 80 ninety 90 hundred 100 thousand 1000 dozen 12 twice 2x thrice 3x first 1st third 3rd fourth 4th fifth 5th \
sixth 6th seventh 7th eighth 8th ninth 9th tenth 10th second 2nd million million billion billion trillion trillion",
    correcting: "\
now instead moved gone changed changes replaced anymore meanwhile raised lowered new renamed retired cancelled \
canceled postponed settled former formerly previously correction corrected became switched",
    abbreviations: "\
mr mrs ms dr prof st vs etc approx inc ltd corp jr sr dept est ave blvd rd tel fig vol ed eds al ca jan feb apr jun \
jul aug sept oct nov dec mar",
    negations: "\
no not never none nobody nothing nowhere neither nor cannot without non nope dont doesnt didnt isnt wasnt cant wont \
arent hasnt havent hadnt wouldnt shouldnt couldnt werent \
n't no_one",
    relative: "\
yesterday today tonight tomorrow now nowadays currently presently recently recent lately soon ago upcoming these_days \
this_morning this_afternoon this_evening the_other_day at_present at_the_moment last_time next_time before_last \
after_next",
    shifts: "last next this past coming previous",
    spans: "\
days week weeks weekend weekends month months quarter year years decade decades century spring summer autumn fall \
winter season night evening christmas easter",
    amounts: "a an few several couple many some of",
    months: "\
january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sep/sept october/oct \
november/nov december/dec",
    weekdays: "\
monday/mondays/mon tuesday/tuesdays/tue wednesday/wednesdays/wed thursday/thursdays/thu friday/fridays/fri \
saturday/saturdays/sat sunday/sundays/sun",
    years: "\
in since by until till during of from early late mid around year spring summer autumn fall winter",
    name_endings: "s es",
    subjects: "he she they",
    defining: "who whose whom that which",
    parties: "i me my mine myself we us our ours ourselves user users owner owners",
    marks_names: true,
    ..LanguageTable::EMPTY
};

/// English forms without a regular ending: the first of each group is the word, the others are its forms.
pub(crate) const IRREGULAR_FORMS: &str = "
beat/beaten become/became begin/began/begun bend/bent bind/bound bite/bit/bitten bleed/bled blow/blew/blown
break/broke/broken breed/bred bring/brought build/built burn/burnt buy/bought catch/caught
choose/chose/chosen cling/clung come/came creep/crept deal/dealt dig/dug draw/drew/drawn dream/dreamt
drink/drank/drunk drive/drove/driven eat/ate/eaten fall/fell/fallen feed/fed feel/felt fight/fought
find/found flee/fled fly/flew/flown forbid/forbade/forbidden forget/forgot/forgotten
forgive/forgave/forgiven freeze/froze/frozen get/got/gotten give/gave/given go/went/gone grind/ground
grow/grew/grown hang/hung hear/heard hide/hid/hidden hold/held keep/kept kneel/knelt know/knew/known
lay/laid lead/led learn/learnt leave/left lend/lent light/lit lose/lost make/made mean/meant meet/met
mistake/mistook/mistaken pay/paid ride/rode/ridden ring/rang/rung rise/rose/risen run/ran say/said
see/saw/seen seek/sought sell/sold send/sent sew/sewn shake/shook/shaken shine/shone shoot/shot show/shown
shrink/shrank/shrunk sing/sang/sung sink/sank/sunk sit/sat sleep/slept slide/slid speak/spoke/spoken
spend/spent spin/spun stand/stood steal/stole/stolen stick/stuck sting/stung strike/struck swear/swore/sworn
sweep/swept swim/swam/swum swing/swung take/took/taken teach/taught tear/tore/torn tell/told think/thought
throw/threw/thrown understand/understood wake/woke/woken wear/wore/worn weave/wove/woven weep/wept win/won
wind/wound write/wrote/written child/children foot/feet goose/geese man/men mouse/mice person/people
tooth/teeth woman/women knife/knives wife/wives life/lives leaf/leaves half/halves shelf/shelves wolf/wolves
good/better/best bad/worse/worst
";
