"""The columns of golden files, and how a cell of them is read."""

from __future__ import annotations

from pathlib import Path

from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.runtime.regular import read_regular

ADDRESS = frozenset(
    "来源 來源 答案来源 答案來源 答案出处 答案出處 出处 出處 地址 来源地址 链接 鏈接 連結 答案链接 来源链接 网址 網址 文档 文檔 "
    "文档地址 文档链接 段落 片段 引用 uri url source sourceuri sourceurl address answeruri answerurl answersource "
    "document documenturi documenturl passage passageuri passageid fragment fragmenturi ref reference link "
    "来源uri 来源url 答案uri 答案url 文档uri".split()
)


GRADE = frozenset(
    "等级 等級 评分 評分 分值 得分 相关度 相關度 相关性 相關性 grade score relevance rating label".split()
)


NO_ANSWER = frozenset("noanswer none unanswerable 无答案 無答案 没有答案 沒有答案 无 無".split())


_GOLDEN_MAX_BYTES = 50_000_000


HEADER_WITHIN = 10


LAYOUT = "a judged set is a folder with queries.jsonl and qrels.tsv (BEIR layout)"


GOLDEN_COLUMNS = "name a column question (问题) and one uri (来源)"


def content_of(path: Path, hint: str = "") -> bytes:
    try:
        if path.stat().st_size > _GOLDEN_MAX_BYTES:
            raise InvalidRequest(
                msg(
                    "{path} has more than {golden_max_bytes} MB",
                    path=path,
                    golden_max_bytes=_GOLDEN_MAX_BYTES // 1000000,
                )
            )
        return read_regular(path)
    except OSError as error:
        raise InvalidRequest(
            msg("cannot read {path}: {strerror}", path=path, strerror=error.strerror), hint=hint
        ) from error
