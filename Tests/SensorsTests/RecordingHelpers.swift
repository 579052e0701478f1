import Sensors
import TestSupport

/// Every event of a recording.
func events(of recording: some SensorRecording) throws -> [SensorEvent] {
  var recording = recording
  var events: [SensorEvent] = []
  while let event = try recording.next() { events.append(event) }
  return events
}

/// Every fix of a recording.
func fixes(of recording: some SensorRecording) throws -> [PositionFix] {
  try events(of: recording).flatMap { event -> [PositionFix] in
    if case .position(let block) = event { block } else { [] }
  }
}

/// An NMEA log of sentences without `$` and checksum.
func nmea(_ bodies: [String]) -> String { bodies.map(GPSDFixture.sentence).joined() }

/// The error of a recording when it is read to its end; nil when there was none.
func recordingError(_ read: () throws -> some Any) -> RecordingError? {
  do {
    _ = try read()
    return nil
  } catch {
    return error as? RecordingError
  }
}

/// A small generator with a seed, so that a failure can be played again.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
