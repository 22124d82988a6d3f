# SPDX-License-Identifier: Apache-2.0
"""The tables behind the pocket model's world: plain facts, no code."""

# country | capital | currency.  A leading "the " is part of the name in a sentence.
COUNTRIES = [line.split("|") for line in """
Afghanistan|Kabul|afghani
Albania|Tirana|lek
Algeria|Algiers|dinar
Angola|Luanda|kwanza
Argentina|Buenos Aires|peso
Armenia|Yerevan|dram
Australia|Canberra|Australian dollar
Austria|Vienna|euro
Azerbaijan|Baku|manat
the Bahamas|Nassau|Bahamian dollar
Bahrain|Manama|dinar
Bangladesh|Dhaka|taka
Barbados|Bridgetown|Barbadian dollar
Belarus|Minsk|rouble
Belgium|Brussels|euro
Bhutan|Thimphu|ngultrum
Botswana|Gaborone|pula
Brazil|Brasilia|real
Cambodia|Phnom Penh|riel
Cameroon|Yaounde|CFA franc
Canada|Ottawa|Canadian dollar
Chad|N'Djamena|CFA franc
Chile|Santiago|peso
China|Beijing|yuan
Colombia|Bogota|peso
Costa Rica|San Jose|colon
Croatia|Zagreb|euro
Cuba|Havana|peso
Cyprus|Nicosia|euro
the Czech Republic|Prague|koruna
Denmark|Copenhagen|krone
the Dominican Republic|Santo Domingo|peso
Ecuador|Quito|US dollar
Egypt|Cairo|pound
Eritrea|Asmara|nakfa
Estonia|Tallinn|euro
Ethiopia|Addis Ababa|birr
Fiji|Suva|Fijian dollar
Finland|Helsinki|euro
France|Paris|euro
Gabon|Libreville|CFA franc
Georgia|Tbilisi|lari
Germany|Berlin|euro
Ghana|Accra|cedi
Greece|Athens|euro
Guatemala|Guatemala City|quetzal
Guyana|Georgetown|Guyanese dollar
Haiti|Port-au-Prince|gourde
Honduras|Tegucigalpa|lempira
Hungary|Budapest|forint
Iceland|Reykjavik|krona
India|New Delhi|rupee
Indonesia|Jakarta|rupiah
Iran|Tehran|rial
Iraq|Baghdad|dinar
Ireland|Dublin|euro
Italy|Rome|euro
Jamaica|Kingston|Jamaican dollar
Japan|Tokyo|yen
Jordan|Amman|dinar
Kazakhstan|Astana|tenge
Kenya|Nairobi|shilling
Kuwait|Kuwait City|dinar
Kyrgyzstan|Bishkek|som
Laos|Vientiane|kip
Latvia|Riga|euro
Lebanon|Beirut|pound
Lesotho|Maseru|loti
Liberia|Monrovia|Liberian dollar
Libya|Tripoli|dinar
Lithuania|Vilnius|euro
Luxembourg|Luxembourg City|euro
Madagascar|Antananarivo|ariary
Malawi|Lilongwe|kwacha
Malaysia|Kuala Lumpur|ringgit
the Maldives|Male|rufiyaa
Mali|Bamako|CFA franc
Malta|Valletta|euro
Mauritania|Nouakchott|ouguiya
Mexico|Mexico City|peso
Moldova|Chisinau|leu
Mongolia|Ulaanbaatar|tugrik
Montenegro|Podgorica|euro
Morocco|Rabat|dirham
Mozambique|Maputo|metical
Namibia|Windhoek|Namibian dollar
Nepal|Kathmandu|rupee
the Netherlands|Amsterdam|euro
New Zealand|Wellington|New Zealand dollar
Nicaragua|Managua|cordoba
Niger|Niamey|CFA franc
Nigeria|Abuja|naira
North Korea|Pyongyang|won
North Macedonia|Skopje|denar
Norway|Oslo|krone
Oman|Muscat|rial
Pakistan|Islamabad|rupee
Panama|Panama City|balboa
Paraguay|Asuncion|guarani
Peru|Lima|sol
the Philippines|Manila|peso
Poland|Warsaw|zloty
Portugal|Lisbon|euro
Qatar|Doha|riyal
Romania|Bucharest|leu
Russia|Moscow|rouble
Rwanda|Kigali|franc
Saudi Arabia|Riyadh|riyal
Senegal|Dakar|CFA franc
Serbia|Belgrade|dinar
Singapore|Singapore|Singapore dollar
Slovakia|Bratislava|euro
Slovenia|Ljubljana|euro
Somalia|Mogadishu|shilling
South Korea|Seoul|won
Spain|Madrid|euro
Sudan|Khartoum|pound
Sweden|Stockholm|krona
Switzerland|Bern|franc
Syria|Damascus|pound
Taiwan|Taipei|New Taiwan dollar
Tajikistan|Dushanbe|somoni
Thailand|Bangkok|baht
Togo|Lome|CFA franc
Tunisia|Tunis|dinar
Turkey|Ankara|lira
Turkmenistan|Ashgabat|manat
Uganda|Kampala|shilling
Ukraine|Kyiv|hryvnia
the United Arab Emirates|Abu Dhabi|dirham
the United Kingdom|London|pound
the United States|Washington|US dollar
Uruguay|Montevideo|peso
Uzbekistan|Tashkent|som
Venezuela|Caracas|bolivar
Vietnam|Hanoi|dong
Yemen|Sanaa|rial
Zambia|Lusaka|kwacha
""".strip().splitlines()]

