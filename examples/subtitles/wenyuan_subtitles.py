"""A plugin that reads subtitles (SRT, WebVTT): what is said is found, and its address opens the
recording at the second where the passage begins.

    pip install ./examples/subtitles
    wenyuan add talks --source talks      # its .srt and .vtt files are read from now on
    wenyuan doctor                        # lists the plugin

插件示例：读取字幕（SRT、WebVTT），检索结果的地址会在对应的秒数打开录像。
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wenyuan.core.model import Document
from wenyuan.readers.assemble import Original, Piece, assemble
from wenyuan.readers.text import readable

_CUE = re.compile(r"^(?:([0-9]{1,3}):)?([0-5][0-9]):([0-5][0-9])[.,][0-9]{3} -->.*\n((?:.*\S.*\n)*)", re.MULTILINE)
_TAG = re.compile(r"<[^<>\n]{0,100}>")
_STOPS = (".", "!", "?", "…", "。", "！", "？")
_LONG = 400  # characters of a paragraph that no full stop ends


def read_subtitles(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a file of subtitles as one document, a paragraph for each sentence, with the second at which it begins.

    Raises:
        DocumentRejected: it is no text, or nothing is said at any time in it.
    """
    text, notes = readable(content, name)
    media = "text/vtt" if name.lower().endswith(".vtt") else "application/x-subrip"
    original = Original(content, uri, name)
    empty = "no words with a time were found in it, such as 00:01:02,000 -->"
    return (assemble(_paragraphs(f"{text}\n"), original, media_type=media, notes=notes, empty=empty),)


def _paragraphs(text: str) -> Iterator[Piece]:
    sentence, anchor = "", ""
    for cue in _CUE.finditer(text):
        hours, minutes, seconds = (int(number or 0) for number in cue.groups()[:3])
        anchor = anchor if sentence else f"t={hours * 3_600 + minutes * 60 + seconds}"
        sentence = " ".join([*sentence.split(), *_TAG.sub("", cue[4]).split()])
        if sentence.endswith(_STOPS) or len(sentence) > _LONG:
            yield Piece("paragraph", sentence, anchor=anchor)
            sentence = ""
    if sentence:
        yield Piece("paragraph", sentence, anchor=anchor)
