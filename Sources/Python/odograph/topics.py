"""Decodes messages by their topics."""

from __future__ import annotations

from dataclasses import dataclass

from . import messages
from ._decoding import DecodingError, Message

ROOT = "odograph/v1"
"""Default root of the topics, with the version of the contract."""

KINDS: dict[str, type[Message]] = {cls.KIND: cls for cls in messages.ALL}
"""The class of each kind of message."""


class UnknownKindError(DecodingError):
    """A topic with no message of this version of the contract."""


@dataclass(frozen=True, slots=True)
class Received:
    """A message with the names in its topic."""

    fleet: str
    vehicle: str
    kind: str
    """Path of the topic below the vehicle, as in "location" or "command/locate/response"."""
    message: Message


def message_class(kind: str) -> type[Message]:
    """Returns the class of a kind of message. Raises UnknownKindError."""
    levels = kind.split("/")
    if levels[0] == "command" and len(levels) > 1:
        kind = "command/{name}/response" if levels[2:3] == ["response"] else "command/{name}"
    if kind not in KINDS:
        raise UnknownKindError(kind, "", "unknown kind of message")
    return KINDS[kind]


def decode(topic: str, payload: bytes | bytearray | str, root: str = ROOT) -> Received:
    """Decodes a message received on a topic.

    Raises UnknownKindError for a topic of another kind, and DecodingError for a message that does not match its schema.
    """
    levels = topic.removeprefix(root + "/").split("/", 2)
    if not topic.startswith(root + "/") or len(levels) != 3 or not all(levels):
        raise UnknownKindError(topic, "", f"not a topic of a vehicle below {root}")
    fleet, vehicle, kind = levels
    return Received(fleet, vehicle, kind, message_class(kind).decode(payload or _empty(kind)))


def _empty(kind: str) -> str:
    """A command without arguments may have an empty payload; for all others it deletes a retained message."""
    return "{}" if message_class(kind) is messages.CommandRequest else ""
