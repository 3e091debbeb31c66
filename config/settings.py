"""The shape of ``org.toml``, one class a section.

Limits are declared once, in the frozen dataclasses of the packages that obey them
(``compiler.budget``, ``sessions.limits``); pydantic validates straight into those. What a type
cannot say (bounds, relations) is in ``config.coherence``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    WrapSerializer,
)

from compiler.budget import ContextBudgets
from sessions.boxes.settings import BoxSettings
from sessions.grants import Grant
from sessions.house.rules import DirectiveSettings
from sessions.limits import (
    CatchUpSettings,
    EngineSettings,
    FileSettings,
    GateSettings,
    MemorySettings,
    SessionLimits,
    TalkSettings,
    UsageLimits,
)
from sessions.retention import RetentionSettings
from sessions.task_settings import TaskSettings
from sessions.web.settings import WebSettings

DISCORD_API = "https://discord.com/api/v10"
DEFAULT_CHANNEL = "default"
_MAX_SNOWFLAKE = 2**64 - 1  # Discord's ids are unsigned 64-bit numbers
_IMP_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")  # it names a directory, so it stays tame


class ChannelMode(StrEnum):
    """Which messages of a server channel wake the imp."""

    MENTION = "mention"
    """Only those that mention it or reply to it."""
    ALL = "all"
    """Every message."""


class DirectiveMode(StrEnum):
    """How house rules are set in a channel."""

    ADDRESSED = "addressed"
    """By messages that mention the imp or reply to it, and by /state."""
    COMMAND_ONLY = "command-only"
    """By /state alone."""
    OFF = "off"
    """Not at all; those that stand go on to hold."""


class ReplyMode(StrEnum):
    """What becomes of the imp's answers in a channel that is not trusted."""

    POST = "post"
    """They are posted."""
    GATE = "gate"
    """Each waits until somebody approved it."""


class ThreadMode(StrEnum):
    """Where a question in a server channel is answered."""

    OFF = "off"
    """In the channel."""
    AUTO = "auto"
    """In a thread of its own that the imp opens for it."""


class LogFormat(StrEnum):
    """The form of the log lines."""

    CONSOLE = "console"
    JSON = "json"


class LogLevel(StrEnum):
    """The least level that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def parse_snowflake(value: object) -> str:
    """Normalize a Discord id given as a number, a text or with our prefix to its digits.

    Raises:
        ValueError: the value is no id.
    """
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(text, str):
        digits = text.strip().removeprefix("discord:")
        if digits.isascii() and digits.isdigit() and 0 < int(digits[:21]) <= _MAX_SNOWFLAKE:
            return str(int(digits))
    raise ValueError("must be a Discord id, a number of up to 20 digits")


def _parse_channel_key(value: object) -> str:
    return DEFAULT_CHANNEL if value == DEFAULT_CHANNEL else parse_snowflake(value)


def is_imp_name(value: str) -> bool:
    """Whether a folder of this name can be an imp's."""
    return _IMP_NAME.fullmatch(value) is not None


def _parse_imp(value: str) -> str:
    if not _IMP_NAME.fullmatch(value):
        raise ValueError("must be an imp's name: up to 32 lower-case letters, digits, '-' and '_'")
    return value


def _split_list(value: object, info: ValidationInfo) -> object:
    """Let an environment variable hold a list: ``1,2`` or ``[1, 2]``."""
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, str) or info.mode == "json":
        return value
    text = value.strip()
    if text.startswith("["):
        try:
            return tuple(json.loads(text))
        except ValueError as error:
            raise ValueError("must be a list such as 1,2 or [1, 2]") from error
    return tuple(part for part in re.split(r"[,\s]+", text) if part)


Snowflake = Annotated[str, BeforeValidator(parse_snowflake)]
Snowflakes = Annotated[tuple[Snowflake, ...], BeforeValidator(_split_list)]
ChannelKey = Annotated[str, BeforeValidator(_parse_channel_key)]
Imp = Annotated[str, AfterValidator(_parse_imp)]


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def _freeze(mapping: Mapping[_Key, _Value]) -> Mapping[_Key, _Value]:
    return MappingProxyType(dict(mapping))