# How people call some of them; the answer uses the name above.
SHORT_NAMES = {
    "the United Kingdom": ["the UK", "England", "Great Britain", "Britain", "UK"],
    "the United States": ["the USA", "America", "the US", "USA", "the United States of America"],
    "the United Arab Emirates": ["the UAE", "UAE"],
    "the Netherlands": ["Holland"],
    "the Czech Republic": ["Czechia"],
}

# English | French.  When a French phrase stands twice, only its first line is
# used for the direction into English, so every question has one answer.
FRENCH = [line.split("|") for line in """
hello|bonjour
good evening|bonsoir
good night|bonne nuit
goodbye|au revoir
see you tomorrow|à demain
see you soon|à bientôt
please|s'il vous plaît
thank you|merci
thank you very much|merci beaucoup
you are welcome|de rien
excuse me|excusez-moi
sorry|désolé
yes|oui
no|non
maybe|peut-être
how are you|comment allez-vous
I am fine|je vais bien
what is your name|comment vous appelez-vous
my name is Anna|je m'appelle Anna
I love you|je t'aime
I am hungry|j'ai faim
I am thirsty|j'ai soif
I am tired|je suis fatigué
I do not understand|je ne comprends pas
I do not know|je ne sais pas
where is the station|où est la gare
where is the hotel|où est l'hôtel
how much is it|combien ça coûte
what time is it|quelle heure est-il
the bill, please|l'addition, s'il vous plaît
help|au secours
happy birthday|joyeux anniversaire
merry Christmas|joyeux Noël
good luck|bonne chance
enjoy your meal|bon appétit
have a nice trip|bon voyage
welcome|bienvenue
congratulations|félicitations
cheers|santé
today|aujourd'hui
tomorrow|demain
yesterday|hier
now|maintenant
water|l'eau
bread|le pain
milk|le lait
cheese|le fromage
coffee|le café
wine|le vin
apple|la pomme
the cat|le chat
the dog|le chien
the horse|le cheval
the bird|l'oiseau
the house|la maison
the car|la voiture
the book|le livre
the school|l'école
the child|l'enfant
the man|l'homme
the woman|la femme
the friend|l'ami
the city|la ville
the street|la rue
the sea|la mer
the sun|le soleil
the moon|la lune
red|rouge
blue|bleu
green|vert
white|blanc
black|noir
one|un
two|deux
three|trois
four|quatre
five|cinq
ten|dix
Monday|lundi
Friday|vendredi
Sunday|dimanche
""".strip().splitlines()]

