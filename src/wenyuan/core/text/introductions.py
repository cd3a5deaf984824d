"""What a question begins and ends with out of courtesy ("could you tell me whether", 请问一下): it asks for nothing."""

from __future__ import annotations

import re

from wenyuan.core.text.frames import begin_of_question, end_of_question

_SPACE = r"[\s,，:：;；.。!！~～、-]*"
_LATIN = r"""
(?:hi|hello|hey|dear\ all|sorry(?=\s*,)|good\ (?:morning|afternoon|evening)|excuse\ me|sorry\ to\ (?:bother|trouble)\ you)(?:\ there)?
|(?:please|kindly)(?=\ (?:tell|let|explain|advise|can|could|would|what|which|where|when|who|how|is|are|do|does)(?![a-z]))
|(?:(?:please|just|can|could|would|will)\ )?(?:you\ )?(?:please\ |kindly\ |possibly\ )?(?:tell\ (?:me|us)|let\ (?:me|us)\ know)(?:\ please)?
 (?:\ (?:something\ )?about|\ whether|\ if)?
|(?:i|we)(?:'d|'d|\ would)?\ (?:just\ )?(?:like|love|want|need|wish)\ to\ (?:know|ask|find\ out|learn)(?:\ (?:you\ )?(?:about|whether|if))?
|(?:i|we)(?:'m|\ am|\ was|'re|\ are|\ were)\ (?:just\ )?(?:wondering|curious)(?:\ (?:about|whether|if))?
|(?:just\ )?wondering(?:\ (?:about|whether|if))?
|(?:do\ you\ (?:happen\ to\ )?know|does\ any(?:one|body)\ know|any\ idea)(?:\ (?:about|whether|if))?
|(?:may|can|could)\ i\ (?:just\ )?ask(?:\ you)?(?:\ (?:about|whether|if)|(?=\s*[,:]|\ (?:what|which|where|when|who|how|why)(?![a-z])))
|(?:(?:i\ have|i've\ got|i've)\ )?(?:just\ )?(?:a|one|another|my)?\ ?(?:quick|more|last|other|simple|short|small)?\ ?(?:question|thing|point)
 (?:\ for\ you)?(?:\ is)?(?=\s*[:：,，-])
|(?:just|double|only)\ checking(?=\s*[:：,，-]|\ (?:whether|if)(?![a-z]))(?:\ (?:whether|if))?
|(?:(?:can|could|would|will)\ (?:you|someone|somebody|anyone|anybody)\ )?(?:please\ |kindly\ )?(?:explain\ to\ (?:me|us)|remind\ me|help\ me\ understand|confirm\ (?:whether|if))
"""
_HAN = r"""
你好|您好|大家好|早上好|下午好|晚上好|打扰(?:一下|了)?|不好意思|劳驾
|(?:麻烦)?请问(?:一下|下|您|你|各位)*
|(?:想|我想)?请教(?![练师授育员学会材室堂职导])(?:一下|下|您|各位)*
|(?:我?有个?(?:事|问题)(?:儿)?(?:我?[想要])?)?问(?:个问题|个事|问(?=[，,：: ])|一下|下)(?:您|你|大家)?
|我?有个?(?:事|问题)(?:儿)?我?[想要](?:请教|咨询|问)(?:一下|下|问)*
|(?:老师|师傅|同事|各位|亲|客服|领导|大家)们?(?:您好|你好|好)?(?=[，,：: ])
|有(?:谁|人|没有人)知道
|麻烦(?:您|你)?(?:(?:问|说|讲|查|看|告诉)(?:一下|下|我)+)+
|我?(?:就|还)?(?:想|要|想要|需要)(?:来)?(?:问|咨询|了解|知道|打听|请问)(?:一下|一问|下|问|您|你)*
|(?:(?:您|你)?(?:能不能|可不可以|可以|能否|可否|能|请|麻烦)?(?:(?:帮我|给我|跟我|和我)(?:说说|讲讲|介绍|说|讲)(?:一下|下)?|告诉(?:一下|下)?我(?:一下|下)?))
"""
_BEFORE = re.compile(rf"(?:(?:{_LATIN})(?![a-z])|{_HAN}){_SPACE}", re.IGNORECASE | re.VERBOSE)
_AFTER = re.compile(
    r"[\s,，.。!！?？~～]*(?:(?<![A-Za-z])(?:please|pls|thanks(?:\ a\ lot)?|thank\ you(?:\ very\ much)?)|谢谢(?:您|你|了|啦)?|多谢|拜托了?)[\s.。!！~～?？]*\Z",
    re.IGNORECASE | re.VERBOSE,
)  # fmt: skip
_MOST = 4  # introductions one after the other
_MOST_THANKS, _LAST = 2, 80  # clauses behind the question, and the characters in which they lie
_LEAST = 2  # letters that a question keeps


def without_introduction(question: str) -> str:
    """The question without its introduction, its frame (see `core.text.frames`) and thanks; the whole of it where nothing else would be left."""
    text = question.strip()
    for _ in range(_MOST):
        found = _BEFORE.match(text)
        begin = found.end() if found is not None and found[0] else begin_of_question(text)
        if not begin:
            break
        text = text[begin:]
    for _ in range(_MOST_THANKS):
        end = len(text) - len(text[-_LAST:])
        found = _AFTER.search(text[-_LAST:])
        end += found.start() if found is not None else end_of_question(text[-_LAST:])
        if end == len(text):
            break
        text = text[:end]
    return text if _letters(text) >= _LEAST else question


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
