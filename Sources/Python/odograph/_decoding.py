"""Decodes JSON into the dataclasses of `odograph.messages`, and checks it against the limits in their annotations."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import types
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints


class DecodingError(ValueError):
    """A message that does not match its schema."""

    kind: str
    """Kind of the message, as in "location" or "regions/state"."""
    key: str
    """Path of the member, as in "predict.bound" or "sources[2].name"; empty for the message as a whole."""
    reason: str
    """Cause, as in "required, but missing"."""

    def __init__(self, kind: str, key: str, reason: str) -> None:
        super().__init__(": ".join(part for part in (kind, key, reason) if part))
        self.kind, self.key, self.reason = kind, key, reason

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str]]:
        return type(self), (self.kind, self.key, self.reason)


class _Fault(Exception):
    """A fault in a member; it becomes a DecodingError with the kind of the message."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(key, reason)
        self.key, self.reason = key, reason


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a value: of a number, of the length of a text, list or object, or of its characters."""

    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    """Exclusive minimum."""
    shortest: int | None = None
    longest: int | None = None
    pattern: str | None = None
    """Regular expression for a text."""
    keys: str | None = None
    """Regular expression for each key of an object."""
    nullable: bool = False
    """True if null is accepted."""

    def fault(self, value: Any) -> str | None:
        """Returns the reason why a value is refused; None if it is accepted."""
        if self.minimum is not None and value < self.minimum:
            return f"{value} is less than {self.minimum}"
        if self.maximum is not None and value > self.maximum:
            return f"{value} is greater than {self.maximum}"
        if self.above is not None and value <= self.above:
            return f"{value} is not greater than {self.above}"
        if self.shortest is not None and len(value) < self.shortest:
            return f"length {len(value)} is less than {self.shortest}"
        if self.longest is not None and len(value) > self.longest:
            return f"length {len(value)} is greater than {self.longest}"
        if self.pattern is not None and not re.search(self.pattern, value):
            return f"{_shown(value)} does not match {self.pattern}"
        if self.keys is not None:
            for key in value:
                if not re.search(self.keys, key):
                    return f"the key {_shown(key)} does not match {self.keys}"
        return None


@dataclasses.dataclass(frozen=True, slots=True)
class RequiredWith:
    """Members that are required if another one is present."""

    key: str
    required: tuple[str, ...]

    def check(self, members: Mapping[str, Any], path: str) -> None:
        if self.key in members:
            _require(members, self.required, path, f"required together with {self.key}")


@dataclasses.dataclass(frozen=True, slots=True)
class RequiredWithout:
    """Members that are required unless another one is present."""

    key: str
    required: tuple[str, ...]

    def check(self, members: Mapping[str, Any], path: str) -> None:
        if self.key not in members:
            _require(members, self.required, path, f"required without {self.key}")


@dataclasses.dataclass(frozen=True, slots=True)
class RequiredIf:
    """Members that are required for certain values of another one."""

    key: str
    values: tuple[str, ...]
    required: tuple[str, ...]

    def check(self, members: Mapping[str, Any], path: str) -> None:
        if members.get(self.key) in self.values:
            _require(members, self.required, path, f"required if {self.key} is {members[self.key]}")


@dataclasses.dataclass(frozen=True, slots=True)
class AnyOf:
    """Sets of members, one of which must be present completely."""

    sets: tuple[tuple[str, ...], ...]

    def check(self, members: Mapping[str, Any], path: str) -> None:
        if not any(all(name in members for name in names) for names in self.sets):
            # The most complete one names the missing members.
            nearest = max(self.sets, key=lambda names: sum(name in members for name in names) / len(names))
            _require(members, nearest, path, "required, but missing")


Rule = RequiredWith | RequiredWithout | RequiredIf | AnyOf


def _require(members: Mapping[str, Any], names: tuple[str, ...], path: str, reason: str) -> None:
    for name in names:
        if name not in members:
            raise _Fault(_below(path, name), reason)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Base of all messages and their parts."""

    RULES: ClassVar[tuple[Rule, ...]] = ()

    extra: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    """Members that the schema does not list, as from a later version."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Message(Record):
    """Base of all messages."""

    KIND: ClassVar[str] = ""
    """Path of the topic below the vehicle; `{name}` for the name of a command."""

    @classmethod
    def decode(cls, payload: bytes | bytearray | str | Mapping[str, Any]) -> Self:
        """Decodes a payload, or an object that is already parsed.

        Raises DecodingError, which names the member and the cause.
        """
        try:
            members = payload if isinstance(payload, Mapping) else _parsed(payload)
            return _record(cls, members, "")
        except _Fault as fault:
            raise DecodingError(cls.KIND, fault.key, fault.reason) from None
        except RecursionError:
            raise DecodingError(cls.KIND, "", "nested too deeply") from None


def _no_constant(name: str) -> None:
    raise _Fault("", f"{name} is not a number in JSON")


def _parsed(payload: bytes | bytearray | str) -> Any:
    if not payload.strip():
        raise _Fault("", "the payload is empty, as for the deletion of a retained message")
    try:
        return json.loads(payload, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise _Fault("", f"not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise _Fault("", f"not JSON: {error.msg} at character {error.pos}") from None
    except ValueError as error:
        # An integer with thousands of digits.
        raise _Fault("", f"not readable: {error}") from None


T = TypeVar("T", bound=Record)
_Convert = Callable[[Any, str], Any]


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _is(value: Any) -> str:
    names: dict[type, str] = {
        bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"
    }
    return "null" if value is None else names.get(type(value), type(value).__name__)


def wire_name(field: str) -> str:
    """Returns the member of a field: "horizontalAccuracy" for "horizontal_accuracy", "from" for "from_"."""
    first, *others = field.rstrip("_").split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


_Member = tuple[str, str, bool, _Convert]
_MEMBERS: dict[type[Record], tuple[_Member, ...]] = {}


def _members(cls: type[Record]) -> tuple[_Member, ...]:
    """The fields of a class: name, member, whether it is required, and its conversion."""
    if cls not in _MEMBERS:
        hints = get_type_hints(cls, include_extras=True)
        _MEMBERS[cls] = tuple(
            (field.name, wire_name(field.name), field.default is dataclasses.MISSING, _conversion(hints[field.name]))
            for field in dataclasses.fields(cls)
            if field.name != "extra"
        )
    return _MEMBERS[cls]


def _record(cls: type[T], value: Any, path: str) -> T:
    if not isinstance(value, Mapping):
        raise _Fault(path, f"must be an object, is {_is(value)}")
    found: dict[str, Any] = {}
    names = set()
    for name, key, is_required, convert in _members(cls):
        names.add(key)
        if key in value:
            found[name] = convert(value[key], _below(path, key))
        elif is_required:
            raise _Fault(_below(path, key), "required, but missing")
    for rule in cls.RULES:
        rule.check(value, path)
    return cls(extra={key: member for key, member in value.items() if key not in names}, **found)


def _boolean(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise _Fault(path, f"must be true or false, is {_is(value)}")
    return value


def _number(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _Fault(path, f"must be a number, is {_is(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _Fault(path, "must be a finite number")
    return number


def _integer(value: Any, path: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = _number(value, path)
    if not number.is_integer():
        raise _Fault(path, f"must be a whole number, is {number}")
    return int(number)


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise _Fault(path, f"must be a text, is {_is(value)}")
    return value


_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def _time(value: Any, path: str) -> datetime:
    text = _text(value, path)
    if not _RFC3339.fullmatch(text):
        raise _Fault(path, f"{_shown(text)} is not a time as in RFC 3339")
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise _Fault(path, f"{_shown(text)} is not a time: {error}") from None


def _object(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _Fault(path, f"must be an object, is {_is(value)}")
    return dict(value)


def _list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise _Fault(path, f"must be a list, is {_is(value)}")
    return list(value)


_SIMPLE: dict[Any, _Convert] = {
    bool: _boolean, float: _number, int: _integer, str: _text, datetime: _time, Any: lambda value, _: value
}


def _conversion(hint: Any) -> _Convert:
    """Returns the function that converts and checks values of an annotation."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if isinstance(hint, type) and issubclass(hint, Record):
        cls = hint
        return lambda value, path: _record(cls, value, path)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _limited(_conversion(arguments[0]), arguments[1])
    if origin is Literal:
        return _choice(arguments)
    if origin in (Union, types.UnionType):
        return _union(arguments)
    if origin is tuple and arguments[-1] is Ellipsis:
        item = _conversion(arguments[0])
        return lambda value, path: tuple(
            item(element, f"{path}[{index}]") for index, element in enumerate(_list(value, path))
        )
    if origin is tuple:
        return _fixed(tuple(map(_conversion, arguments)))
    if origin is dict:
        member = _conversion(arguments[1])
        return lambda value, path: {
            key: member(element, _below(path, key)) for key, element in _object(value, path).items()
        }
    raise TypeError(f"no conversion for {hint!r}")


