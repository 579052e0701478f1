import Recordings
import Sensors
import TestSupport

/// Returns all events of a recording.
func events(of recording: some SensorRecording) throws -> [SensorEvent] {
  var recording = recording
  var events: [SensorEvent] = []
  while let event = try recording.next() { events.append(event) }
  return events
}

/// Returns all fixes of a recording.
func fixes(of recording: some SensorRecording) throws -> [PositionFix] {
  try events(of: recording).flatMap { event -> [PositionFix] in
    if case .position(let block) = event { block } else { [] }
  }
}

/// Returns an NMEA log of sentences without `$` and checksum.
func nmea(_ bodies: [String]) -> String { bodies.map(GPSDFixture.sentence).joined() }

/// Returns the error of reading a recording; nil if there is none.
func recordingError(_ read: () throws -> some Any) -> RecordingError? {
  do {
    _ = try read()
    return nil
  } catch {
    return error as? RecordingError
  }
}