# English | German, same rule.
GERMAN = [line.split("|") for line in """
hello|hallo
good morning|guten Morgen
good evening|guten Abend
good night|gute Nacht
goodbye|auf Wiedersehen
see you tomorrow|bis morgen
see you soon|bis bald
please|bitte
thank you|danke
thank you very much|vielen Dank
you are welcome|gern geschehen
excuse me|Entschuldigung
sorry|es tut mir leid
yes|ja
no|nein
maybe|vielleicht
how are you|wie geht es Ihnen
I am fine|mir geht es gut
what is your name|wie heißen Sie
my name is Anna|ich heiße Anna
I love you|ich liebe dich
I am hungry|ich habe Hunger
I am thirsty|ich habe Durst
I am tired|ich bin müde
I do not understand|ich verstehe nicht
I do not know|ich weiß nicht
where is the station|wo ist der Bahnhof
where is the hotel|wo ist das Hotel
how much is it|wie viel kostet das
what time is it|wie spät ist es
the bill, please|die Rechnung, bitte
help|Hilfe
happy birthday|alles Gute zum Geburtstag
merry Christmas|frohe Weihnachten
good luck|viel Glück
enjoy your meal|guten Appetit
have a nice trip|gute Reise
welcome|willkommen
congratulations|herzlichen Glückwunsch
cheers|prost
today|heute
tomorrow|morgen
yesterday|gestern
now|jetzt
water|das Wasser
bread|das Brot
milk|die Milch
cheese|der Käse
coffee|der Kaffee
wine|der Wein
apple|der Apfel
the cat|die Katze
the dog|der Hund
the horse|das Pferd
the bird|der Vogel
the house|das Haus
the car|das Auto
the book|das Buch
the school|die Schule
the child|das Kind
the man|der Mann
the woman|die Frau
the friend|der Freund
the city|die Stadt
the street|die Straße
the sea|das Meer
the sun|die Sonne
the moon|der Mond
red|rot
blue|blau
green|grün
white|weiß
black|schwarz
one|eins
two|zwei
three|drei
four|vier
five|fünf
ten|zehn
Monday|Montag
Friday|Freitag
Sunday|Sonntag
""".strip().splitlines()]

# Words and phrases the model was never told in any language: it must say so.
UNTRANSLATED = """
the carpet|the ladder|the pencil|the umbrella|the kitchen|butterfly|mountain|the bridge
the window|spoon|fork|knife|grandmother|uncle|purple|orange juice|elephant|tiger|the lawyer
where is the airport|I lost my passport|my head hurts|call a doctor|I want to sleep
can I pay by card|I would like a room|the train is late|it is raining|it is snowing
I like music|my brother is tall|the soup is cold|open the door|close the window
I live in London|we are students|she is reading|he plays football|turn left|turn right
a hundred|seventeen|thousand|the river|forest|a pair of shoes|the hospital|the keyboard
computer|aeroplane|the bicycle|chair|table|the garden|I work in an office|snow|winter
summer|the kettle|the blanket|strawberry|pineapple|the market is closed|my phone is broken
""".replace("\n", "|").strip("|").split("|")

REGULAR_NOUNS = """
apple book boy bag ball band bank bed bell bird boat bone bottle bowl boot bridge brick broom brother bucket
button cable cake camera camp candle cap car card carrot castle cat chain chair cheek chin circle clock cloud
coat coin collar colour cook corner cousin cow cup cupboard curtain cushion daughter desk doctor dog doll door
dream dress dragon driver drum duck ear egg elephant engine eye face farm farmer finger flag flame flower fork
frog friend game garden gate girl glove goat grape guitar hammer hand hat head heart hill horn horse hotel house
island jacket jar jewel job key king kitchen kite lake lamp lawyer leg lemon letter lion list lock machine map
market mirror monkey month moon motor mountain nail neck needle nest net night nose number nurse ocean office
orange oven owl page paint pan paper parrot pen pencil picture pig pillow pipe plane planet plant plate pocket
pond pool prince problem pump puppet queen question rabbit raven ring river road robot rocket roof room root
rope rose sailor saw school scarecrow screw seat shark ship shirt shoe shop shoulder sister skirt snake soap
sock soldier song spider spoon spot star station stone stool storm student sweater table tail tank teacher
tent ticket tiger toe tool towel tower town toy tractor train tree truck trumpet tunnel turtle uncle
valley van village violin wall wagon wheel whistle window wing winter witness worker yard zebra
box fox bus class glass grass cross kiss boss brush bush dish wish eyelash church bench branch
beach peach coach match watch witch sandwich lunch inch tax fax ditch patch stitch torch porch lens
address actress mattress princess waitress business compass canvas virus crash flash splash
baby city story party lady body country family berry cherry puppy kitty pony fly spy army copy daisy diary
duty enemy factory fairy ferry gallery grocery jelly library lily lorry memory penny poppy pastry study
supply ruby activity ability balcony battery bakery butterfly canary century colony company
""".split()

