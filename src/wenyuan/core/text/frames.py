"""The frame of a question: who asks it and how ("my manager wants to know", 领导让我问一下), which asks for nothing itself.

A frame is known by what it is made of, not by its wording. In English that is somebody, a verb of asking or knowing and the begin of a
question in its turn (*what*, *whether*, *can*); in Chinese somebody, if anybody, and a verb of asking. A clause before the question or
behind it is a frame where all its words are courtesy ("sorry if this is obvious", 急，在线等).
"""

from __future__ import annotations

import re

from wenyuan.core.text.talk import begin_of_talk, end_of_talk

_BEGIN = r"(?:what|when|where|which|who|whose|how|why|whether|if|can|could|do|does|did|is|are|am|was|were|will|would|should|may|must|have|has)"
_WORD = r"[a-z]+(?:['’][a-z]+)?"
_OTHER = rf"(?!(?:what|when|where|which|who|whose|how|why|whether)\s){_WORD}"
_SOMEBODY = r"(?:i|we|you|someone|somebody|anyone|anybody|everyone|everybody|people|my|our|a|an|the|one|another|several|some|many)"
_ASKING = (
    r"(?:know|knows|knowing|ask|asks|asked|asking|wonder|wonders|wondered|wondering|find\ out|figure\ out|work\ out|look\ up|check|"
    r"checks|checking|hear|learn|understand|understands|see|tell|told|explain|confirm|verify|clarify|remember|remind|discuss|discussed|"
    r"discussing|debating|curious|sure|clear|certain|idea|clue|say|advise|help|find|find\ anywhere|make\ out)"
)
_TO = r"(?:\ (?:me|us|you|them|anywhere|again|exactly|out|please|for\ me|for\ us|with|to\ me|to\ us|about))*"
_NEXT_WHETHER = rf"(?:\s*[:,，：-]\s*|\s+)(?:(?:whether|if)\s+|(?={_BEGIN}(?![a-z])))"
_DECLARED = re.compile(
    rf"{_SOMEBODY}(?:['’][a-z]+)?(?:\s+{_OTHER}){{0,7}}?\s+{_ASKING}{_TO}{_NEXT_WHETHER}", re.IGNORECASE | re.VERBOSE
)
_REQUESTED = re.compile(
    rf"(?:(?:please|kindly)\s+)?(?:can|could|would|will|may|might|does|do)\s+(?:you|someone|somebody|anyone|anybody|any\ of\ you|we|i)"
    rf"(?:\s+(?:please|kindly|perhaps|maybe|possibly|just|quickly|happen\ to|be\ able\ to|help\ me|help\ us))*"
    rf"\s+{_ASKING}{_TO}{_NEXT_WHETHER}",
    re.IGNORECASE | re.VERBOSE,
)
_ORDERED = re.compile(rf"(?:{_ASKING}){_TO}{_NEXT_WHETHER}", re.IGNORECASE | re.VERBOSE)
_IMPERSONAL = re.compile(
    rf"(?:it|this|that)(?:['’][a-z]+)?(?:\s+{_OTHER}){{0,6}}?\s+{_ASKING}{_TO}{_NEXT_WHETHER}",
    re.IGNORECASE | re.VERBOSE,
)
_ANY = r"(?:\s*[:,，：-]\s*|\s+)(?:(?:whether|if|that|about)\s+)?"
_LEARN_ENGLISH = r"(?:know|hear|learn|understand|find\ out|check|confirm|ask|see|figure\ out|clarify)"
_CERTAIN = re.compile(
    rf"(?:(?:i|we)(?:['’][a-z]+)?(?:\s+{_OTHER}){{0,4}}?\s+(?:to\ (?:know|find\ out|figure\ out)|asked\ to\ {_LEARN_ENGLISH}|find\ anywhere|discussing|"
    rf"(?:asked|told)\ to\ {_LEARN_ENGLISH})"
    rf"|(?:my|our|a|an|the|one|some|someone|somebody|another|people)(?:\s+{_OTHER}){{0,5}}?\s+"
    rf"(?:(?:want|wants|wanted|need|needs|needed|like|likes|wish|wishes|trying|asking|asks|asked|keen|curious)(?:\ me|\ us)?\ to\ {_LEARN_ENGLISH}"
    r"|(?:asked|asks|is\ asking|was\ asking|keeps\ asking)\ (?:me|us))"
    r"|(?:just\ )?curious\ (?:about|to\ know)|just\ curious|(?:anyone|anybody|someone|somebody)\ knows?"
    rf"|(?:it|this)(?:['’][a-z]+)?(?:\s+{_OTHER}){{0,4}}?\s+to\ {_LEARN_ENGLISH}"
    r"|(?:(?:please|kindly)\ )?(?:can|could|would|will)\ (?:you|someone|somebody|anyone|anybody)(?:\ (?:please|kindly|quickly|just|be\ able\ to|help\ me|help\ us))*"
    r"\ (?:say|look\ up|check|confirm|clarify|explain|find\ out|verify))"
    rf"(?:\ (?:for\ me|for\ us|me|us|please))*{_ANY}",
    re.IGNORECASE | re.VERBOSE,
)
_PURPOSE = re.compile(
    rf"for\s+(?:my|our|the)\s+{_WORD}(?:\s+{_WORD})?\s*,?\s+(?=(?:could|can|would|will|please|i|we|what|how|when|where|who|which|is|are|do|does)(?![a-z]))",
    re.IGNORECASE | re.VERBOSE,
)
_COURTESY = frozenset(
    """
a about advance advise afternoon again all already and another any anyone anybody anything apologies appreciate appreciated as asap ask asked
asking asks basic be before best bother bothering busy but by can cant check cheers clear colleague confused could curious day dear dont dumb else
evening everybody everyone excuse fast find first folks following for forget friend friends from good got gotta greetings guys have havent hello
help here hey hi hope i id if ill im in is it its ive just kind know last let like little looked looking lost made many may maybe me might
mind moment more morning much my need new not note obvious of off ok okay on once one only or our out please point possible probably
question questions quick quickly quite real really records regards reply right say searched second seem short should silly simple
small so some someone somebody something soon sorry stuck stupid sure team thank thanks that the them there thing this time to
together tried trouble unsure up urgent urgently us very want wanted was we well were what whoever will wish wondering would you your
yourself
absolutely accurate actually advance after ages agree agreed aim aware bear bet bit blank bored bugging chap chaps chasing confess confirmed consensus contradictory curiosity daft depends dig digging doubt doubts elaborate elsewhere embarrassed enlighten enquiring enquiry expert experts explanation eyes fact facts fellow figured filling folk forward forgive fuss gap gather genuine genuinely guidance guide handbook head heads honest honestly idiot ignorance inform informed inquiring inquiry insist insists interested intern joiner junior keen knowing knowledge learning leaflet listening luck manual memory newcomer noob notice noticed noting obviously opinion overheard pardon patience perhaps permit place plain pointer pointers posting prompt puzzled puzzling query quote recall reckon refresh remembered reminder repeat repeating request requested respond response rookie rusty scratching sense sentence settle silly site skim specific spot straight straightforward struggling suggest summary supervisor sudden suddenly teach text tip tips trainee training trawled truth tutor unclear understanding urgently visitor vague website welcome wiser wonders worried afternoon an answer answers another anywhere apparently around argued argument away back basically because been before behalf below boss brief
call called caller came chance chat class client clients colleagues comes coming confusing couldnt course customer customers date days
debate debated desk did didnt different discuss discussed discussing do doc docs does done email everything everywhere explain explained family
feel feeling few figure finally form forum found friendly from further getting given gives go going google googled grateful guess guest had
hand handy happened happen hear heard helpful here heres hes hopefully hoping hours how however husband impression internet its itself keep keeps kept
kid kids kindly knew knows late lately later latest learn learned least less light line lines lot lots maam madam mail main manager many mate matter
means meant meeting member mention mentioned messages minutes missed months myself near neighbour never newbie next night nobody none notes
nothing now often ones online opinion opinions others our over own page pages parent parents part particular past people person
phone pick piece place please pointed possibly post presentation process project put quickest quiz rather read reading really reason received recent
recently remember report research right said same saw says school search searching second see seems seen send sent several shed she
should shouldnt sir sister skimmed somewhere son sort sounds speak spent started still stop story student students such suddenly suppose supposed
talk talked talking teacher team teammate tell telling than thats then there theres these theyre think thinking thought through title today
told tomorrow tonight took topic tried try trying turns twice two type understand understood unless until up update user users usual
usually visitor visitors wait waiting walk wanting wants way wed week weeks weird went were weve what whats where which while who whole whom
wife wish with without wonder word words work working worked works worry worth wouldnt write writing written wrong yes yesterday yet youd youll
youre youve
""".split()
)
_POLITE = frozenset(
    """
    advise afternoon apologies appreciate appreciated asap ask asking bother cheers curious evening following morning new clear confused dumb excuse forget greetings hello help hey hi
    behalf grateful hoping heard mentioned wonder understood debate debated argued discussing googled clarification answer appreciates helpful
    hope note obvious please question questions quick quickly records regards reply silly simple sorry stuck stupid sure thank thanks
    trouble unsure urgent urgently wondering
    """.split()
)
"""Of which one is in a clause of courtesy."""
_TELLING = _POLITE | frozenset(
    """
    searched searching find found enlighten insist insists unclear puzzled struggling informed query enquiry inquiry explanation guidance pointers interested curiosity recall settle looked looking wanted asked asks came mentioned discussed understand understood know knew knows tell told say heard
    hear read wondering checking explain explained confirm clarify grateful hoping
    """.split()
)
"""The same where a question is seen to begin behind it."""
_CLAUSE = re.compile(rf"\s*((?:{_WORD}\s+){{0,9}}{_WORD})\s*(?:[,:;：，；]|\s[-–—]+\s|\s(?=but\s))\s*(?:but\s+)?", re.IGNORECASE | re.VERBOSE)  # fmt: skip
_CLAUSES = re.compile(rf"\s*((?:{_WORD}\s+){{0,9}}{_WORD})\s*(?:([.!,:;：，；。！])|\s([-–—])+\s)\s*", re.IGNORECASE)
_MOST_CLAUSES = 3
_LEADING = frozenset("is was be about on of as out me us you exactly".split())
_WH = re.compile(r"(?:what|when|where|which|who|whose|how|why)(?![a-z'’])", re.IGNORECASE)
_SENTENCE = re.compile(
    rf"((?:{_WORD}\s+){{2,10}}?)(?=(?:what|when|where|which|who|whose|how|why|whether)(?![a-z'’]))", re.IGNORECASE
)
_OWN = re.compile(rf"(?:{_BEGIN})\s+(?!you(?![a-z])|some(?:one|body)|any(?:one|body))", re.IGNORECASE)
_LAST = re.compile(
    rf"(?:[,;:.?!]|\s[-–—]+)\s*((?:{_WORD}\s+){{0,9}}{_WORD})\s*[.!]*\s*\Z", re.IGNORECASE | re.VERBOSE
)
_ASKS = re.compile(rf"(?:{_BEGIN})(?![a-z])", re.IGNORECASE)

