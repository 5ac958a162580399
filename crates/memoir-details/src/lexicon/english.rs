//! English words that are no names: closed-class words, verbs and everyday vocabulary.

/// Closed-class words.
pub(super) const FUNCTION: &str = "
the a an and or but nor so yet if then else than that this these those there here where when while
who whom whose which what why how i me my mine myself we us our ours ourselves you your yours
yourself he him his himself she her hers herself it its itself they them their theirs themselves
one ones someone somebody something anyone anybody anything everyone everybody everything each
every either both all any some many much more most few fewer less least several enough other
others another such same own of in on at by for with about against between into through during
before after above below to from up down out off over under again further once as until till since
because although though unless whereas whether within across along around behind beside besides
beyond despite except inside outside near onto per regarding toward towards upon via versus like
just only also too very quite rather really even still already always often sometimes usually
maybe perhaps however therefore thus hence moreover furthermore additionally meanwhile otherwise
instead anyway indeed actually basically currently recently lately now soon later earlier
eventually finally generally typically normally especially particularly probably possibly
apparently whenever wherever whatever whoever whichever somewhere anywhere everywhere elsewhere afterwards
afterward nevertheless nonetheless regardless apart aside alongside beneath amid among amongst
throughout hopefully lastly firstly secondly thirdly overall altogether together anymore somehow
somewhat sooner ago away back forth hereby thereby anyhow alas admittedly notably namely
currently previously formerly originally initially ever almost nearly am is are was were
be been being do does did doing done have has had having can could will would shall should may
might must ought need dare let lets please yes yeah yep ok okay oh well hi hello hey thanks thank
dear sorry etc vs ie eg ps nb fyi btw asap aka re approx
";

/// Words that begin another clause: pronoun subjects.
pub(super) const SUBJECT: &str = "i we you he she it they";

/// Auxiliaries; without a negation they begin an affirmative clause.
pub(super) const AUX: &str = "
am is are was were do does did has have had can could will would shall should may might must
";

/// Words that carry no weight as what a negation negates.
pub(super) const LIGHT: &str = "
be been being get gets got getting go going goes want wants wanted wish wishes have has had having
make makes made take takes took do does did doing done longer anymore any ever feel feels seem
seems able really very allowed permitted supposed want wanting give given thing things way like likes liked
liking care fan interested
";

/// Everyday verbs, as a sentence about somebody begins with them or a clause turns on them.
pub(super) const VERBS: &str = "
accept add admit adore agree allow answer appear apply appreciate approve argue arrange arrive ask
assume attend avoid bake base become begin believe belong book borrow bring build buy call cancel
care carry catch celebrate change charge chat check choose claim clean climb close collect come
commute compare complain complete confirm connect consider consist consult contact contain continue
convert cook coordinate cost count cover create cut dance deal decide decline define delay deliver
depend describe deserve design develop dislike discuss divorce donate draw dream drink drive drop
earn eat email emphasize employ encourage end enjoy enter evaluate exercise expect experience
explain explore express face fail fall fear feed feel fight fill find finish fit fix fly focus
follow forget forgive gather get give go grow guess handle happen hate have head hear help hike
hire hold hope host identify ignore imagine implement improve include indicate inform insist
inspire intend introduce invest invite involve issue join jog jump keep kick know lack last laugh
launch lead lean learn leave lend let like limit listen live lock look lose love maintain make
manage marry match matter mean measure meet mention migrate mind miss monitor move name need note
notice notify object observe offer open operate order organize own pack paint park participate pass
pay perform pick plan play point post practice practise prefer prepare present prevent print
produce promise propose protect prove provide publish pull push put raise reach react read realize
recall receive recommend record recover reduce refer refuse regret relate relax release rely
remain remember remind remove renew rent repair repeat replace reply report represent request
require research reserve resign respond rest retire return review ride ring rise run save say
schedule see seem seek sell send separate serve set settle share ship shop show shut sign sing sit
ski sleep smile smoke solve sound speak spend stand start state stay stick stop store struggle study
submit subscribe succeed suffer suggest support suppose surf swim switch take talk taste teach tell
tend test thank think track train transfer translate travel treat trust try turn type understand
update upgrade use value verify view visit volunteer vote wait wake walk want warn wash watch wear
weigh welcome win wish wonder work worry write
";

