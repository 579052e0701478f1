"""Reads what vehicles with Odograph publish: messages, tracks, predicted positions and recordings.

Config/python.md of the repository has the documentation with examples.
"""

from ._decoding import DecodingError, Message, Record
from .polyline import Fix, fixes
from .prediction import Follower, Prediction, predict
from .recordings import RecordingError, read_driving_events, read_messages, read_positions, read_trips
from .topics import KINDS, ROOT, Received, UnknownKindError, decode, message_class

__version__ = "0.1.0"

__all__ = [
    "KINDS", "ROOT", "DecodingError", "Fix", "Follower", "Message", "Prediction", "Received", "Record", "RecordingError",
    "UnknownKindError", "decode", "fixes", "message_class", "predict", "read_driving_events", "read_messages",
    "read_positions", "read_trips",
]
