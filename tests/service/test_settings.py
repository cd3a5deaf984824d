"""Settings: where they come from, that every fault is said at once, and that no secret is ever shown."""

from __future__ import annotations

import json
import logging
import traceback
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from setting_defaults import settings
from wenyuan.core.errors import ConfigError
from wenyuan.settings import FILE_NAME, Settings, load_settings

SECRET = "sk-4471-do-not-show"


def written(folder: Path, text: str) -> Path:
    (folder / FILE_NAME).write_text(text, encoding="utf-8")
    return folder


def refused(folder: Path | None, **overrides: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_settings(folder, **overrides)
    assert caught.value.component == "settings"
    return caught.value


def test_defaults(tmp_path: Path) -> None:
    """Without a file and an environment the defaults hold, with or without a folder."""
    assert load_settings(tmp_path) == load_settings() == Settings()
    assert (Settings().engine, Settings().encoder.kind, Settings().search.vector_weight) == ("local", "builtin", None)


def test_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the file says replaces a default, and nothing else."""
    monkeypatch.delenv("WENYUAN_SEARCH__DEADLINE")
    found = load_settings(written(tmp_path, '# 引擎\nengine = "memory"\n[search]\ndepth = 20\n'))
    assert (found.engine, found.search.depth, found.search.deadline) == ("memory", 20, 2.0)


def test_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An argument comes before the environment, the environment before the file, key by key."""
    written(tmp_path, 'engine = "memory"\n[encoder]\nkind = "hashing"\ndimension = 32\nthreads = 3\n')
    monkeypatch.setenv("WENYUAN_ENCODER__DIMENSION", "64")
    monkeypatch.setenv("wenyuan_encoder__threads", "2")
    found = load_settings(tmp_path, encoder={"threads": 1})
    assert found.engine == "memory"
    assert (found.encoder.kind, found.encoder.dimension, found.encoder.threads) == ("hashing", 64, 1)


LISTS = {
    "oidc.algorithms": "RS256,EdDSA", "oidc.everyone": "reader", "encoder.scale": "0.3,0.9", "reranker.blend": "0.1,0.2,0.3"
}  # fmt: skip
"""What some take in place of any texts."""


@pytest.mark.parametrize("name", [name for name, default in settings() if isinstance(default, tuple)])
def test_a_list_in_the_environment(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Every setting with several values takes one as it is, several with commas between them, or JSON."""
    section, key = name.split(".")
    if section == "oidc":
        monkeypatch.setenv("WENYUAN_OIDC__ISSUER", "https://issuer.example")
        monkeypatch.setenv("WENYUAN_OIDC__AUDIENCE", "us")
    several = LISTS.get(name, "https://a:1,https://b:2").split(",")
    for text, values in (
        (",".join(several), several), (" , ".join(several) + ",", several), (json.dumps(several), several),
        *([] if "scale" in key or "blend" in key else [(several[0], several[:1])]),
    ):  # fmt: skip
        monkeypatch.setenv(f"WENYUAN_{section}__{key}".upper(), text)
        found = getattr(getattr(load_settings(), section), key)
        assert list(map(str, found)) == [str(Path(v)) if key == "ingest_roots" else v for v in values]


def test_a_list_of_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could be JSON of another kind is a value all the same."""
    monkeypatch.setenv("WENYUAN_RULES__CHAPTERS", "7")
    monkeypatch.setenv("WENYUAN_OIDC__GROUPS__OPS__ROLES", "auditor,reviewer")
    monkeypatch.setenv("WENYUAN_OIDC__SCOPES__READ", "reader")
    found = load_settings()
    assert found.rules.chapters == ("7",)
    assert found.oidc.groups["ops"].roles == ("auditor", "reviewer")
    assert found.oidc.scopes == {"read": ("reader",)}


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("opensearch__urls", '["https://a:1"', 'opensearch.urls: must be a list: ["a", "b"]'),
        ("opensearch__urls", "", 'opensearch.urls: must be a list: ["a", "b"]'),
        ("oidc__groups", "ops", "oidc.groups: must be a table"),
        ("opensearch", "https://a:1", "opensearch: is a section"),
    ],
)
def test_the_form_that_is_needed(monkeypatch: pytest.MonkeyPatch, name: str, text: str, form: str) -> None:
    """What cannot be read is refused with the setting's name and the form, beside all other faults."""
    monkeypatch.setenv(f"WENYUAN_{name.upper()}", text)
    monkeypatch.setenv("WENYUAN_SEARCH__DEPTH", "1")
    told = str(refused(None))
    assert form in told
    assert "search.depth:" in told