def _split_hosts(value: object, info: ValidationInfo) -> object:
    """See ``_split_list``; the class is one of ``sessions``, which knows no variables."""
    if not isinstance(value, Mapping) or "hosts" not in value:
        return value
    return {**value, "hosts": _split_list(value["hosts"], info)}


def _thaw(mapping: Mapping[_Key, _Value], dump: SerializerFunctionWrapHandler) -> object:
    return dump(dict(mapping))


def _nothing() -> Mapping[_Key, _Value]:
    return MappingProxyType({})


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BotSettings(_Section):
    """``[discord.bots.<name>]``: a further bot, with a token of its own."""

    token_env: str
    """The variable that holds its token."""
    imp: Imp
    """The imp that answers where no channel names another."""
    metrics_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """Where its own figures are served, where ``[metrics]`` is on; 0 serves none of them."""


class DiscordSettings(_Section):
    """``[discord]``: which Discord, and whose bot it is."""

    api: str = DISCORD_API
    """REST base; the gateway's address comes from its ``/gateway/bot``."""
    owners: Snowflakes = ()
    imp: Imp = "ember"
    """The imp that answers where no channel names another."""
    alarms: bool = True
    """Whether owners get a direct message when a model call was not what was compiled."""
    bots: Annotated[Mapping[Imp, BotSettings], AfterValidator(_freeze), WrapSerializer(_thaw)] = (
        Field(default_factory=dict)
    )
    """Further bots, each with a token of its own; their names name folders in ``bots/``."""
    token: SecretStr = SecretStr("")
    """From ``DISCORD_TOKEN`` only: a file that people show each other is no place for it."""


class AllowSettings(_Section):
    """``[allow]``: who else may talk to the imp, by id. Owners always may."""

    users: Snowflakes = ()
    roles: Snowflakes = ()
    channels: Snowflakes = ()
    guilds: Snowflakes = ()
    bots: Snowflakes = ()
    """Bots and webhooks, by the id of the bot's user or of the webhook; nobody's by default."""
    proxies: Snowflakes = ()
    """Applications that say people's words again in another name, such as PluralKit."""


class ChannelOverlay(_Section):
    """``[channels.default]``, ``[channels."<id>"]``, ``channel.toml``: None says nothing."""

    enabled: bool | None = None
    mode: ChannelMode | None = None
    trusted: bool | None = None
    directives: DirectiveMode | None = None
    threads: ThreadMode | None = None
    shared_context: bool | None = None
    replies: ReplyMode | None = None
    imp: Imp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """What holds in one channel, all layers taken together."""

    enabled: bool
    mode: ChannelMode
    trusted: bool
    directives: DirectiveMode = DirectiveMode.ADDRESSED
    threads: ThreadMode = ThreadMode.OFF
    imp: str
    shared_context: bool = False
    """Whether people's private notes may be used here, of those who agree."""
    replies: ReplyMode = ReplyMode.POST

    @property
    def holds_replies(self) -> bool:
        """Whether the imp's answers wait for an approval here: never where the owner trusts."""
        return self.replies is ReplyMode.GATE and not self.trusted


class ImpSettings(_Section):
    """``imps/<imp>/imp.toml``, or ``[imps.<imp>]``: what differs for one imp."""

    context: ContextBudgets = ContextBudgets()
    """Only the limits that differ from ``[context]``."""
    engine: EngineSettings = EngineSettings()
    """Only what differs from ``[engine]``; with another provider or url, another model's."""
    grants: tuple[Grant, ...] = ()
    """Rules for this imp alone; they come before ``[[grants]]``."""
    connections: Annotated[tuple[str, ...] | None, BeforeValidator(_split_list)] = None
    """The tools that it may have at all, by name; None: whatever the rules let through."""


