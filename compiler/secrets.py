"""Find what no note may hold: keys, tokens, passwords, numbers of cards and accounts.

A careful list, not a proof: forms that their issuers document, numbers that pass their own check
digits, and words that announce a password. What looks like one of them only by chance, such as a
platform's id, passes. The text is looked at as a reader sees it: invisible characters taken out,
compatibility forms made plain.

Spec: the table "Writing memory", row "secrets, numbers of cards, tokens".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import StrEnum
from typing import Final


class SecretKind(StrEnum):
    """What was found; a word for the answer, never the thing itself."""

    PRIVATE_KEY = "private key"
    TOKEN = "access token"  # noqa: S105 - what it is called
    PASSWORD = "password"  # noqa: S105 - what it is called
    CARD = "card number"
    ACCOUNT = "account number"


_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY|AGE-SECRET-KEY-1[0-9A-Z]{20}")
_TOKEN = re.compile(
    r"""(?<![A-Za-z0-9_])(?:
      sk-[A-Za-z0-9_-]{16,}                       # OpenAI and those that follow it
    | (?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,} # Stripe
    | gh[pousr]_[A-Za-z0-9]{30,} | github_pat_[A-Za-z0-9_]{30,}
    | gl(?:pat|rt|dt|ptt)-[A-Za-z0-9_-]{16,}
    | xox[abeprs]-[A-Za-z0-9-]{10,} | xapp-[0-9A-Za-z-]{10,}
    | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}
    | AIza[A-Za-z0-9_-]{35} | ya29\.[A-Za-z0-9_-]{20,}
    | npm_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_-]{30,} | hf_[A-Za-z0-9]{30,} | dop_v1_[a-f0-9]{40,}
    | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
    | [0-9]{8,10}:AA[A-Za-z0-9_-]{33}             # Telegram
    | [MNO][A-Za-z0-9_-]{22,30}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{25,}  # Discord
    | mfa\.[A-Za-z0-9_-]{60,}
    | eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*          # a signed token
    )""",
    re.VERBOSE,
)
_ADDRESS = re.compile(
    r"(?:discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/|hooks\.slack\.com/services/)\S{8,}"
    r"|[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,80}:[^\s/@]{1,80}@",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"""(?<![a-z])(?:pass(?:word|phrase|code|wd)|pwd|pin[ -]?code|api[ _-]?key
      |(?:secret|access|auth|private|encryption)[ _-]?(?:key|token)|client[ _-]?secret
      |passwort|kennwort|mot\ de\ passe|contraseña|senha|şifre|parola
      |пароль|密码|密碼|パスワード|비밀번호)
      (?:\ (?:is|ist|est|es|to\ [a-z\ ]{1,30}\ is|for\ [a-z0-9\ -]{1,30}\ is))?
      \s*(?:[:=：]|(?<=\ is)|(?<=\ ist)|(?<=\ est)|(?<=\ es)|—|–)\s*
      (?P<value>\S{4,})""",
    re.VERBOSE | re.IGNORECASE,
)
_PIN = re.compile(r"(?<![a-z])pin(?: is)?\s*[:=]?\s*[0-9]{4,8}(?![0-9])", re.IGNORECASE)
_WORDS_THAT_TELL_NOTHING: Final = frozenset(
    "required needed secret forgotten unknown safe stored kept wrong changed lost written".split()  # noqa: SIM905 - words
)
_DIGITS = re.compile(r"(?<![0-9])[0-9](?:[ -]?[0-9]){12,18}(?![0-9])")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?")
_CARDS: Final = (
    # First digits and length by issuer; without them every tenth number of this length would pass.
    re.compile(r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})"),
    re.compile(r"(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)[0-9]+(?<=^[0-9]{16})"),
    re.compile(r"3[47][0-9]{13}"),
    re.compile(r"3(?:0[0-5]|[689])[0-9]+(?<=^[0-9]{14})"),
    re.compile(r"(?:6011|64[4-9]|65)[0-9]+(?<=^[0-9]{16})"),
    re.compile(r"35(?:2[89]|[3-8])[0-9]+(?<=^[0-9]{16})"),
    # These may have 17 or 18 digits too, as platforms' ids have; no such card is in use.
    re.compile(r"(?:62|81)(?:[0-9]{14}|[0-9]{17})"),
    re.compile(r"(?:5[0678]|6[37])(?:[0-9]{10,14}|[0-9]{17})"),
)


def find_secret(text: str) -> SecretKind | None:
    """Name the first kind of secret that a text seems to hold; None if it holds none."""
    return next(_found(_as_read(text)), None)


def _found(text: str) -> Iterator[SecretKind]:
    if _PRIVATE_KEY.search(text):
        yield SecretKind.PRIVATE_KEY
    if _TOKEN.search(text) or _ADDRESS.search(text):
        yield SecretKind.TOKEN
    for match in _NAMED.finditer(text):
        if match["value"].strip(".,;!?\"'").lower() not in _WORDS_THAT_TELL_NOTHING:
            yield SecretKind.PASSWORD
    if _PIN.search(text):
        yield SecretKind.PASSWORD
    if any(_is_card(re.sub("[ -]", "", match[0])) for match in _DIGITS.finditer(text)):
        yield SecretKind.CARD
    if any(_is_iban(match[0].replace(" ", "")) for match in _IBAN.finditer(text)):
        yield SecretKind.ACCOUNT


def _as_read(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text)
    return "".join(char for char in plain if unicodedata.category(char) != "Cf")


def _is_card(digits: str) -> bool:
    return any(form.fullmatch(digits) for form in _CARDS) and _luhn(digits)


def _luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value  # noqa: PLR2004 - the rule's own number
    return total % 10 == 0


def _is_iban(number: str) -> bool:
    if not 15 <= len(number) <= 34:  # noqa: PLR2004 - the shortest and the longest there are
        return False
    moved = number[4:] + number[:4]
    return int("".join(str(int(char, 36)) for char in moved)) % 97 == 1
