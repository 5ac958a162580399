//! French.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    function: "\
le la les l un une des du de d au aux et ou mais donc or que qu qui quoi dont où quand comment pourquoi je j tu il \
elle on nous vous ils elles me m te t se s lui leur y en ce c cet cette ces mon ma mes ton ta tes son sa ses notre \
nos votre vos leurs à dans par pour sur sous avec chez vers entre selon est sont était étaient suis es sommes êtes \
été être a ai as avons avez ont avait avaient avoir fait faire très aussi bien quelque autre autres même mêmes comme \
alors puis ensuite enfin ici là cependant pourtant toutefois néanmoins ainsi oui lors puisqu parce afin malgré \
environ merci bonjour voici voilà cela ça ceci celui celle ceux moi toi eux quelqu'un",
    asking: "quel quelle quels quelles combien est-ce a-t-il",
    telling: "\
car si depuis pendant avant après contre va vont peut peuvent doit doivent veut plus encore toujours souvent parfois \
déjà peu beaucoup trop tout tous toute toutes chaque quelques actuellement maintenant aujourd'hui hier demain lorsque \
lorsqu puisque jusqu tandis ne n sans presque quasi guère soit sauf seulement sinon excepté pourvu peut-être \
probablement apparemment soi-disant prétendument éventuellement possiblement peux pouvait pourrait pourraient dois \
devait devrait devraient faut fallait veux voudrait voulait vais crois croit croyait pense pensait suppose semble \
semblait paraît doute espère certains certaines plusieurs moitié plupart rarement habituellement moins mieux jusque \
jusqu'à arrête arrêté cesse cessé refuse refusé évite oublie nie ancien ancienne ex faux fausse pas jamais rien \
personne aucun aucune nullement non ni",
    common: "\
habite travaille aime préfère possède parle joue mange boit prend vit étudie utilise souhaite demande déteste mère \
père frère sœur fille fils mari femme enfant enfants ami amie voiture maison réunion rendez-vous projet équipe \
utilisateur utilisatrice malheureusement heureusement franchement personnellement normalement généralement récemment \
finalement évidemment concernant suite pensez rappel madame monsieur oncle grand-mère grand-père chien médecin numéro \
livraison facture né née chacun petit petite grand grande nouveau nouvelle honnêtement sincèrement hormis seul seule \
dernier dernière premier première prochain",
    numbers: "\
zéro 0 deux 2 trois 3 quatre 4 cinq 5 six 6 sept 7 huit 8 neuf 9 dix 10 onze 11 douze 12 treize 13 quatorze 14 quinze \
15 seize 16 vingt 20 trente 30 quarante 40 cinquante 50 soixante 60 cent 100 mille 1000 premier premier première \
premier deuxième deuxième troisième troisième million million millions millions milliard milliard",
    correcting: "\
désormais maintenant finalement nouveau nouvelle changé déplacé remplacé annulé reporté passe plutôt",
    abbreviations: "mme mlle m av env bd",
    negations: "ne n pas jamais rien aucun aucune nullement non ni sans guère nul nulle",
    relative: "\
hier aujourd'hui demain maintenant actuellement récemment bientôt dernièrement désormais prochainement naguère \
ce_matin ce_soir ces_jours-ci en_ce_moment depuis_peu il_y_a_peu",
    shifts: "\
dernier dernière derniers dernières prochain prochaine prochains prochaines ce cet cette ces",
    shifts_behind: "\
dernier dernière derniers dernières prochain prochaine prochains prochaines passé passée passés passées",
    spans: "\
jours semaine semaines week mois an ans année années décennie siècle printemps été automne hiver saison nuit soir \
noël pâques",
    ago_before: "il_y_a",
    amounts: "un une quelques plusieurs longtemps",
    months: "\
janvier/janv février/févr mars avril mai juin juillet/juil août septembre/sept octobre/oct novembre/nov décembre/déc",
    weekdays: "\
lundi/lundis mardi/mardis mercredi/mercredis jeudi/jeudis vendredi/vendredis samedi/samedis dimanche/dimanches",
    years: "en depuis dès vers année été printemps automne hiver",
    name_endings: "s",
    subjects: "elle elles ils",
    defining: "qui que dont",
    parties: "j je m me moi mon ma mes mien mienne nous notre nos",
    marks_names: true,
    ..LanguageTable::EMPTY
};