class WarmUpSettings(_Section):
    """``[warm_up]``: where a typing person starts the session ahead of the message."""

    dm: bool = True
    trusted: bool = True


class LogSettings(_Section):
    """``[log]``."""

    format: LogFormat = LogFormat.CONSOLE
    level: LogLevel = LogLevel.INFO


class InspectorSettings(_Section):
    """``[inspector]``: the owner's page on this machine."""

    enabled: bool = True
    port: int = 4301
    """On the loopback interface; another one where it is taken, or 0 for any."""
    link_minutes: float = 10.0
    """How long a sign-in link opens."""
    session_hours: float = 12.0
    """How long a browser stays signed in."""


class MetricsSettings(_Section):
    """``[metrics]``: figures and health for monitors."""

    enabled: bool = False
    host: str = "127.0.0.1"
    """Whatever reaches this address reads the figures; they name nobody."""
    port: int = 9464


class TelemetrySettings(_Section):
    """``[telemetry]``: turns as OpenTelemetry spans, without content."""

    enabled: bool = False
    endpoint: str = ""
    """Where spans go, OTLP over HTTP; empty: where the environment's ``OTEL_...`` say."""


class Settings(_Section):
    """All settings of one moment; unset keys have their defaults."""

    discord: DiscordSettings = DiscordSettings()
    engine: EngineSettings = EngineSettings()
    context: ContextBudgets = ContextBudgets()
    sessions: SessionLimits = SessionLimits()
    limits: UsageLimits = UsageLimits()
    memory: MemorySettings = MemorySettings()
    box: BoxSettings = BoxSettings()
    grants: tuple[Grant, ...] = ()
    """``[[grants]]``, in their order."""
    web: Annotated[WebSettings, BeforeValidator(_split_hosts)] = WebSettings()
    directives: DirectiveSettings = DirectiveSettings()
    tasks: TaskSettings = TaskSettings()
    talk: TalkSettings = TalkSettings()
    files: FileSettings = FileSettings()
    gates: GateSettings = GateSettings()
    catch_up: CatchUpSettings = CatchUpSettings()
    allow: AllowSettings = AllowSettings()
    channels: Annotated[
        Mapping[ChannelKey, ChannelOverlay], AfterValidator(_freeze), WrapSerializer(_thaw)
    ] = Field(default_factory=_nothing)
    imps: Annotated[Mapping[Imp, ImpSettings], AfterValidator(_freeze), WrapSerializer(_thaw)] = (
        Field(default_factory=_nothing)
    )
    warm_up: WarmUpSettings = WarmUpSettings()
    inspector: InspectorSettings = InspectorSettings()
    metrics: MetricsSettings = MetricsSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    retention: RetentionSettings = RetentionSettings()
    log: LogSettings = LogSettings()


def merge_channel(
    layers: Iterable[ChannelOverlay], *, imp: str, is_dm: bool = False
) -> ChannelSettings:
    """Decide the settings of one channel, key by key, from its layers.

    ``layers`` come strongest first; ``imp`` is the one of ``[discord]``. A direct message has no
    ``enabled`` and no ``mode`` of its own: who may write there is for ``[allow]`` to say, and
    each message is addressed to the imp.
    """
    found = tuple(layers)
    enabled = next((item.enabled for item in found if item.enabled is not None), False)
    mode = next((item.mode for item in found if item.mode is not None), ChannelMode.MENTION)
    return ChannelSettings(
        enabled=is_dm or enabled,
        mode=ChannelMode.ALL if is_dm else mode,
        trusted=next((item.trusted for item in found if item.trusted is not None), False),
        directives=next(
            (item.directives for item in found if item.directives is not None),
            DirectiveMode.ADDRESSED,
        ),
        threads=next((item.threads for item in found if item.threads is not None), ThreadMode.OFF),
        shared_context=next(
            (item.shared_context for item in found if item.shared_context is not None), False
        ),
        replies=next((item.replies for item in found if item.replies is not None), ReplyMode.POST),
        imp=next((item.imp for item in found if item.imp is not None), imp),
    )
