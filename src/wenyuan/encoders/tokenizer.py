"""Text to token ids of the built-in model: sentencepiece over the weight file's own pieces."""

from __future__ import annotations

import unicodedata
from typing import Any

from wenyuan.core.errors import EncoderUnavailable
from wenyuan.core.text.folding import simplified
from wenyuan.encoders.weights import COMPONENT, WeightFile

_UNKNOWN, _CONTROL = 2, 3
_UNSEEN = -18.0  # log-probability of what the vocabulary does not have; its rarest piece has about -16


class Tokenizer:
    """The model's tokenizer: text → token ids with begin and end marks. Line breaks count as white space, NUL as
    nothing.

    Raises:
        EncoderUnavailable: sentencepiece refuses the vocabulary.
    """

    def __init__(self, file: WeightFile) -> None:
        import sentencepiece

        self._table, self._bos, self._eos = file.table, file.bos, file.eos
        try:
            self._pieces: Any = sentencepiece.SentencePieceProcessor(model_proto=_model_proto(file))
        except Exception as error:
            raise EncoderUnavailable(
                "sentencepiece refuses the vocabulary of the weight file", component=COMPONENT
            ) from error

    def __call__(self, text: str, limit: int = 0) -> list[int]:
        """Token ids; with a `limit`, truncated to that many with the end mark kept."""
        ids: list[int] = self._pieces.encode(self.normalised(text))
        if limit:
            del ids[limit - 2 :]
        return [self._bos, *ids, self._eos]

    def likelihood(self, text: str) -> tuple[float, float]:
        """Mean log-probability per piece and per character under the vocabulary's unigram model; 0 without any."""
        written, unknown = self._pieces.encode(self.normalised(text), out_type=str), self._pieces.unk_id()
        told, pieces = 0.0, 0
        for piece, number in zip(written, self._pieces.piece_to_id(written), strict=True):
            count = len(piece) if number == unknown else 1  # unknown characters in a row are one piece
            told += count * (_UNSEEN if number == unknown else self._pieces.get_score(number))
            pieces += count
        characters = sum(not c.isspace() for c in text)
        return told / max(1, pieces), told / max(1, characters)

    def normalised(self, text: str) -> str:
        """The form the model was trained on (NFKC with its own view of white space and controls), in Simplified characters.

        The file's table replaces single code points only, so composition comes first; a lone surrogate cannot be
        encoded and becomes a question mark. To the model a word in Traditional characters is another one, so a
        question in one script would find less in texts of the other.
        """
        composed = simplified(unicodedata.normalize("NFC", text).translate(self._table))
        return composed.encode("utf-8", "replace").decode("utf-8")


def _model_proto(file: WeightFile) -> bytes:
    """A sentencepiece `ModelProto` in protobuf's wire format (field numbers of ``sentencepiece_model.proto``)."""
    trainer = _number(3, 1) + b"".join(  # 3: model_type = UNIGRAM
        _number(field, value) for field, value in ((40, file.unk), (41, file.bos), (42, file.eos), (43, file.pad))
    )
    # No precompiled map: `Tokenizer.normalised` has done it. 3: add_dummy_prefix, 4: remove_extra_whitespaces.
    normalizer = _bytes(1, b"identity") + _number(3, 1) + _number(4, 1)
    return b"".join((*_pieces(file), _bytes(2, trainer), _bytes(3, normalizer)))


def _pieces(file: WeightFile) -> list[bytes]:
    # 1: piece, 2: score, 3: type. Every length stays under 128 (the longest piece has 48 bytes): one byte each.
    scores = file.scores.astype("<f4").tobytes()
    entries = [
        b"\x0a%c\x0a%c%b\x15%b" % (len(piece) + 7, len(piece), piece, scores[4 * at : 4 * at + 4])
        for at, piece in enumerate(file.pieces)
    ]
    control = [file.bos, file.eos, file.pad, file.pieces.index(b"<mask>")]
    for at, kind in ((file.unk, _UNKNOWN), *((at, _CONTROL) for at in control)):
        body = entries[at][2:] + _number(3, kind)
        entries[at] = _bytes(1, body)
    return entries


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes((*out, value))
