//! French.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    free: &[
        ("le la les l", "Le chien dort."),
        ("un une des", "Anne a une sœur."),
        ("et", "Anne chante et Paul peint."),
        ("que qu", "Anne dit que Paul dort."),
        ("très", "Le jardin est très beau."),
        ("est sont suis es sommes êtes", "Paul est mon mari."),
        ("a ont ai as avons avez", "J'ai un cancer."),
        ("à dans en", "La clé est dans la boîte."),
    ],
    turning: &[
        ("ne n", "Je ne fume pas."),
        ("sans presque à_peine quasi guère", "Il vient sans veste."),
        ("ou soit", "Prends la pilule rouge ou la bleue."),
        (
            "si sauf seulement sinon excepté pourvu",
            "Je paie si elle demande.",
        ),
        (
            "
peut-être peut être_que probablement sans_doute apparemment soi-disant prétendument
éventuellement possiblement
",
            "Anne viendra probablement.",
        ),
        (
            "
peut peux peuvent pouvait pourrait pourraient doit dois doivent devait devrait devraient
faut fallait veut veux voudrait voulait va vais vont
",
            "Anne doit payer.",
        ),
        (
            "crois croit croyait pense pensait suppose semble semblait paraît doute espère",
            "Je crois que c'est Marc.",
        ),
        (
            "
tout tous toute toutes chaque certains certaines quelques plusieurs beaucoup peu deux_fois
moitié plupart
",
            "Tous les tests passent.",
        ),
        (
            "toujours parfois souvent rarement habituellement moins plus mieux",
            "Elle ferme toujours la porte.",
        ),
        (
            "
avant après depuis pendant quand lorsque lorsqu bien_que parce_que puisque car tandis jusque
jusqu jusqu'à
",
            "Avant le repas, elle prend A.",
        ),
        (
            "arrête arrêté cesse cessé refuse refusé évite oublie nie",
            "Elle refuse de signer.",
        ),
        ("ancien ancienne ex faux fausse", "C'est mon ancien chef."),
        ("contre trop", "Paul est contre le projet."),
    ],
    following: &[
        (
            "pas jamais rien personne aucun aucune nullement",
            "Je fume pas.",
        ),
        ("non ni", "Je bois du thé, ni plus."),
    ],
    pronouns: &[
        ("je j me m moi mon ma mes", "Je mange."),
        (
            "tu te t toi ton ta tes vous votre vos",
            "Tu me dois dix euros.",
        ),
        ("il lui son sa ses elle se s leur leurs", "Elle dort."),
        ("nous notre nos ils elles eux on", "Nous payons."),
        ("qui quelqu'un ce cela ça celui celle c y", "Ça marche."),
    ],
    joining: &[("et mais aussi puis", "Anne chante mais Paul peint.")],
    attaching: &[(
        "de d avec pour par sur chez vers comme",
        "Le frère d'Anne chante.",
    )],
    relative: &[
        (
            "hier avant-hier aujourd'hui demain maintenant actuellement récemment bientôt",
            "Elle est venue hier.",
        ),
        (
            "
dernier dernière derniers dernières prochain prochaine prochains passé passée ce_matin
ce_soir cette_semaine cette_année il_y_a
",
            "Elle vient la semaine prochaine.",
        ),
        ("encore déjà désormais plus_tard", "Elle est encore à Rome."),
    ],
    numbers: &[
        (
            "
zéro 0 deux 2 trois 3 quatre 4 cinq 5 six 6 sept 7 huit 8 neuf 9 dix 10 onze 11 douze 12
treize 13 quatorze 14 quinze 15 seize 16 vingt 20 trente 30 quarante 40 cinquante 50
soixante 60 cent 100 mille 1000
",
            "Elle a deux chats.",
        ),
        (
            "
premier premier première premier deuxième deuxième troisième troisième million million
millions millions milliard milliard
",
            "Elle vit au troisième étage.",
        ),
    ],
    contractions: &[(
        "
l'=l d'=d j'=je m'=me t'=te s'=se n'=ne c'=ce qu'=que jusqu'=jusque lorsqu'=lorsque
",
        "J'aime l'eau.",
    )],
    abbreviations: &[("mme mlle m av env bd", "Mme. Petit dort.")],
    frames: &[(
        "
l_utilisateur_a_dit_que il_est_important_de_noter_que il_faut_noter_que il_est_à_noter_que
veuillez_noter_que j'ai_appris_que
",
        "Il est important de noter que Paul ne mange pas de porc.",
    )],
    evidence: &[(
        "
le la les l un une des du de d au aux et ou mais donc or car si que qu qui quoi dont où
quand comment pourquoi je j tu il elle on nous vous ils elles me m te t se s lui leur y en
ce c cet cette ces mon ma mes ton ta tes son sa ses notre nos votre vos leurs à dans par
pour sur sous avec chez vers entre depuis pendant avant après contre selon est sont était
étaient suis es sommes êtes été être a ai as avons avez ont avait avaient avoir fait faire
va vont peut peuvent doit doivent veut très plus aussi encore toujours souvent parfois déjà
bien peu beaucoup trop tout tous toute toutes chaque quelque quelques autre autres même
mêmes comme alors puis ensuite enfin ici là actuellement maintenant aujourd'hui hier demain
cependant pourtant toutefois néanmoins ainsi oui lors lorsque lorsqu puisque puisqu jusqu
parce tandis afin malgré environ merci bonjour voici voilà cela ça ceci celui celle ceux ne
n sans presque quasi guère soit sauf seulement sinon excepté pourvu peut-être probablement
apparemment soi-disant prétendument éventuellement possiblement peux pouvait pourrait
pourraient dois devait devrait devraient faut fallait veux voudrait voulait vais crois croit
croyait pense pensait suppose semble semblait paraît doute espère certains certaines
plusieurs moitié plupart rarement habituellement moins mieux jusque jusqu'à arrête arrêté
cesse cessé refuse refusé évite oublie nie ancien ancienne ex faux fausse pas jamais rien
personne aucun aucune nullement non ni moi toi eux quelqu'un
",
        "Le chien dort.",
    )],
    // Words of every day that are no names at the beginning of a sentence.
    common: &[(
        "
habite travaille aime adore préfère possède parle joue mange boit prend vit étudie utilise
souhaite demande déteste mère père frère sœur fille fils mari femme enfant enfants ami amie
voiture maison réunion rendez-vous projet équipe client cliente utilisateur utilisatrice
malheureusement heureusement franchement personnellement normalement généralement récemment
finalement évidemment concernant suite pensez note attention rappel madame monsieur tante
oncle grand-mère grand-père chien chat médecin adresse numéro livraison facture né née
chacun petit petite grand grande nouveau nouvelle honnêtement sincèrement hormis seul seule
dernier dernière premier première prochain
",
        "",
    )],
    decimal_comma: true,
    asking: &[(
        "que quoi qui quel quelle quels quelles où quand comment pourquoi combien est-ce était étaient avait avaient fait a-t-il quelque",
        "Où est la clé ?",
    )],
    correcting: &[(
        "désormais maintenant finalement nouveau nouvelle changé déplacé remplacé annulé reporté passe plutôt",
        "La clé est désormais dans la boîte.",
    )],
    ..LanguageTable::EMPTY
};
