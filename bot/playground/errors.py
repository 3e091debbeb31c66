"""Discord's refusals: status, numeric code, message and, for forms, a tree of field errors.

``ApiError`` is raised by the world and by the REST handlers alike; over HTTP it becomes Discord's
JSON, and to a person who acts through the Python API it is simply the exception.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError

    from bot.playground.entities import Payload

FieldPath = tuple[str | int, ...]

INVALID_FORM_BODY = 50035
"""The code of every refused form; what is wrong stands in the tree."""


class ApiError(Exception):
    """A request that Discord refuses."""

    def __init__(
        self, status: int, code: int, message: str, *, errors: Payload | None = None
    ) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.errors = errors

    def payload(self) -> Payload:
        """Return the JSON body."""
        body: Payload = {"message": self.message, "code": self.code}
        if self.errors:
            body["errors"] = self.errors
        return body


_KNOWN = {
    10002: (404, "Unknown Application"),
    10003: (404, "Unknown Channel"),
    10004: (404, "Unknown Guild"),
    10007: (404, "Unknown Member"),
    10008: (404, "Unknown Message"),
    10011: (404, "Unknown Role"),
    10013: (404, "Unknown User"),
    10014: (404, "Unknown Emoji"),
    10015: (404, "Unknown Webhook"),
    10062: (404, "Unknown interaction"),
    10063: (404, "Unknown application command"),
    10066: (404, "Unknown application command permissions"),
    30003: (400, "Maximum number of pins reached (50)"),
    30010: (400, "Maximum number of reactions reached (20)"),
    30032: (400, "Maximum number of application commands reached (100)"),
    30034: (400, "Max number of daily application command creates has been reached (200)"),
    40001: (401, "Unauthorized"),
    40005: (413, "Request entity too large"),
    40060: (400, "Interaction has already been acknowledged."),
    40062: (429, "Service resource is being rate limited."),
    50001: (403, "Missing Access"),
    50003: (403, "Cannot execute action on a DM channel"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50008: (400, "Cannot send messages in a non-text channel"),
    50013: (403, "Missing Permissions"),
    50016: (
        400,
        (
            "Provided too few or too many messages to delete. "
            "Must provide at least 2 and fewer than 100 messages to delete"
        ),
    ),
    50021: (403, "Cannot execute action on a system message"),
    50024: (400, "Cannot execute action on this channel type"),
    50027: (401, "Invalid Webhook Token"),
    50034: (400, "A message provided was too old to bulk delete"),
    50083: (400, "Thread is archived"),
    50109: (400, "The request body contains invalid JSON."),
    160002: (400, "Cannot reply without permission to read message history"),
    160004: (400, "A thread has already been created for this message"),
    160005: (403, "Thread is locked"),
    160006: (400, "Maximum number of active threads reached"),
}


def refusal(code: int) -> ApiError:
    """Return the refusal with Discord's numeric code; its status and words are Discord's."""
    status, message = _KNOWN[code]
    return ApiError(status, code, message)


def unauthorized() -> ApiError:
    """Return the answer to a wrong token."""
    return ApiError(HTTPStatus.UNAUTHORIZED, 0, "401: Unauthorized")


def form_error(fields: Mapping[FieldPath, tuple[str, str]]) -> ApiError:
    """Return 50035 with an error tree.

    Args:
        fields: path of each wrong field to its code and message; () is the form itself.
    """
    tree: Payload = {}
    for path, (code, message) in fields.items():
        node = tree
        for part in path:
            node = node.setdefault(str(part), {})
        node.setdefault("_errors", []).append({"code": code, "message": message})
    return ApiError(HTTPStatus.BAD_REQUEST, INVALID_FORM_BODY, "Invalid Form Body", errors=tree)


def one_field(path: FieldPath, code: str, message: str) -> ApiError:
    """Return 50035 for one wrong field."""
    return form_error({path: (code, message)})


def from_validation(exc: ValidationError) -> ApiError:
    """Return 50035 for a body that its pydantic model refused."""
    return form_error(
        {
            _without_tags(error["loc"]): _words(error["type"], error["msg"], error.get("ctx", {}))
            for error in exc.errors(include_url=False, include_input=False)
        }
    )


def _without_tags(path: FieldPath) -> FieldPath:
    # pydantic puts the chosen branch of a union into the path; Discord does not.
    return tuple(part for part in path if isinstance(part, int) or not _is_tag(part))


def _is_tag(part: str) -> bool:
    return "-" in part or "[" in part or part in {"str", "int", "float"}


def _words(kind: str, message: str, context: Mapping[str, object]) -> tuple[str, str]:
    if kind.isupper():  # our own validators name Discord's code as their type
        return kind, message
    if kind == "missing":
        return "BASE_TYPE_REQUIRED", "This field is required"
    if kind == "string_too_long":
        return "BASE_TYPE_MAX_LENGTH", f"Must be {context['max_length']} or fewer in length."
    if kind == "string_too_short":
        return "BASE_TYPE_MIN_LENGTH", f"Must be {context['min_length']} or more in length."
    if kind == "too_long":
        return "BASE_TYPE_BAD_LENGTH", f"Must be {context['max_length']} or fewer in length."
    if kind == "too_short":
        return "BASE_TYPE_BAD_LENGTH", f"Must be {context['min_length']} or more in length."
    if kind.startswith(("int_", "float_")):
        return "NUMBER_TYPE_COERCE", "Value is not a number."
    if kind in {"enum", "literal_error"}:
        return "BASE_TYPE_CHOICES", "Value is not one of the allowed choices."
    return "BASE_TYPE_INVALID", message
