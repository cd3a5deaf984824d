"""Redaction rules for keys of services that are known by their shape, and for addresses that hold one."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import IN_DIGITS, Rule, Span
from wenyuan.core.redaction.text_view import TextView


def _whole(view: TextView, match: re.Match[str]) -> Span | None:
    group = "value" if match.re.groups and match["value"] else 0
    return match.start(group), match.end(group), match[group]


def _shape(pattern: str, *needs: str) -> Rule:
    """A key that begins with the name of its service; `needs` are the literals of that name, in lower case."""
    return Rule("secret", re.compile(rf"(?<![A-Za-z0-9_])(?:{pattern})(?![A-Za-z0-9])"), _whole, needs, cased=True)


# https://api.telegram.org/bot110201543:AA…, …/webhook/send?key=…, …/bot/v2/hook/…, …/api/webhooks/998…/…
_HOOKS = re.compile(
    r"(?:api\.telegram\.org/bot|webhook/send\?key=|/open-apis/bot/v2/hook/|discord(?:app)?\.com/api/webhooks/[0-9]{5,24}/|outlook\.office\.com/webhook/"
    r"|\.webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/|[?&](?:access_token|api_?key|auth_?token|sign(?:ature)?|sig|code|reset_?token)=)"
    r"(?P<value>[A-Za-z0-9_\-.%:@/+=~]{16,512})"
)


def _hook(view: TextView, match: re.Match[str]) -> Span | None:
    value = match["value"].rstrip("./")
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return (match.start("value"), match.start("value") + len(value), value) if mixed else None


RULES = (
    _shape(r"gls?a_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{32,400}={0,2}", "gla_", "glsa_", "glc_"),
    _shape(r"hv[sbr]\.[A-Za-z0-9_\-]{24,300}", "hvs.", "hvb.", "hvr."),
    _shape(r"dckr_(?:pat|oat)_[A-Za-z0-9_\-]{20,64}", "dckr_"),
    _shape(r"ntn_[A-Za-z0-9]{40,64}|secret_[A-Za-z0-9]{40,64}", "ntn_", "secret_"),
    _shape(r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", "pmak-"),
    _shape(r"NRA[KA]-[A-Z0-9]{27}|NRII-[A-Za-z0-9_\-]{32}", "nrak-", "nraa-", "nrii-"),
    _shape(r"key-[0-9a-f]{32}", "key-"),
    _shape(r"AT(?:CTT3|BB)[A-Za-z0-9_\-=]{20,255}", "atctt3", "atbb"),
    _shape(r"AAAA[A-Za-z0-9_\-]{7}:APA91[A-Za-z0-9_\-]{60,200}", ":apa91"),
    _shape(r"EAA[A-Za-z0-9]{30,300}", "eaa"),
    _shape(r"sq0(?:atp|csp|idp)-[A-Za-z0-9_\-]{22,64}", "sq0"),
    _shape(r"EAAA[A-Za-z0-9_\-]{60}", "eaaa"),
    _shape(r"rzp_(?:live|test)_[A-Za-z0-9]{14}|FLWSECK(?:_TEST)?-[0-9A-Za-z]{12,64}-?X?", "rzp_", "flwseck"),
    _shape(r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9.]{40,64}", "dp.pt.", "dp.st.", "dp.ct.", "dp.sa."),
    _shape(r"sntrys_[A-Za-z0-9+/=_\-]{40,400}", "sntrys_"),
    _shape(r"tskey-[a-z]{2,10}-[A-Za-z0-9]{8,40}(?:-[A-Za-z0-9]{8,64})?", "tskey-"),
    _shape(r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}|mlsn\.[0-9a-f]{60,70}", "xkeysib-", "mlsn."),
    _shape(r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,30}", "re_"),
    _shape(r"fo1_[A-Za-z0-9_\-]{40,50}|fm[12][ar]?_[A-Za-z0-9+/=_\-]{100,600}", "fo1_", "fm1", "fm2"),
    _shape(r"sl\.[A-Za-z0-9_\-]{100,160}", "sl."),
    _shape(r"HRKU-[A-Za-z0-9_\-]{36,70}", "hrku-"),
    _shape(r"sgp_(?:[0-9a-f]{16}_)?[0-9a-f]{40}", "sgp_"),
    _shape(r"pscale_(?:pw|tkn|oauth)_[A-Za-z0-9_.\-]{32,64}", "pscale_"),
    _shape(r"do[or]_v1_[0-9a-f]{64}", "doo_v1_", "dor_v1_"),
    _shape(r"gl(?:cbt|ft|oas|agent|imt|ffct)-[A-Za-z0-9_\-]{20,64}", "glcbt-", "glft-", "gloas-", "glagent-", "glimt-", "glffct-"),
    _shape(r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{10,40}_[0-9a-f]{40}", "ccipat_", "cciprj_"),
    _shape(r"bkua_[0-9a-f]{40}|rubygems_[0-9a-f]{48}|nfp_[A-Za-z0-9]{36}", "bkua_", "rubygems_", "nfp_"),
    _shape(r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-]{60,70}", ".atlasv1."),
    _shape(r"sha256~[A-Za-z0-9_\-]{43}", "sha256~"),
    _shape(r"amzn\.mws\.[0-9a-f\-]{36}", "amzn.mws."),
    _shape(r"PRIVATE-TOKEN: ?[A-Za-z0-9_\-]{20,64}|SSWS [A-Za-z0-9_\-]{38,46}", "private-token", "ssws "),
    _shape(r"ops_eyJ[A-Za-z0-9_\-]{100,2000}", "ops_eyj"),
    _shape(r"ABSK[A-Za-z0-9+/]{80,200}={0,2}", "absk"),
    _shape(r"(?:AKLT|LTAI5t|JDC_|QVM)[A-Za-z0-9_\-]{20,64}", "aklt", "ltai5t", "jdc_", "qvm"),
    Rule("secret", _HOOKS, _hook, needs=("bot", "hook", "token=", "key=", "sig", "code="), cased=True, signs=IN_DIGITS),
)  # fmt: skip