/// Irregular forms.
pub(super) const FORMS: &str = "
ate ate began begun became bought brought built came caught chose chosen cost dealt drank driven
drove drew drunk eaten fell fallen fed felt fought found flew flown forgot forgotten gave given
went gone got gotten grew grown heard held hid kept knew known led left lent lost made meant met
paid put ran rang read rode said sang sat saw seen sent sold shown slept spoke spoken spent stood
stole swam swum took taken taught told thought threw understood woke won wore worn wrote written
born hurt hit shut set let tied died lies lying dying tying swimming running getting planning
stopped planned preferred referred
";

/// Other everyday vocabulary: nouns, adjectives and adverbs that sentences open with.
pub(super) const COMMON: &str = "
apologies apology reminder heads sidenote anecdote trivia reiterate spelling sourdough hopefully rumor rumour gossip chances odds word guesses judging given granted assuming provided considering
speaking based depending according compared due owing contrary similarly likewise conversely
unsurprisingly surprisingly interestingly oddly strangely sadly luckily thankfully gratefully
allergies allergen medication medications symptom symptoms dose dosage diagnosis prescription
ability absence accessory accessories adapter adventure aisle algorithm alert analysis analytics
announcement apartment appetite appliance armchair arrangement assignment assistance atmosphere
attempt attic auction authentication authorization automation avocado badge baking barbecue bargain
basket batch bathtub bedding bench beverage bicycle billing binder biscuit blender blouse booking
bookshelf boots bracelet brainstorming breakfast broccoli brochure browser brunch bucket buffet bulb
bundle burger cabbage cabinet caching cafeteria caffeine calculator candle canteen cardboard cardigan
caregiver carpool carrot cashier casserole catering ceiling celery ceremony cereal certificate
certification chapel charger checklist checkout chemist cherry chili chimney chocolates cholesterol chores
cilantro cinema cinnamon citizenship classroom cleaner cleaning clothes clothing clue coaching cocoa
coconut commuting compiler concern conferences confirmation consent console construction container
contest contribution conversion cookies coordination coriander correspondence couch counselor coupon
coverage cracker craft crossing cucumber cupboard curfew curry curtain cushion cutlery debugging decor
decoration deductible dentistry dependency deploy depot diagram diaper diarrhea dishes dishwasher
disclaimer distraction documentation donation donut doorbell dough drawer drill drone drought dryer
duplicate dust earrings earphones eggplant eggs electricity electronics elementary embassy emoji emojis
endpoint enrollment entertainment envelope eviction exhibition expense expenses extension eyesight
fabric facilities failure farewell faucet feature fertilizer fiber fiction filing finding fireplace
firewall firmware fixture flashlight flexibility flooring flowers font foods footage forecast forms
formula formatting fraud freezer freight frontend fuel furnace gallery gardening gate gathering
genre glasses gloves gluten goggles gown grading grandchild grandchildren grant graphics grill gravity
guardian guests guideline guidelines gutter gymnastics handbook handle handwriting hangover harassment
hazard headline healthcare hearing heater helmet herb highlight highway hiking hint hiring hoodie
hosting hospitality housing humidity hygiene icon immigration incident indentation indicator indoor
infection inflation infrastructure ingredients inheritance inhaler injection inquiry insomnia
inspection installation instructor integration intern intersection inventory invitation irrigation jam
jar jeans jewelry jogging joints juggling jury justice karaoke kayak kettlebell keychain kindergarten
knitting laundry lawn layout leak leather lease legend legislation leftovers lens lentils lettuce
liability librarian lid lighting linen lipstick literature livestock loading lobby locker lodging
logging logistics logo lotion luggage lumber lunchbox machinery mailbox mailing makeup management
manual manuscript marinade mattress mayor meatballs mechanic meditation mentor mentoring merger
microphone microwave midterm milestone mileage mindfulness minimalism minutes misunderstanding mixer
moisturizer monitoring moods mosquito motivation mower mug muscle mustard naming napkin narrator nap
navigation necklace needle negotiation neighborhoods nickname nightmare nightshift noodles nursery
nursing nutrition nutritionist oak oats obligation observation occupation ocean omelette onion onions
operator optician oral orchard orchestra organizer origin outage outdoors outfit outlet output oven
ownership oyster packaging pajamas pancake panel paperwork parcel parenting participation passcode
password passwords patch patio paycheck payroll pear pedestrian pencil penicillin pension percentage
perfume permit pets pharmacy pharmacist photos phrase physiotherapy pickup pie pill pills pillow pineapple
pitch plaster playground plumber plumbing poetry pollen pollution porch porridge portfolio portrait
postcard poster potatoes pottery poultry pram prayer predictions pregnancy prescriptions presents
preserve prevention pricing printing privilege prototype pub publication publishing pumpkin punctuation puppy
puzzle quarantine questionnaire quilt rabbit raincoat raise ramp rash ratio readme rebate receptionist
recession recipes recruiter recruiting recruitment recycling refactoring referee referral refund
refrigerator refund rehab rehearsal rehearsals reimbursement relatives reliability relocation
renovation renovations rental replacement reporter reputation reservation reservations residency
resignation resolution restriction restrictions restrooms resume retreat reunion revenue reviewer
rewards rhythm ribbon ritual roadmap roasted robot rollback roster rug rumors sabbatical safety
sailing salon sanctuary sauna sausage savings scaling scarf scenario scholarship scissors scoring
sculpture seafood seating seasoning secretary seed semester seminar sensor server servers settlement
sewing shampoo shed sheet shellfish shelter shipment shipping shortcut shorts showroom shrimp
shuttle sidewalk signature signup silverware skateboard skating sketch skincare skirt sleepover
slippers smell smoothie snacks sneakers snoring snowboarding soap socks soda software soreness spa
spaghetti spam spinach spine sponsor spoon spreadsheet squash squirrel stability staging stamp starter
statistics steam stepdaughter sticker stockings stool stopover storage stove strap strawberry
stretching stroller subway suitcase sunglasses sunlight sunrise sunscreen sunset supermarket
superstition supervisor supplement supplements suppliers surcharge surgeon survey sustainability
sunflower swimsuit syllabus syntax syrup tablet tablets tap tasks tattoo taxes teaspoon teammates telemetry
temple tenancy terrace territory theft thermostat thesis thumb tickets tights tile tires tissue toast
toaster toddler toilet toll tomato tomatoes toothbrush tournament towel toys tracker tracking
tradition trail trailer translation translator trash treadmill trekking tricks tripod trousers truck
trunk tuition tunnel turbine tutorial tutoring typing typo umbrella underwear uniforms uninstall unlocking
usability utensils utilities utility vacancy vaccination vaccine vacuum validation vase vault vegan
vegetation vendor vendors venue verification versions vest veterinarian videos vinegar visa visas
vocabulary volleyball volunteers volunteering voucher wage waiting waitress wardrobe warehouse
warranty washer waste watchlist waterproof wax weakness weights wheat wheelchair whiskey wiring
witness wool workflow workload workplace workshops workspace worksheet wrist yogurt zipper zucchini
accessibility access accident account accountant action active activity actor address adult
advance advice afternoon age agency agenda agent agreement air airline airport alarm album alcohol
allergic allergy alternative amount ancient angle angry animal anniversary annual answer apartment
api app apple application appointment approach area argument arm army arrival art article artist
asleep aspect assistant assumption attention attitude audience aunt author availability available
average award aware awareness baby back background backup bad bag bakery balance ball band bank
bar baseball basement basic basis basketball bath bathroom battery beach bean bear beard
beautiful beauty bed bedroom bedtime beef beer behavior behaviour belief bell best better bicycle
big bike bill billing bird birth birthday bit black blanket blind block blog blood blue board boat
body bone bonus book border boring boss bottle bottom bowl box boy boyfriend branch bread break
breakfast bridge brief bright broad broken brother brown budget bug building bus business busy
butter button cabin cable cafe cake calendar call calm camera camp camping cancer candidate
capacity capital car carbon card cardiologist career careful carpet cart case cash cat category
cause cell center central centre century certain chair challenge chance channel chapter character
charity charge cheap cheese chef chemistry chess chicken chief child childhood children chocolate
choice church city civil class classic classmate clean clear clearly client climate clinic clock
close closet cloud club coach coast coat code coding coffee cold colleague collection college
color colour comfort comfortable commercial commission committee common communication community
commute company competition complaint complete complex computer concern concert conclusion
condition conference confidence conflict connection constant contact content contract contractor
control conversation cooking cool copy corner corporate correct cost cottage country couple courage course
court cousin coworker cream creative credit crew crisis critical crowd crucial culture cup current
curious custom customer cycle cycling dad daily damage dance danger dangerous dark data database
date daughter day dead deadline deal death debt decade decision deep default degree delay delivery
demand dentist department departure deployment deposit depth description desert design desk despite
dessert detail developer development device diabetes dialog diary diet difference different
difficult digital dinner direct direction director dirty disability disagreement disaster discount
discussion disease dish distance district doctor document documentation dog dollar door double
doubt draft drama dream dress dressing drink driver driving drug dry due duration duty ear early
earth east eastern easy easily economy edge editor education effect effective effort egg elder
elderly election electric electrical element elevator email emergency emotion emotional employee
employer empty end energy engine engineer engineering enough entire entrance entry environment
equal equipment error essay essential estate estimate evening event evidence exact exactly exam
example excellent exception excited exciting exercise existing expensive experience expert
explanation extra extreme eye face facility fact factor factory fair faith fall false familiar
family famous fan far farm fashion fast fat father fault favorite favourite fear feature fee
feedback feeling female fence festival fever field fight figure file film final finance financial
fine finger fire firm first fish fitness fix flat flexible flight floor flour flower flu focus
folder following food foot football force foreign forest form formal former fortunately forward
frame framework free freedom freelance french frequent frequently fresh fridge friend friendly
friends front fruit full fully fun function fund funny furniture future game gaming garage garden
garlic gas gate gear general gift girl girlfriend glad glass goal god gold golf good goods
government grade graduate graduation grandfather grandma grandmother grandpa grandparents
grandson granddaughter grant grass gray great green grey grocery groceries ground group growth
guard guess guest guide guidance guilty guitar gym habit hair half hall hand happy hard hardware
hat head headache headquarters health healthy heart heat heating heavy height help helpful here
hidden high highly hill history hobby hobbies holiday holidays home homework honest honestly hope
horse hospital hotel hour house household housing huge human humor hundred husband ice idea ideal
ideally illness image immediate immediately impact important importantly impossible improvement income increase
incredible independent individual industry information ingredient injury inner insight instance instruction
instrument insulin insurance intention interest interesting interestingly internal international
internet internship interview introduction investment invoice iron island issue item jacket job
joint joke journalist journey joy judge juice junior kettle key keyboard kid kids kind king kitchen
knee knife knowledge lab label lady lake lamp land landlord language laptop large laser last late
latest law lawyer layer lazy leader leadership leaf league lecture left leg legal leisure lemon
lesson letter level library license life lift light limit line link list little loan local
location logic long look lot loud love low loyal luck lucky lunch lunchtime machine magazine mail
main mainly maintenance major majority make male man manager management manner many map marathon
march mark market marketing marriage married mass master match material math mathematics matter
maximum meal meaning meat media medical medication medicine medium meeting member membership memory
men mental menu merely message metal method middle migraine mild military milk mind mine minimum
minor minute mirror missing mission mistake mix mobile mode model modern mom moment money monitor month monthly
mood moon morning mortgage mother motorcycle mountain mouse mouth move movie mum museum mushroom
music musical musician name narrow nation national native natural naturally nature neck negative
neighbor neighborhood neighbour neighbourhood nephew nervous network new newest news newspaper next
nice niece night noise noisy normal north northern nose note notebook notes notebook notification
novel number nurse nut nuts object obvious obviously occasion occasional occasionally odd offer
office officer official oil old older oldest online open opening operation opinion opportunity
opposite option orange order ordinary organic organization original outdoor oven overall overnight
owner package page pain painter painting pair pan paper parent parents park parking part
participant particular partner party passenger passion passport password past pasta path patience
patient pattern payment peace peanut peanuts pen people pepper percent perfect performance period
permanent permission person personal personality personally pet phase phone photo photographer
photography physical physician physics pianist piano picture piece pilot pink pipe pizza place
plain plan plane planet plant plastic plate platform player playing plenty plus pocket poem poet
point police policy political politics pool poor popular pork portion position positive possible
possibility pot potato potential pound power powerful practical practice precise preference
pregnant premium preparation presence present presentation president press pressure pretty
previous price pride priest primary principal print printer priority privacy private prize problem
procedure process product production profession professional professor profile program programmer
programming progress project promise promotion proof proper properly property proposal protection
protein proud psychologist public pull purchase pure purple purpose quality quarter queen query
question quick quickly quiet quietly race racing radio rain rainy range rare rarely rate raw
reader reading ready real reality reason reasonable receipt recent recipe recommendation record
red reference region regular regularly relation relationship relative relatively release relevant reliable
religion reminder remote remotely rent repair repository request requirement researcher resident
residence resource respect response responsibility responsible restaurant result retirement review
rice rich rid right ring risk river road role roof room roommate root rose rough route router
routine row rule runner running rural sad safe safety sail salad salary sale salmon salt sample
sand sandwich sauce saving scale schedule school science scientist scooter screen script sea
season seat second secret secretary section secure security senior sense sensitive sentence serious
seriously server service session setting settings setup severe shadow shape share sharp shelf shift
ship shirt shoe shoes shop shopping short shorter shortly shoulder show shower shy sibling siblings
sick side sight signal significant silence silent silver similar simple simply singer single sink
sister site situation size skiing skill skills skin sky sleep slight slightly slow slowly small
smart smoker smoking smooth snack snow soccer social society sofa soft software soil solar soldier
solid solution son song soul sound soup source south southern space spare special specialist
specific speech speed spelling sport sports spot spouse square staff stage stairs standard
standup star startup state statement station status steady steak step stepfather stepmother
stepson stomach stone storage store storm story straight strange strategy stream street strength
stress stressful strict string strong stronger structure struggle student studio stuff stupid style
subject subscription success successful sudden suddenly sugar suit suitable sum summary
sun sunny super supper supplier supply surgery surprise surprising sushi sweater sweet swimmer
swimming symptom system table tail talent tall target task tax taxi tea teacher teaching team
teammate technical technique technology teenager teeth telephone television temperature temporary
tenant tennis tension term terrible test testing text thanks theater theatre theme theory therapist
therapy thick thin thing things thought thoughts thousand ticket tie tight time tiny tip tired title
today tomorrow tone tonight tool tooth top topic total touch tough tour tourist town toy track
trade traffic training train trainer transport transportation trash travel treatment tree trial
trip trouble truck true truly truth tuna turn tutor twin twins typical ugly ultimate unable uncle
unfortunately unhappy uniform union unique unit university unknown unlike unusual update upper
urban urgent usage useful user users usual vacation valley valuable value van variety various
vegan vegetable vegetables vegetarian vehicle version vet victim video view village violin virus
vision visitor visit vital vitamin voice volume waiter wall wallet war warm warning water wave way
weak wealth weather web website wedding week weekday weekdays weekend weekends weekly weight weird
welcome west western wet wheel white whole wide wife wild wind window wine winner winter wire wise
woman women wonderful wood wooden word words work worker working workout workplace workshop world
worried worse worst worth wrong yard year yearly years yellow yesterday yoga young younger
youngest youth zone zoo asthma arthritis pescatarian lactose gluten shellfish dairy nickname hometown
surname username timezone stack deploy frontend backend repo branch merge commit rollout hotfix
postmortem retro sprint ticket onboarding stakeholder dashboard config pipeline cluster query
spreadsheet slides deck laptop headphones podcast playlist sci fi thriller romance
";

/// Ordinary words that are also first names; a following verb or name decides.
pub(super) const ALSO_NAMES: &str = "
will mark rose grace hope may june april bill sue jack frank art rich dean grant chase lily ivy
olive daisy amber summer joy faith crystal pat drew nick rob guy max ray jean miles hunter mason
carter cook baker smith brown green white black young king bush apple amazon target shell gap
ford slack notion oracle discord zoom teams signal word excel violet ruby pearl penny holly iris
dawn eve autumn robin angel angela christian harry gene dale glen lance cliff reed heath bob jay
sky skye river sage willow stone wood woods page paige price porter potter walker taylor tailor
parker cooper fisher bishop knight bell love day gray grey fox wolf hill lake rivers meadow
chance sunny melody harmony charity patience pepper ginger basil bay
";