def test_a_text_in_place_of_a_list(tmp_path: Path) -> None:
    """The file needs a list; the refusal shows one."""
    told = str(refused(written(tmp_path, '[opensearch]\nurls = "https://a:1"\n')))
    assert 'opensearch.urls: must be a list: ["a", "b"]' in told


def test_environment_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that only begin like ours are not ours: a cluster sets such for a service of this name."""
    monkeypatch.setenv("WENYUAN_SERVICE_HOST", "10.0.0.7")
    monkeypatch.setenv("WENYUAN_PORT", "tcp://10.0.0.7:80")
    assert load_settings() == Settings()


def test_all_faults_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fault is named with its path, from wherever it comes."""
    written(
        tmp_path,
        'engine = "remote"\nserch = 1\n[encoder]\ntimeout = 0\n[search]\nvector_weight = "high"\ndepth = 1\n',
    )
    monkeypatch.setenv("WENYUAN_SERVER__PORT", "70000")
    message = str(refused(tmp_path, search={"threads": 0}))
    for path in (
        "engine:",
        "serch:",
        "encoder.timeout:",
        "search.vector_weight:",
        "search.depth:",
        "server.port:",
        "search.threads:",
    ):
        assert path in message


@pytest.mark.parametrize(
    ("text", "path", "meant"),
    [
        ('engin = "memory"', "engin", "engine"),
        ("[serch]\ndepth = 20", "serch", "search"),
        ('[encoder]\nkimd = "none"', "encoder.kimd", "kind"),
        ("[search]\nflor = 0.2", "search.flor", "floor"),
        ("[server]\nfailed_http_state = 503", "server.failed_http_state", "failed_http_status"),
    ],
)
def test_did_you_mean(tmp_path: Path, text: str, path: str, meant: str) -> None:
    """A misspelled setting is refused with the one that was probably meant."""
    assert f"{path}: there is no such setting; did you mean {meant!r}?" in str(refused(written(tmp_path, text)))


def test_did_you_mean_nothing(tmp_path: Path) -> None:
    """A setting like no other is refused without a guess."""
    message = str(refused(written(tmp_path, "zxqv = 1")))
    assert "zxqv: there is no such setting" in message
    assert "did you mean" not in message


def test_misspelled_in_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelled setting of a section is found in the environment too."""
    monkeypatch.setenv("WENYUAN_ENCODER__KIMD", "none")
    assert "did you mean 'kind'" in str(refused(None))


def test_a_misspelled_section_in_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told together with other faults; what Kubernetes sets for a service of this name is nobody's mistake."""
    monkeypatch.setenv("WENYUAN_PORT", "tcp://10.0.0.1:8765")
    monkeypatch.setenv("WENYUAN_SERVICE_HOST", "10.0.0.1")
    load_settings()
    monkeypatch.setenv("WENYUAN_SERACH__DEADLINE", "3")
    assert "serach: there is no such setting; did you mean 'search'?" in str(refused(None))
    monkeypatch.setenv("WENYUAN_ENCODER__KIMD", "none")
    told = str(refused(None))
    assert "encoder.kimd" in told
    assert "serach" in told


def shown(error: BaseException) -> str:
    """All that a log with tracebacks would show of an error."""
    return "".join(traceback.format_exception(error)) + repr(error)


