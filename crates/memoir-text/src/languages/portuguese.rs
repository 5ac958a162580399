//! Portuguese.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    function: "\
o a os as um uma uns umas de do da dos das em no na nos nas ao à aos às e mas que quem qual quais quando onde como se \
eu tu ele ela nós vós eles elas você vocês me te lhe lhes meu minha meus minhas teu tua seu sua seus suas nosso nossa \
nossos nossas com por para pelo pela pelos pelas sobre sob entre é são era eram foi foram sou ser está estão estava \
estar há tem têm tinha ter querem faz muito também outro outra outros outras mesmo mesma este esta estes estas esse \
essa esses essas isto isso aquele aquela aqui ali lá então além dela dele delas deles neste nesta nisso nele nela dia \
obrigado obrigada olá num numa és somos estou algum alguma mim comigo ti vosso alguém aquilo",
    asking: "quanto quantos havia",
    telling: "\
ou porque até desde durante contra pode podem deve devem quer vai vão mais menos ainda já sempre todo toda todos \
todas cada agora hoje ontem amanhã depois antes enquanto embora atualmente costuma não nunca jamais nada ninguém \
nenhum nenhuma nem tampouco sem quase mal caso salvo exceto só somente apenas talvez provavelmente possivelmente \
supostamente aparentemente porventura posso podia poderia poderiam devo devia deveria quero queria vou acho acha \
achava penso pensa suponho parece parecia duvida duvido creio espero alguns algumas vários várias muitos muitas pouco \
pouca poucos poucas ambos maioria meio meia raramente geralmente deixou parou recusa recusou evita esquece nega \
antigo antiga ex falso falsa",
    common: "\
mora trabalha prefere gosta estuda fala joga precisa leva conhece comprou diz pediu nasceu odeia mãe pai irmão irmã \
filha filho filhos mulher carro reunião projeto equipe equipa usuário usuária infelizmente felizmente pessoalmente \
basicamente lembrete avó avô tio tia cachorro cão endereço fatura novo nova primeiro primeira lembre senhora senhor \
honestamente",
    numbers: "\
zero 0 dois 2 duas 2 três 3 quatro 4 cinco 5 seis 6 sete 7 oito 8 nove 9 dez 10 onze 11 doze 12 treze 13 catorze 14 \
quatorze 14 quinze 15 dezesseis 16 dezasseis 16 vinte 20 trinta 30 quarenta 40 cinquenta 50 sessenta 60 setenta 70 \
oitenta 80 noventa 90 cem 100 mil 1000 primeiro primeiro primeira primeiro segundo segundo segunda segundo terceiro \
terceiro terceira terceiro milhão milhão milhões milhões",
    correcting: "agora mudou mudado mudada nova novo cancelado adiado afinal",
    abbreviations: "sr sra dra av pág",
    negations: "não nunca jamais nada ninguém nenhum nenhuma nenhuns nenhumas nem sem tampouco",
    relative: "\
ontem anteontem hoje amanhã agora atualmente recentemente ultimamente em_breve há_pouco semana_que_vem mês_que_vem \
ano_que_vem",
    shifts: "\
último última últimos últimas próximo próxima próximos próximas passado passada este esta estes estas neste nesta \
nestes nestas",
    shifts_behind: "passado passada passados passadas próximo próxima próximos próximas",
    spans: "\
dias semana semanas mês meses trimestre ano anos década século primavera verão outono inverno temporada noite natal \
páscoa",
    ago_before: "há",
    ago_behind: "atrás",
    amounts: "um uma uns umas poucos poucas alguns algumas vários várias muitos muitas",
    months: "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    weekdays: "segunda terça quarta quinta sexta sábado/sábados domingo/domingos",
    years: "em desde até ano de primavera verão outono inverno",
    name_endings: "s",
    subjects: "ele ela eles elas",
    defining: "que",
    parties: "eu me mim meu minha meus minhas comigo nós nos conosco nosso nossa nossos nossas",
    marks_names: true,
    ..LanguageTable::EMPTY
};