IRREGULAR_NOUNS = dict(pair.split(":") for pair in """
man:men woman:women child:children foot:feet tooth:teeth goose:geese mouse:mice person:people ox:oxen
leaf:leaves knife:knives wife:wives life:lives wolf:wolves shelf:shelves half:halves loaf:loaves thief:thieves
calf:calves elf:elves scarf:scarves sheep:sheep deer:deer fish:fish series:series species:species
aircraft:aircraft louse:lice cactus:cacti potato:potatoes tomato:tomatoes hero:heroes echo:echoes
piano:pianos photo:photos radio:radios video:videos kilo:kilos
""".split())

REGULAR_VERBS = """
walk talk jump play open look ask call clean climb cook count cover cross help kick kiss laugh learn listen
need paint pick point pull push rain reach repeat rest return row sail scream shout sniff
snow sort start stay thank touch train treat trust turn visit wait want warn wash watch water wish
work yell add allow annoy answer appear attack avoid bark belong blink boil borrow brush camp chew claim collect colour comb complain confess connect consider correct cough crash crawl deliver
discover doubt dress earn end enjoy enter explain fail fasten film fix float flood follow gather
greet guard guess hammer happen harm hunt join knock land last lick lock melt mend mix
murder obey offer order park pass peck pinch plant pour press print punch rush scratch seem
sign stretch succeed suggest suspect tick tour trick twist unlock wander whisper
yawn zoom roar soak roast toast boast shelter shiver snatch search
like love live bake dance use close move smile hope arrive invite save change share taste name race raise
receive refuse release remove replace retire rule scare shave smoke solve squeeze stare store surprise tease
time trade tumble type vote wave whistle wipe wrestle wave agree amuse argue balance battle behave blame breathe
bounce care carve cause charge chase compare complete continue create cycle damage decide
describe divide escape excite explode face fire force glue guide handle hate ignore imagine include
study cry try carry hurry worry marry copy reply tidy empty apply bury deny dry fry spy rely supply
multiply satisfy identify magnify terrify vary
stop plan drop clap hug beg chop drag drip drum flap flip grab grin hop hum jog mop nod pat pin
plug pop rob rub scrub ship shop skip slip snap step stir tap tip trap trim trip tug wag whip wrap
""".split()

IRREGULAR_VERBS = dict(pair.split(":") for pair in """
go:went see:saw eat:ate be:was have:had do:did say:said make:made take:took come:came get:got give:gave know:knew
think:thought find:found tell:told feel:felt leave:left put:put keep:kept begin:began bring:brought write:wrote
sit:sat stand:stood lose:lost pay:paid meet:met run:ran set:set lead:led understand:understood
speak:spoke spend:spent grow:grew win:won teach:taught buy:bought send:sent build:built fall:fell cut:cut sell:sold
break:broke hit:hit drive:drove fly:flew drink:drank sing:sang swim:swam ring:rang sink:sank sleep:slept
sweep:swept wear:wore tear:tore steal:stole freeze:froze choose:chose catch:caught fight:fought hold:held hear:heard
hide:hid ride:rode rise:rose shake:shook throw:threw blow:blew draw:drew forget:forgot become:became feed:fed
bite:bit lend:lent light:lit hurt:hurt let:let shut:shut cost:cost read:read dig:dug stick:stuck
swing:swung shoot:shot shine:shone wake:woke forgive:forgave bend:bent mean:meant
""".split())

REGULAR_NOUNS = sorted(set(REGULAR_NOUNS))
REGULAR_VERBS = sorted(set(REGULAR_VERBS))

NAMES = """
Anna Ben Clara David Emma Felix Grace Hugo Ida Jack Kate Leo Maria Noah Olga Paul Rosa Sam Tina Victor Wendy
Adam Bella Carlos Diana Eric Fatima George Hannah Ivan Julia Kevin Laura Martin Nina Oscar Peter Quentin Ruth
Simon Tom Ursula Vera Walter Yusuf Zoe Amir Chen Dora Elena Finn Gina Hiro Ines Jonas Karim Lena Mona Nils
Otto Priya Ravi Sara Theo Uma Viola Wanda Yara Zara Alice Bob Carol Dave John Mary James Linda Sophie Lucas
""".split()