_PERSON = (
    r"(?:(?:今天|昨天|刚才|早上|下午)?有(?:个|位|几个|些)?)?(?:(?:我们?|咱们?|俺)?(?:的|家|部门|公司|单位|组|店|新来的|一个|那个|有个|几个)*(?:领导|主管|经理|老板|上司|上级|同事|朋友|家里人|家人|家里|爱人|老公|老婆|客户|"
    r"学员|同学|邻居|新人|师傅|爸妈|妈妈|爸爸|爸|妈|孩子|亲戚)们?|我们?|咱们?|大家|有人|好多人|很多人)"
)
_MANNER = r"(?:一直|还是|总是|就是|就|也|都|今天|昨天|刚才|刚刚|最近|现在|实在|确实|有点|真的|老是|正|也许|其实|只是|主要|顺便|再|先|又|非要|必须|得)*"
_WISH = r"(?:(?:想要|想|希望|让我们?|叫我们?|托我们?|要我们?|请我们?|派我们?|催我们?|让|来|再|帮我|帮忙|帮|给我|替我|跟您|向您|跟你|没|过来)+)"
_LOOK = r"(?:(?:问|查|看|瞧)(?:一下|下|一问|一查|一眼|一看|问|看看|看|清楚))"
_LEARN = r"(?:打听|了解|知道|咨询|请教|确认|核实|弄明白|搞明白|弄清楚|搞清楚|弄清|搞清|搞懂|弄懂|解答|解释|说明|求助)"
_VERB = rf"(?:{_LOOK}|{_LEARN}|问(?![题卷号诊责询答候]))"
_AFTER = r"(?:一下|下(?![星周个班午次雨地水载单属一级面])|清楚|到)*(?:您|你|大家|各位)?"
_HELP = r"(?:帮我们?|帮忙|帮|给我|替我)"
_ASKED = r"(?=.*(?:吗|么|呢|哪|几|多少|多久|多大|多长|谁|如何|咋|能不能|是否|是不是|有没有|要不要|会不会|可不可以))(?!.{1,6}(?:怎么办|咋办|咋整|怎么弄))"
_HAN_FRAMES = (
    rf"{_PERSON}{_MANNER}{_WISH}{_MANNER}{_VERB}{_AFTER}",
    r"[^\s，,。？?！!什怎哪几多谁吗能是]{1,10}(?:问我(?!们)|有人(?:一直|老是|总)?在?(?:追问|打听|咨询|问(?![题卷号诊责询答候我])))(?:一下)?",
    rf"{_PERSON}{_MANNER}追问(?:我(?!们))?",
    rf"{_PERSON}{_MANNER}(?:问我(?!们)|问起|问道|在问|问了|问(?![题卷号诊责询答候我]))(?:一下)?",
    rf"{_PERSON}?{_MANNER}(?:搞不|弄不|不太|不大|没太|没有|不|没)(?:弄|搞)?(?:清楚|明白|确定|知道)(?:了)?(?!的|者){_ASKED}",
    rf"(?:麻烦|烦请|劳烦|请|求)(?:您|你|各位|大家)?(?:{_HELP}?(?:{_LOOK}|解答|解释|说明)|{_HELP}{_VERB}){_AFTER}",
    rf"(?:能不能|能否|可否|可以|谁能|哪位|哪位能|有没有人能)(?:麻烦)?(?:您|你|谁)?(?:{_HELP}{_VERB}|解答一?下){_AFTER}",
    rf"{_HELP}(?:{_LOOK}|{_LEARN}){_AFTER}",
    rf"(?:想|还想)(?:再|先|来)?(?:跟您|跟你|和您|向您|向你)?{_LEARN}(?:一下|下)+",
)
_HAN_FRAME = re.compile(rf"(?:{'|'.join(_HAN_FRAMES)})(?:的是?(?=[，,：:]))?[\s，,：:、。…~-]*")
_HAN_WORDS = (
    "您好|你好|大家好|各位好|老师好|早上好|上午好|中午好|下午好|晚上好|在吗|在不在|有人吗|有人在吗|打扰|打扰了|不好意思|抱歉|麻烦|麻烦了|辛苦|辛苦了|各位|大家|亲|急|急急|很急|加急|在线等|"
    "谢谢|感谢|多谢|谢啦|拜托|求助|求解|求解答|求告知|求回复|请回复|请解答|请告知|请教|有个问题|有个疑问|有点疑问|我有点疑问|我有个疑问|我有疑问|一个问题|问个问题|问一下|随便问问|新人|小白|新手|"
    "我是新人|我是新来的|我是新手|刚来|刚入职|第一次|顺便问一句|顺便|另外|还有|再问一个|最后一个问题|帮个忙|帮忙|帮忙看看|帮看看|等回复|盼复|谢谢您|谢谢你|非常感谢|谢谢大家|麻烦您了|麻烦你了|辛苦您|提前谢谢|先谢谢|先谢了"
)
_HAN_CLAUSE = re.compile(
    rf"\s*(?:{_HAN_WORDS}|[^\s，,。？?！!]{{0,6}}不太?(?:懂|熟悉|熟|清楚|会)(?=[，,]))[了啊呀啦哈哦吧]*\s*[，,：:。.！!？?、~～…—-]+\s*"
)
_HAN_LAST = re.compile(rf"[，,。.！!？?、~～…—\s-]+(?:{_HAN_WORDS})[了啊呀啦哈哦吧]*[，,。.！!~～…\s]*\Z")


