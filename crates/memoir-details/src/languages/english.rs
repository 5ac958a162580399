//! English.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    free: &[
        ("a an the", "The dog has a collar."),
        ("and", "Ann sings and Bob paints."),
        // Also a pronoun ("that is mine"), whose loss leaves the sentence broken, not false.
        ("that", "Ann says that she is ill."),
        ("very really", "The well is very deep."),
        // The present only: "was", "been" and "had" count. "am" counts because of "5 am".
        ("is are", "Hugo is my neighbour."),
        ("have has", "I have asthma."),
        ("in on at", "The cup is on the table."),
    ],
    turning: &[
        (
            "no none nothing nobody nowhere neither nor cannot",
            "Nobody knows the code.",
        ),
        (
            "without hardly barely scarcely nearly almost",
            "We nearly missed the ferry.",
        ),
        ("or either whether", "Bring the drill or the saw."),
        (
            "if unless until till except only otherwise depending provided assuming",
            "We will leave if it rains.",
        ),
        (
            "maybe perhaps possibly probably presumably apparently allegedly supposedly likely unlikely seemingly reportedly rumoured rumored",
            "Maybe Rosa has the ladder.",
        ),
        (
            "may might must should could would can will shall ought",
            "Mark may call.",
        ),
        (
            "think guess believe suppose suspect doubt assume wonder seem seems seemed appear appears",
            "I think Marek reported the leak.",
        ),
        (
            "unsure uncertain unclear unconfirmed unknown",
            "It is unclear who paid.",
        ),
        (
            "all every some any most many few several both each half",
            "Every sample was clean.",
        ),
        (
            "always sometimes often rarely seldom usually occasionally ever mostly partly least",
            "She always locks the gate.",
        ),
        (
            "before after since while when whenever although though because whereas",
            "Ring twice when you come.",
        ),
        (
            "stop stops stopped refuse refuses refused quit fail fails failed deny denies denied avoid avoids avoided forget forgets forgot pretend pretends pretended",
            "She refused to sign.",
        ),
        (
            "former formerly ex fake false untrue non un anti pseudo",
            "Dr Okafor is my former psychiatrist.",
        ),
        (
            "against instead except less more than",
            "Hugo is taller than Rosa.",
        ),
        // "have" alone is free; with "to" it is a duty.
        (
            "have_to had_to need_to used_to going_to",
            "I have to call the bank.",
        ),
        // "a" alone is free; "few friends" is not "a few friends".
        (
            "a_few a_little a_bit at_least at_most at_all as_if",
            "I have a few friends.",
        ),
        // "just" and "too" alone only colour a sentence; dropping them is asked about.
        (
            "not_just too_much too_many too_late too_early",
            "It is not just a hobby.",
        ),
    ],
    following: &[
        ("not never", "I trust the new tenants not at all."),
        (
            "no_longer no_more not_at_all any_more anymore",
            "I trust Bob no longer.",
        ),
    ],
    pronouns: &[
        (
            "i me my mine myself we us our ours ourselves",
            "I paid for it myself.",
        ),
        ("you your yours yourself yourselves", "You owe me money."),
        ("he him his himself she her hers herself", "She hit him."),
        (
            "they them their theirs themselves it its itself",
            "They sold it.",
        ),
        (
            "who whom whose which somebody someone anybody anyone everybody everyone",
            "Someone called.",
        ),
    ],
    joining: &[("and but also plus", "Ann likes tea but Bob likes coffee.")],
    attaching: &[
        // "Ann's" is not "Ann".
        ("'s", "Ann's brother is ill."),
        (
            "of by with from for to about like as against",
            "The owner of the shop is abroad.",
        ),
    ],
    relative: &[
        (
            "yesterday today tonight tomorrow now nowadays currently recently lately soon",
            "Mia broke her wrist yesterday.",
        ),
        (
            "ago last next this previous coming upcoming past",
            "We met a week ago.",
        ),
        (
            "earlier later already yet still just latest",
            "She is still in Rome.",
        ),
    ],
    numbers: &[
        (
            "zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 ten 10",
            "She has two dogs.",
        ),
        (
            "eleven 11 twelve 12 thirteen 13 fourteen 14 fifteen 15 sixteen 16 seventeen 17 eighteen 18 nineteen 19",
            "Twelve guests came.",
        ),
        (
            "twenty 20 thirty 30 forty 40 fifty 50 sixty 60 seventy 70 eighty 80 ninety 90",
            "He is forty.",
        ),
        (
            "hundred 100 thousand 1000 dozen 12 twice 2x thrice 3x",
            "A dozen eggs cost four euros.",
        ),
        (
            "first 1st third 3rd fourth 4th fifth 5th sixth 6th seventh 7th eighth 8th ninth 9th tenth 10th",
            "He lives on the fourth floor.",
        ),
        // Also a span of time; no other word is "2nd", so nothing is confused.
        ("second 2nd", "Her second book is out."),
        (
            "million million billion billion trillion trillion",
            "The house cost a million.",
        ),
    ],
    forms: &[
        // Free words are not exchanged for one another; these are one word.
        ("a/an/the is/are have/has", "The dog is old."),
        (
            "get/gets do/does go/goes make/makes take/takes give/gives keep/keeps let/lets put/puts come/comes",
            "Ann gets up early.",
        ),
        (
            "like/likes love/loves hate/hates want/wants need/needs prefer/prefers enjoy/enjoys dislike/dislikes",
            "The user likes tea.",
        ),
        (
            "work/works live/lives play/plays study/studies speak/speaks teach/teaches learn/learns read/reads write/writes",
            "Ann lives in Rome.",
        ),
        (
            "eat/eats drink/drinks cook/cooks sleep/sleeps run/runs walk/walks drive/drives sing/sings paint/paints",
            "Bob drinks tea.",
        ),
        (
            "know/knows say/says tell/tells ask/asks call/calls call/calls trust/trusts help/helps use/uses own/owns",
            "Ann knows the code.",
        ),
        (
            "plan/plans hope/hopes wish/wishes expect/expects remember/remembers feel/feels sound/sounds look/looks",
            "Sam plans a trip.",
        ),
        (
            "start/starts begin/begins end/ends finish/finishes stay/stays move/moves travel/travels visit/visits",
            "The course starts in May.",
        ),
        (
            "buy/buys sell/sells pay/pays cost/costs owe/owes save/saves spend/spends bring/brings send/sends",
            "Carl owes Dana money.",
        ),
        (
            "wear/wears carry/carries hold/holds show/shows meet/meets see/sees hear/hears watch/watches",
            "She wears glasses.",
        ),
        (
            "store/stores return/returns require/requires support/supports contain/contains include/includes",
            "The parser returns a list.",
        ),
    ],
    contractions: &[
        (
            "won't=will_not can't=can_not cannot=can_not shan't=shall_not ain't=is_not",
            "I can't swim.",
        ),
        (
            "it's=it_is he's=he_is she's=she_is that's=that_is there's=there_is here's=here_is what's=what_is who's=who_is where's=where_is how's=how_is let's=let_us",
            "It's late.",
        ),
        ("n't=not", "She doesn't smoke."),
        ("'re=are 'm=am 'll=will 've=have 'd=would", "They're late."),
        // Kept as a word of its own: "Ann's" is not "Ann".
        ("'s='s", "Ann's brother is ill."),
    ],
    abbreviations: &[
        (
            "mr mrs ms dr prof st vs etc approx inc ltd corp jr sr dept est ave blvd rd tel fig vol ed eds al ca",
            "Dr. Okafor called.",
        ),
        (
            "jan feb apr jun jul aug sept oct nov dec",
            "She was born on Feb. 3.",
        ),
    ],
    frames: &[
        (
            "the_user_mentioned_that the_user_said_that the_user_has_said_that the_user_has_mentioned_that the_user_stated_that the_user_has_stated_that the_user_noted_that the_user_told_me_that",
            "The user mentioned that the printer jams.",
        ),
        (
            "it_is_important_to_remember_that it_is_important_to_note_that it_should_be_noted_that it_is_worth_noting_that it_is_worth_remembering_that",
            "It is important to remember that Hugo eats no nuts.",
        ),
        (
            "please_note_that please_remember_that note_that remember_that keep_in_mind_that bear_in_mind_that",
            "Please note that the gate is locked.",
        ),
        (
            "i_have_learned_that i_learned_that i_have_noted_that i_noted_that i_remember_that",
            "I have learned that Ann is a nurse.",
        ),
        (
            "i_want_to_remember_that i_need_to_remember_that i_should_remember_that i_must_remember_that i_will_remember_that",
            "I want to remember that Rosa likes marzipan.",
        ),
    ],
    evidence: &[(
        "the of to is are was were and that with his her she he they their this from have has had not you your who which what when been would will my me it its for but by as at an be does did about because there i'm don't we our i likes",
        "The cat is on the mat.",
    )],
    // Words of every day that are no names at the beginning of a sentence. Those that are names
    // as well (Mark, Rose) are not here.
    common: &[(
        "
the a an and or but nor so yet if then else than that this these those there here where when
while who whom whose which what why how i me my mine myself we us our ours ourselves you
your yours yourself he him his himself she her hers herself it its itself they them their
theirs themselves one ones someone somebody something anyone anybody anything everyone
everybody everything each every either both all any some many much more most few fewer less
least several enough other others another such same own of in on at by for with about
against between into through during before after above below to from up down out off over
under again further once as until till since because although though unless whereas whether
within across along around behind beside besides beyond despite except inside outside near
onto per regarding toward towards upon via versus like just only also too very quite rather
really even still already always often sometimes usually maybe perhaps however therefore
thus hence moreover furthermore additionally meanwhile otherwise instead anyway indeed
actually basically currently recently lately now soon later earlier eventually finally
generally typically normally especially particularly probably possibly apparently whenever
wherever whatever whoever whichever somewhere anywhere everywhere elsewhere afterwards
afterward nevertheless nonetheless regardless apart aside alongside beneath amid among
amongst throughout hopefully lastly firstly secondly thirdly overall altogether together
anymore somehow somewhat sooner ago away back forth hereby thereby anyhow alas admittedly
notably namely previously formerly originally initially ever almost nearly am is are was
were be been being do does did doing done have has had having can could will would shall
should may might must ought need dare let lets please yes yeah yep ok okay oh well hi hello
hey thanks thank dear sorry etc vs ie eg ps nb fyi btw asap aka re approx accept add admit
adore agree allow answer appear apply appreciate approve argue arrange arrive ask assume
attend avoid bake base become begin believe belong book borrow bring build buy call cancel
care carry catch celebrate change charge chat check choose claim clean climb close collect
come commute compare complain complete confirm connect consider consist consult contact
contain continue convert cook coordinate cost count cover create cut dance deal decide
decline define delay deliver depend describe deserve design develop dislike discuss divorce
donate draw dream drink drive drop earn eat email emphasize employ encourage end enjoy enter
evaluate exercise expect experience explain explore express face fail fall fear feed feel
fight fill find finish fit fix fly focus follow forget forgive gather get give go grow guess
handle happen hate head hear help hike hire hold hope host identify ignore imagine implement
improve include indicate inform insist inspire intend introduce invest invite involve issue
join jog jump keep kick know lack last laugh launch lead lean learn leave lend limit listen
live lock look lose love maintain make manage marry match matter mean measure meet mention
migrate mind miss monitor move name note notice notify object observe offer open operate
order organize pack paint park participate pass pay perform pick plan play point post
practice practise prefer prepare present prevent print produce promise propose protect prove
provide publish pull push put raise reach react read realize recall receive recommend record
recover reduce refer refuse regret relate relax release rely remain remember remind remove
renew rent repair repeat replace reply report represent request require research reserve
resign respond rest retire return review ride ring rise run save say schedule see seem seek
sell send separate serve set settle share ship shop show shut sign sing sit ski sleep smile
smoke solve sound speak spend stand start state stay stick stop store struggle study submit
subscribe succeed suffer suggest support suppose surf swim switch take talk taste teach tell
tend test think track train transfer translate travel treat trust try turn type understand
update upgrade use value verify view visit volunteer vote wait wake walk want warn wash
watch wear weigh welcome win wish wonder work worry write ate began begun became bought
brought built came caught chose chosen dealt drank driven drove drew drunk eaten fell fallen
fed felt fought found flew flown forgot forgotten gave given went gone got gotten grew grown
heard held hid kept knew known led left lent lost made meant met paid ran rang rode said
sang sat saw seen sent sold shown slept spoke spoken spent stood stole swam swum took taken
taught told thought threw understood woke won wore worn wrote written born hurt hit tied
died lies lying dying tying swimming running getting planning stopped planned preferred
referred apologies apology reminder heads sidenote anecdote trivia reiterate spelling
sourdough rumor rumour gossip chances odds word guesses judging granted assuming provided
considering speaking based depending according compared due owing contrary similarly
likewise conversely unsurprisingly surprisingly interestingly oddly strangely sadly luckily
thankfully gratefully allergies allergen medication medications symptom symptoms dose dosage
diagnosis prescription ability absence accessory accessories adapter adventure aisle
algorithm alert analysis analytics announcement apartment appetite appliance armchair
arrangement assignment assistance atmosphere attempt attic auction authentication
authorization automation avocado badge baking barbecue bargain basket batch bathtub bedding
bench beverage bicycle billing binder biscuit blender blouse booking bookshelf boots
bracelet brainstorming breakfast broccoli brochure browser brunch bucket buffet bulb bundle
burger cabbage cabinet caching cafeteria caffeine calculator candle canteen cardboard
cardigan caregiver carpool carrot cashier casserole catering ceiling celery ceremony cereal
certificate certification chapel charger checklist checkout chemist cherry chili chimney
chocolates cholesterol chores cilantro cinema cinnamon citizenship classroom cleaner
cleaning clothes clothing clue coaching cocoa coconut commuting compiler concern conferences
confirmation consent console construction container contest contribution conversion cookies
coordination coriander correspondence couch counselor coupon coverage cracker craft crossing
cucumber cupboard curfew curry curtain cushion cutlery debugging decor decoration deductible
dentistry dependency deploy depot diagram diaper diarrhea dishes dishwasher disclaimer
distraction documentation donation donut doorbell dough drawer drill drone drought dryer
duplicate dust earrings earphones eggplant eggs electricity electronics elementary embassy
emoji emojis endpoint enrollment entertainment envelope eviction exhibition expense expenses
extension eyesight fabric facilities failure farewell faucet feature fertilizer fiber
fiction filing finding fireplace firewall firmware fixture flashlight flexibility flooring
flowers font foods footage forecast forms formula formatting fraud freezer freight frontend
fuel furnace gallery gardening gate gathering genre glasses gloves gluten goggles gown
grading grandchild grandchildren grant graphics grill gravity guardian guests guideline
guidelines gutter gymnastics handbook handwriting hangover harassment hazard headline
healthcare hearing heater helmet herb highlight highway hiking hint hiring hoodie hosting
hospitality housing humidity hygiene icon immigration incident indentation indicator indoor
infection inflation infrastructure ingredients inheritance inhaler injection inquiry
insomnia inspection installation instructor integration intern intersection inventory
invitation irrigation jam jar jeans jewelry jogging joints juggling jury justice karaoke
kayak kettlebell keychain kindergarten knitting laundry lawn layout leak leather lease
legend legislation leftovers lens lentils lettuce liability librarian lid lighting linen
lipstick literature livestock loading lobby locker lodging logging logistics logo lotion
luggage lumber lunchbox machinery mailbox mailing makeup management manual manuscript
marinade mattress mayor meatballs mechanic meditation mentor mentoring merger microphone
microwave midterm milestone mileage mindfulness minimalism minutes misunderstanding mixer
moisturizer monitoring moods mosquito motivation mower mug muscle mustard naming napkin
narrator nap navigation necklace needle negotiation neighborhoods nickname nightmare
nightshift noodles nursery nursing nutrition nutritionist oak oats obligation observation
occupation ocean omelette onion onions operator optician oral orchard orchestra organizer
origin outage outdoors outfit outlet output oven ownership oyster packaging pajamas pancake
panel paperwork parcel parenting participation passcode password passwords patch patio
paycheck payroll pear pedestrian pencil penicillin pension percentage perfume permit pets
pharmacy pharmacist photos phrase physiotherapy pickup pie pill pills pillow pineapple pitch
plaster playground plumber plumbing poetry pollen pollution porch porridge portfolio
portrait postcard poster potatoes pottery poultry pram prayer predictions pregnancy
prescriptions presents preserve prevention pricing printing privilege prototype pub
publication publishing pumpkin punctuation puppy puzzle quarantine questionnaire quilt
rabbit raincoat ramp rash ratio readme rebate receptionist recession recipes recruiter
recruiting recruitment recycling refactoring referee referral refund refrigerator rehab
rehearsal rehearsals reimbursement relatives reliability relocation renovation renovations
rental replacement reporter reputation reservation reservations residency resignation
resolution restriction restrictions restrooms resume retreat reunion revenue reviewer
rewards rhythm ribbon ritual roadmap roasted robot rollback roster rug rumors sabbatical
safety sailing salon sanctuary sauna sausage savings scaling scarf scenario scholarship
scissors scoring sculpture seafood seating seasoning secretary seed semester seminar sensor
server servers settlement sewing shampoo shed sheet shellfish shelter shipment shipping
shortcut shorts showroom shrimp shuttle sidewalk signature signup silverware skateboard
skating sketch skincare skirt sleepover slippers smell smoothie snacks sneakers snoring
snowboarding soap socks soda software soreness spa spaghetti spam spinach spine sponsor
spoon spreadsheet squash squirrel stability staging stamp starter statistics steam
stepdaughter sticker stockings stool stopover storage stove strap strawberry stretching
stroller subway suitcase sunglasses sunlight sunrise sunscreen sunset supermarket
superstition supervisor supplement supplements suppliers surcharge surgeon survey
sustainability sunflower swimsuit syllabus syntax syrup tablet tablets tap tasks tattoo
taxes teaspoon teammates telemetry temple tenancy terrace territory theft thermostat thesis
thumb tickets tights tile tires tissue toast toaster toddler toilet toll tomato tomatoes
toothbrush tournament towel toys tracker tracking tradition trail trailer translation
translator trash treadmill trekking tricks tripod trousers truck trunk tuition tunnel
turbine tutorial tutoring typing typo umbrella underwear uniforms uninstall unlocking
usability utensils utilities utility vacancy vaccination vaccine vacuum validation vase
vault vegan vegetation vendor vendors venue verification versions vest veterinarian videos
vinegar visa visas vocabulary volleyball volunteers volunteering voucher wage waiting
waitress wardrobe warehouse warranty washer waste watchlist waterproof wax weakness weights
wheat wheelchair whiskey wiring witness wool workflow workload workplace workshops workspace
worksheet wrist yogurt zipper zucchini accessibility access accident account accountant
action active activity actor address adult advance advice afternoon age agency agenda agent
agreement air airline airport alarm album alcohol allergic allergy alternative amount
ancient angle angry animal anniversary annual api app apple application appointment approach
area argument arm army arrival art article artist asleep aspect assistant assumption
attention attitude audience aunt author availability available average award aware awareness
baby background backup bad bag bakery balance ball band bank bar baseball basement basic
basis basketball bath bathroom battery beach bean bear beard beautiful beauty bed bedroom
bedtime beef beer behavior behaviour belief bell best better big bike bill bird birth
birthday bit black blanket blind block blog blood blue board boat body bone bonus border
boring boss bottle bottom bowl box boy boyfriend branch bread break bridge brief bright
broad broken brother brown budget bug building bus business busy butter button cabin cable
cafe cake calendar calm camera camp camping cancer candidate capacity capital car carbon
card cardiologist career careful carpet cart case cash cat category cause cell center
central centre century certain chair challenge chance channel chapter character charity
cheap cheese chef chemistry chess chicken chief child childhood children chocolate choice
church city civil class classic classmate clear clearly client climate clinic clock closet
cloud club coach coast coat code coding coffee cold colleague collection college color
colour comfort comfortable commercial commission committee common communication community
company competition complaint complex computer concert conclusion condition conference
confidence conflict connection constant content contract contractor control conversation
cooking cool copy corner corporate correct cottage country couple courage course court
cousin coworker cream creative credit crew crisis critical crowd crucial culture cup current
curious custom customer cycle cycling dad daily damage danger dangerous dark data database
date daughter day dead deadline death debt decade decision deep default degree delivery
demand dentist department departure deployment deposit depth description desert desk dessert
detail developer development device diabetes dialog diary diet difference different
difficult digital dinner direct direction director dirty disability disagreement disaster
discount discussion disease dish distance district doctor document dog dollar door double
doubt draft drama dress dressing driver driving drug dry duration duty ear early earth east
eastern easy easily economy edge editor education effect effective effort egg elder elderly
election electric electrical element elevator emergency emotion emotional employee employer
empty energy engine engineer engineering entire entrance entry environment equal equipment
error essay essential estate estimate evening event evidence exact exactly exam example
excellent exception excited exciting existing expensive expert explanation extra extreme eye
facility fact factor factory fair faith false familiar family famous fan far farm fashion
fast fat father fault favorite favourite fee feedback feeling female fence festival fever
field figure file film final finance financial fine finger fire firm first fish fitness flat
flexible flight floor flour flower flu folder following food foot football force foreign
forest form formal former fortunately forward frame framework free freedom freelance french
frequent frequently fresh fridge friend friendly friends front fruit full fully fun function
fund funny furniture future game gaming garage garden garlic gas gear general gift girl
girlfriend glad glass goal god gold golf good goods government grade graduate graduation
grandfather grandma grandmother grandpa grandparents grandson granddaughter grass gray great
green grey grocery groceries ground group growth guard guest guide guidance guilty guitar
gym habit hair half hall hand happy hard hardware hat headache headquarters health healthy
heart heat heating heavy height helpful hidden high highly hill history hobby hobbies
holiday holidays home homework honest honestly horse hospital hotel hour house household
huge human humor hundred husband ice idea ideal ideally illness image immediate immediately
impact important importantly impossible improvement income increase incredible independent
individual industry information ingredient injury inner insight instance instruction
instrument insulin insurance intention interest interesting internal international internet
internship interview introduction investment invoice iron island item jacket job joint joke
journalist journey joy judge juice junior kettle key keyboard kid kids kind king kitchen
knee knife knowledge lab label lady lake lamp land landlord language laptop large laser late
latest law lawyer layer lazy leader leadership leaf league lecture leg legal leisure lemon
lesson letter level library license life lift light line link list little loan local
location logic long lot loud low loyal luck lucky lunch lunchtime machine magazine mail main
mainly maintenance major majority male man manager manner map marathon march mark market
marketing marriage married mass master material math mathematics maximum meal meaning meat
media medical medicine medium meeting member membership memory men mental menu merely
message metal method middle migraine mild military milk minimum minor minute mirror missing
mission mistake mix mobile mode model modern mom moment money month monthly mood moon
morning mortgage mother motorcycle mountain mouse mouth movie mum museum mushroom music
musical musician narrow nation national native natural naturally nature neck negative
neighbor neighborhood neighbour neighbourhood nephew nervous network new newest news
newspaper next nice niece night noise noisy normal north northern nose notebook notes
notification novel number nurse nut nuts obvious obviously occasion occasional occasionally
odd office officer official oil old older oldest online opening operation opinion
opportunity opposite option orange ordinary organic organization original outdoor overnight
owner package page pain painter painting pair pan paper parent parents parking part
participant particular partner party passenger passion passport past pasta path patience
patient pattern payment peace peanut peanuts pen people pepper percent perfect performance
period permanent permission person personal personality personally pet phase phone photo
photographer photography physical physician physics pianist piano picture piece pilot pink
pipe pizza place plain plane planet plant plastic plate platform player playing plenty plus
pocket poem poet police policy political politics pool poor popular pork portion position
positive possible possibility pot potato potential pound power powerful practical precise
preference pregnant premium preparation presence presentation president press pressure
pretty previous price pride priest primary principal printer priority privacy private prize
problem procedure process product production profession professional professor profile
program programmer programming progress project promotion proof proper properly property
proposal protection protein proud psychologist public purchase pure purple purpose quality
quarter queen query question quick quickly quiet quietly race racing radio rain rainy range
rare rarely rate raw reader reading ready real reality reason reasonable receipt recent
recipe recommendation red reference region regular regularly relation relationship relative
relatively relevant reliable religion remote remotely repository requirement researcher
resident residence resource respect response responsibility responsible restaurant result
retirement rice rich rid right risk river road role roof room roommate root rose rough route
router routine row rule runner rural sad safe sail salad salary sale salmon salt sample sand
sandwich sauce saving scale school science scientist scooter screen script sea season seat
second secret section secure security senior sense sensitive sentence serious seriously
service session setting settings setup severe shadow shape sharp shelf shift shirt shoe
shoes shopping short shorter shortly shoulder shower shy sibling siblings sick side sight
signal significant silence silent silver similar simple simply singer single sink sister
site situation size skiing skill skills skin sky slight slightly slow slowly small smart
smoker smoking smooth snack snow soccer social society sofa soft soil solar soldier solid
solution son song soul soup source south southern space spare special specialist specific
speech speed sport sports spot spouse square staff stage stairs standard standup star
startup statement station status steady steak step stepfather stepmother stepson stomach
stone storm story straight strange strategy stream street strength stress stressful strict
string strong stronger structure student studio stuff stupid style subject subscription
success successful sudden suddenly sugar suit suitable sum summary sun sunny super supper
supplier supply surgery surprise surprising sushi sweater sweet swimmer system table tail
talent tall target task tax taxi tea teacher teaching team teammate technical technique
technology teenager teeth telephone television temperature temporary tenant tennis tension
term terrible testing text theater theatre theme theory therapist therapy thick thin thing
things thoughts thousand ticket tie tight time tiny tip tired title today tomorrow tone
tonight tool tooth top topic total touch tough tour tourist town toy trade traffic training
trainer transport transportation treatment tree trial trip trouble true truly truth tuna
tutor twin twins typical ugly ultimate unable uncle unfortunately unhappy uniform union
unique unit university unknown unlike unusual upper urban urgent usage useful user users
usual vacation valley valuable van variety various vegetable vegetables vegetarian vehicle
version vet victim video village violin virus vision visitor vital vitamin voice volume
waiter wall wallet war warm warning water wave way weak wealth weather web website wedding
week weekday weekdays weekend weekends weekly weight weird west western wet wheel white
whole wide wife wild wind window wine winner winter wire wise woman women wonderful wood
wooden words worker working workout workshop world worried worse worst worth wrong yard year
yearly years yellow yesterday yoga young younger youngest youth zone zoo asthma arthritis
pescatarian lactose dairy hometown surname username timezone stack backend repo merge commit
rollout hotfix postmortem retro sprint onboarding stakeholder dashboard config pipeline
cluster slides deck headphones podcast playlist sci fi thriller romance
",
        "The cat sleeps.",
    )],
    asking: &[(
        "what which who whom whose where when why how did does do was were been be am had would could should can will shall may might about there any some this these those tell please",
        "What did she buy?",
    )],
    correcting: &[(
        "now instead moved gone changed changes replaced anymore meanwhile raised lowered new renamed retired cancelled canceled postponed settled former formerly previously correction corrected became switched",
        "The key is now in the drawer.",
    )],
    ..LanguageTable::EMPTY
};
