//! Portuguese.

use super::LanguageTable;

pub(super) const TABLE: LanguageTable = LanguageTable {
    free: &[
        ("o a os as", "O cão dorme."),
        ("um uma uns umas", "Ana tem uma gata."),
        ("no na nos nas", "A chave está na caixa."),
        ("e", "Ana canta e Rui pinta."),
        ("que", "Ana diz que Rui dorme."),
        // Also a quantity ("muito pão"), whose loss leaves a vaguer sentence.
        ("muito", "A casa é muito fria."),
        ("é são sou és somos está estão estou", "Rui é meu marido."),
        ("há", "Há pão na mesa."),
        ("em", "A chave está em casa."),
    ],
    turning: &[
        (
            "não nunca jamais nada ninguém nenhum nenhuma nem tampouco",
            "Não fumo.",
        ),
        ("sem quase mal", "Vem sem casaco."),
        ("ou", "Toma a vermelha ou a azul."),
        (
            "se caso salvo exceto só somente apenas",
            "Pago se ela pedir.",
        ),
        (
            "talvez provavelmente possivelmente supostamente aparentemente porventura",
            "Talvez Ana tenha o anel.",
        ),
        (
            "
pode posso podem podia poderia poderiam deve devo devem devia deveria quer quero queria vai
vou vão tem_que tem_de
",
            "Ana deve pagar.",
        ),
        (
            "acho acha achava penso pensa suponho parece parecia duvida duvido creio espero",
            "Acho que foi Marcos.",
        ),
        (
            "
todo toda todos todas cada algum alguma alguns algumas vários várias muitos muitas pouco
pouca poucos poucas ambos maioria meio meia
",
            "Todas as amostras estão limpas.",
        ),
        (
            "sempre às_vezes raramente geralmente costuma menos mais",
            "Fecha sempre a porta.",
        ),
        (
            "antes depois desde enquanto quando embora porque até durante",
            "Antes do jantar toma A.",
        ),
        (
            "deixou parou recusa recusou evita esquece nega",
            "Parou de fumar.",
        ),
        ("antigo antiga ex falso falsa", "É o meu antigo chefe."),
        ("contra", "Rui está contra o plano."),
    ],
    following: &[
        ("não_é de_modo_nenhum", "Gosto de modo nenhum."),
        ("não", "Gosto de chá não."),
    ],
    pronouns: &[
        (
            "eu me mim meu minha meus minhas comigo",
            "A minha casa é fria.",
        ),
        (
            "tu te ti teu tua você vocês vosso",
            "Você me deve dinheiro.",
        ),
        (
            "ele ela lhe lhes seu sua seus suas se dele dela deles delas",
            "Ela dorme.",
        ),
        ("nós nosso nossa nossos nossas eles elas", "Nós pagamos."),
        ("quem alguém isso isto aquilo qual", "Alguém ligou."),
    ],
    joining: &[("e mas também além", "Ana canta mas Rui pinta.")],
    attaching: &[(
        "de do da dos das ao aos às à com para por pelo pela como sobre",
        "O irmão de Ana canta.",
    )],
    relative: &[
        (
            "ontem anteontem hoje amanhã agora atualmente recentemente logo",
            "Veio ontem.",
        ),
        (
            "último última passado passada próximo próxima atrás",
            "Vem na semana próxima.",
        ),
        ("ainda já", "Ainda está em Roma."),
    ],
    numbers: &[
        (
            "
zero 0 dois 2 duas 2 três 3 quatro 4 cinco 5 seis 6 sete 7 oito 8 nove 9 dez 10 onze 11 doze
12 treze 13 catorze 14 quatorze 14 quinze 15 dezesseis 16 dezasseis 16 vinte 20 trinta 30
quarenta 40 cinquenta 50 sessenta 60 setenta 70 oitenta 80 noventa 90 cem 100 mil 1000
",
            "Tem dois gatos.",
        ),
        (
            "
primeiro primeiro primeira primeiro segundo segundo segunda segundo terceiro terceiro
terceira terceiro milhão milhão milhões milhões
",
            "Mora no terceiro andar.",
        ),
    ],
    abbreviations: &[("sr sra dra av pág", "A Sra. Paz dorme.")],
    frames: &[(
        "
o_usuário_mencionou_que o_utilizador_mencionou_que o_usuário_disse_que
é_importante_lembrar_que é_importante_notar_que vale_notar_que aprendi_que
",
        "É importante lembrar que Rui não come porco.",
    )],
    evidence: &[(
        "
o a os as um uma uns umas de do da dos das em no na nos nas ao à aos às e ou mas porque que
quem qual quais quando onde como se eu tu ele ela nós vós eles elas você vocês me te lhe
lhes meu minha meus minhas teu tua seu sua seus suas nosso nossa nossos nossas com por para
pelo pela pelos pelas sobre sob entre até desde durante contra é são era eram foi foram sou
ser está estão estava estar há tem têm tinha ter pode podem deve devem quer querem vai vão
faz muito mais menos também ainda já sempre todo toda todos todas cada outro outra outros
outras mesmo mesma este esta estes estas esse essa esses essas isto isso aquele aquela aqui
ali lá agora hoje ontem amanhã então depois antes enquanto embora atualmente além dela dele
delas deles neste nesta nisso nele nela dia obrigado obrigada olá num numa costuma és somos
estou não nunca jamais nada ninguém nenhum nenhuma nem tampouco sem quase mal caso salvo
exceto só somente apenas talvez provavelmente possivelmente supostamente aparentemente
porventura posso podia poderia poderiam devo devia deveria quero queria vou acho acha achava
penso pensa suponho parece parecia duvida duvido creio espero algum alguma alguns algumas
vários várias muitos muitas pouco pouca poucos poucas ambos maioria meio meia raramente
geralmente deixou parou recusa recusou evita esquece nega antigo antiga ex falso falsa mim
comigo ti vosso alguém aquilo
",
        "O cão dorme.",
    )],
    // Words of every day that are no names at the beginning of a sentence.
    common: &[(
        "
mora vive trabalha prefere gosta adora estuda fala joga come bebe toma usa precisa viaja
leva conhece comprou disse diz pediu nasceu odeia mãe pai irmão irmã filha filho filhos
esposa marido mulher amigo amiga carro casa reunião projeto equipe equipa cliente usuário
usuária infelizmente felizmente francamente pessoalmente recentemente finalmente basicamente
realmente nota lembrete importante avó avô tio tia cachorro cão gato médico endereço número
pedido fatura novo nova último última primeiro primeira próximo próxima lembre senhora
senhor sinceramente honestamente
",
        "",
    )],
    decimal_comma: true,
    asking: &[(
        "que qual quais quem onde quando como quanto quantos foi era tinha havia algum alguma",
        "Onde mora a Ana?",
    )],
    correcting: &[(
        "agora mudou mudado mudada nova novo cancelado adiado afinal",
        "A chave está agora na gaveta.",
    )],
    ..LanguageTable::EMPTY
};