def begin_of_question(text: str) -> int:
    """Where the question begins behind one frame; 0 where it has none."""
    for frame in (_HAN_CLAUSE, _HAN_FRAME, _PURPOSE, _DECLARED, _REQUESTED, _ORDERED, _IMPERSONAL, _CERTAIN):
        if found := frame.match(text):
            return found.end()
    if end := end_of_talk(text):
        return end
    found = _CLAUSE.match(text)
    if found and _is_courtesy(found[1]):
        return found.end()
    return _end_of_courtesy(text) or _begin_behind_courtesy(text)


def _end_of_courtesy(text: str) -> int:
    """Where clauses of nothing but courtesy end before a question, of which one says so or ends with a colon or a dash; else 0."""
    at, is_frame = 0, False
    for _ in range(_MOST_CLAUSES):
        found = _CLAUSES.match(text, at)
        if found is None or not _COURTESY.issuperset(words := _words(found[1])) or _WH.match(found[1]):
            break
        at, is_frame = found.end(), is_frame or (found[2] or found[3]) in ":：-–—" or not _TELLING.isdisjoint(words)
    return at if is_frame and _ASKS.match(text, at) else 0


def _begin_behind_courtesy(text: str) -> int:
    """Where a question begins in a sentence behind nothing but courtesy ("one thing I never understood is how …"); else 0."""
    found = _SENTENCE.match(text)
    if found is None or _OWN.match(text):
        return 0
    words = _words(found[1])
    led = words[-1] in _TELLING or words[-1] in _LEADING  # "a time which" is no question
    return found.end() if led and _COURTESY.issuperset(words) and not _TELLING.isdisjoint(words) else 0


def end_of_question(text: str) -> int:
    """Where the question ends before one clause of courtesy; its length where there is none."""
    if found := _HAN_LAST.search(text):
        return found.start()
    if begin := begin_of_talk(text):
        return begin
    found = _LAST.search(text)
    return found.start() if found and _is_courtesy(found[1]) else len(text)


def _is_courtesy(clause: str) -> bool:
    """Whether a clause has only words of courtesy, and asks for nothing."""
    words = _words(clause)
    return _ASKS.match(clause) is None and _COURTESY.issuperset(words) and not _POLITE.isdisjoint(words)


def _words(clause: str) -> list[str]:
    return re.sub("['’]", "", clause.lower()).split()