def _limited(convert: _Convert, limits: Limits) -> _Convert:
    def limited(value: Any, path: str) -> Any:
        if value is None and limits.nullable:
            return None
        converted = convert(value, path)
        if fault := limits.fault(converted):
            raise _Fault(path, fault)
        return converted

    return limited


def _choice(values: tuple[Any, ...]) -> _Convert:
    def choice(value: Any, path: str) -> Any:
        # True equals 1 in Python, but not in JSON.
        if not any(value == allowed and type(value) is type(allowed) for allowed in values):
            expected = ", ".join("true" if allowed is True else str(allowed) for allowed in values)
            raise _Fault(path, f"{_shown(value)} is not {'one of ' if len(values) > 1 else ''}{expected}")
        return value

    return choice


def _union(arguments: tuple[Any, ...]) -> _Convert:
    # None means a missing member; null is accepted only with Limits(nullable=True).
    alternatives = [_conversion(argument) for argument in arguments if argument is not type(None)]
    if len(alternatives) == 1:
        return alternatives[0]

    def union(value: Any, path: str) -> Any:
        for convert in alternatives:
            try:
                return convert(value, path)
            except _Fault:
                continue
        raise _Fault(path, f"{_shown(value)} has none of the permitted types")

    return union


def _fixed(items: tuple[_Convert, ...]) -> _Convert:
    def fixed(value: Any, path: str) -> Any:
        elements = _list(value, path)
        if len(elements) != len(items):
            raise _Fault(path, f"must have {len(items)} values, has {len(elements)}")
        return tuple(
            item(element, f"{path}[{index}]") for index, (item, element) in enumerate(zip(items, elements))
        )

    return fixed
