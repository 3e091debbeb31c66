"""A provider's failure, named: a stable code and one sentence of ours.

The provider's own words may hold keys, addresses, account names or a piece of the prompt, so they
are read here and go no further.
"""

from __future__ import annotations

import re
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class ProviderFault(StrEnum):
    """Why a model call failed, as far as whoever must act is concerned."""

    AUTH = "provider_auth"
    """Owner: the key is missing, wrong or without the right."""
    QUOTA = "provider_quota"
    """Owner: the account is used up; waiting a little does not help."""
    RATE_LIMIT = "provider_rate_limit"
    """User: try again in a while."""
    CONTEXT_OVERFLOW = "provider_context_overflow"
    """Host: the conversation no longer fits the model; a fresh session helps."""
    REFUSED = "provider_refused"
    """User: the provider's filter stopped it."""
    NO_MODEL = "provider_no_model"
    """Owner: the model's name is not known there."""
    UNAVAILABLE = "provider_unavailable"
    """User: the provider is down, overloaded or unreachable."""
    OTHER = "provider_error"
    """Owner: anything else."""


SAFE_SENTENCES: Final = MappingProxyType(
    {
        ProviderFault.AUTH: "My model does not let me in. The owner has to look at its key.",
        ProviderFault.QUOTA: "My model's account is used up. The owner has to look at it.",
        ProviderFault.RATE_LIMIT: "My model gets too many requests. Please try again in a while.",
        ProviderFault.CONTEXT_OVERFLOW: (
            "This conversation has grown too long for my model. Please say it again; "
            "I will start afresh."
        ),
        ProviderFault.REFUSED: "My model's provider would not answer this.",
        ProviderFault.NO_MODEL: "My model is not known to its provider. The owner has to look.",
        ProviderFault.UNAVAILABLE: "My model cannot be reached right now. Please try again.",
        ProviderFault.OTHER: "My model failed to answer. Please try again.",
    }
)
_STATUS: Final = re.compile(r"^(?:[\w -]+ API error \()?(\d{3})(?=[\s:)]|$)")
"""pi puts the HTTP status first; a number further on may be anything."""
_RULES: Final = (
    (
        ProviderFault.QUOTA,
        r"insufficient.?quota|billing|credit balance|quota exceeded|out of budget|usage limit",
    ),
    (ProviderFault.RATE_LIMIT, r"rate.?limit|too many requests|throttl"),
    (
        ProviderFault.CONTEXT_OVERFLOW,
        (
            r"prompt (?:is )?too long|prompt exceeds|request_too_large|input is too long"
            r"|exceeds? the (?:available )?context|exceed_context_size"
            r"|maximum (?:context|prompt) length"
            r"|context[ _](?:length|window)[ _]exceed|context window exceeds"
            r"|exceeds the limit of \d"
            r"|input token count.*exceeds|reduce the length of the messages|too many tokens"
            r"|(?:maximum allowed|range of) input length|longer than the model'?s context"
            r"|greater than the context length|(?:model )?token limit (?:is )?exceeded"
            r"|exceeded model token limit|configured context size"
        ),
    ),
    (ProviderFault.REFUSED, r"content.?filter|content.?policy|safety system"),
    (
        ProviderFault.AUTH,
        r"api.?key|unauthori[sz]ed|authentication|forbidden|permission|credential",
    ),
    (ProviderFault.NO_MODEL, r"model.{0,40}not (?:found|exist)|no such model|unknown model"),
    (
        ProviderFault.UNAVAILABLE,
        (
            r"overloaded|unavailable|server.?error|internal.?error|time.?d? ?out|network|connection"
            r"|econn|etimedout|epipe|enotfound|eai_again|getaddrinfo|fetch failed|socket|terminated"
            r"|stream (?:ended|was interrupted)|finish.?reason|other side closed|idle|upstream"
        ),
    ),
)
_PATTERNS: Final = tuple((fault, re.compile(rule, re.IGNORECASE)) for fault, rule in _RULES)
_BY_STATUS: Final = MappingProxyType(
    {
        401: ProviderFault.AUTH,
        402: ProviderFault.QUOTA,
        403: ProviderFault.AUTH,
        404: ProviderFault.NO_MODEL,
        408: ProviderFault.UNAVAILABLE,
        413: ProviderFault.CONTEXT_OVERFLOW,
        429: ProviderFault.RATE_LIMIT,
    }
)
_SERVER_ERRORS: Final = range(500, 600)
_READ_CHARS: Final = 4_000
"""A provider may answer with a whole page; what it is about stands at its beginning."""


def classify(error_message: str) -> ProviderFault:
    """Name a failure by pi's ``errorMessage``: the HTTP status first, then the provider's words.

    A used-up account hides behind several statuses, so its words win; a status that says nothing
    by itself (400, 422) leaves all to the words.
    """
    text = error_message[:_READ_CHARS]
    by_words = next((fault for fault, rule in _PATTERNS if rule.search(text)), ProviderFault.OTHER)
    found = _STATUS.match(text)
    status = int(found[1]) if found else 0
    if status in _SERVER_ERRORS:
        return ProviderFault.UNAVAILABLE
    by_status = _BY_STATUS.get(status)
    if by_status is None or by_words is ProviderFault.QUOTA:
        return by_words
    return by_status