@pytest.mark.parametrize(
    "text",
    [
        f'[encoder]\nkey = ["{SECRET}"]',
        f'[encoder]\nkey = {{ value = "{SECRET}" }}',
        f'[encoder]\nkind = "{SECRET}"',
        f'[encoder]\ndimension = "{SECRET}"',
        f'encoder = "{SECRET}"',
        f'engine = "{SECRET}"',
        f'kee = "{SECRET}"',
        f'[encoder]\nkey = "{SECRET}"\n[search]\ndepth = 1',
        f'[encoder]\nkey = "{SECRET}" {SECRET}',
    ],
)
def test_secret_in_a_broken_file(tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever is wrong with a file, no value of it is in the message, the causes or a log with tracebacks."""
    error = refused(written(tmp_path, text))
    assert SECRET not in shown(error)
    logging.getLogger("test").error("cannot start", exc_info=error)
    assert SECRET not in caplog.text


@pytest.mark.parametrize("name", ["ENCODER", "ENCODER__DIMENSION", "ENGINE", "SEARCH__FLOOR"])
@pytest.mark.parametrize("value", [SECRET, f'"{SECRET}"', f'{{"key": ["{SECRET}"]}}', f'{{"key": "{SECRET}"'])
def test_secret_in_the_environment(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """A variable that cannot be read is named; its value is not shown."""
    monkeypatch.setenv("WENYUAN_" + name, value)
    error = refused(None)
    assert SECRET not in shown(error)
    assert name.split("__", maxsplit=1)[0].lower() in str(error)


def test_secret_of_good_settings(tmp_path: Path) -> None:
    """A secret that is set is not in the settings' text, dump or JSON; who needs it must ask for it."""
    found = load_settings(written(tmp_path, f'[encoder]\nkey = "{SECRET}"'))
    for text in (repr(found), str(found), str(found.model_dump()), found.model_dump_json(), repr(found.encoder)):
        assert SECRET not in text
    assert found.encoder.key.get_secret_value() == SECRET


def test_broken_toml(tmp_path: Path) -> None:
    """A file that is no TOML is refused with its path and the line."""
    message = str(refused(written(tmp_path, 'engine = "memory"\n[search\ndepth = 20\n')))
    assert str(tmp_path / FILE_NAME) in message
    assert "line 2" in message


def test_file_in_another_encoding(tmp_path: Path) -> None:
    """A file that is no UTF-8 is refused with its path, and its content is not in the causes."""
    (tmp_path / FILE_NAME).write_bytes(f'[encoder]\nkey = "{SECRET}" # 密钥\n'.encode("gb18030"))
    error = refused(tmp_path)
    assert str(tmp_path / FILE_NAME) in str(error)
    assert "not UTF-8" in str(error)
    assert SECRET not in shown(error)


def test_no_file_at_its_place(tmp_path: Path) -> None:
    """A folder or a dangling link in the place of the file is refused, not taken for no file."""
    (tmp_path / FILE_NAME).mkdir()
    assert "is not a file" in str(refused(tmp_path))
    (tmp_path / FILE_NAME).rmdir()
    (tmp_path / FILE_NAME).symlink_to(tmp_path / "gone.toml")
    assert "is not a file" in str(refused(tmp_path))


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be opened is refused with the reason."""
    written(tmp_path, 'engine = "memory"')

    def closed(path: Path, *_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", closed)  # modes of a file do not bind a superuser
    assert "Permission denied" in str(refused(tmp_path))


def test_settings_are_frozen() -> None:
    """Settings do not change while the program runs."""
    with pytest.raises(ValidationError):
        Settings().engine = "memory"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Settings().search.depth = 20  # type: ignore[misc]


def test_a_folder_that_cannot_be_looked_into(tmp_path: Path) -> None:
    """Where the system does not let us look for a library, that is a wrong setting, not a bug."""
    import wenyuan

    with pytest.raises(wenyuan.KnowledgeError) as caught:
        wenyuan.open(tmp_path / ("x" * 300), create=True)
    assert "File name too long" in str(caught.value)


@pytest.mark.parametrize(
    "search", [{"auto_least": 5, "auto_most": 4}, {"auto_least": 11}, {"auto_most": 101}, {"auto_least": 0}]
)
def test_bounds_of_auto(search: dict[str, int]) -> None:
    """The least number of passages is at most the most, which has a default; and both are 1 to 100."""
    with pytest.raises(ConfigError, match=r"search\.auto_"):
        load_settings(None, search=search)
    assert load_settings(None, search={"auto_least": 10}).search.auto_most == 10
