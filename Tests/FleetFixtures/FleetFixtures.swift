package import Fleet
package import Spatial
internal import Telemetry

/// Moments on a test day: `seconds` after noon on both clocks.
package func moment(_ seconds: Double) -> Moment {
  Moment(time: noon.advanced(bySeconds: seconds), timestamp: Timestamp(seconds: 1000 + seconds))
}

package let noon = UTCTime(rfc3339: "2026-11-21T12:00:00Z") ?? UTCTime(nanoseconds: 0)

/// The wire form of a time `seconds` after noon.
package func wireTime(_ seconds: Double) -> String { noon.advanced(bySeconds: seconds).rfc3339 }

package func statusJSON(
  _ state: String, at seconds: Double, session: Double = 0, will: Bool = false, epoch: String? = nil,
  seq: Int? = nil
) -> String {
  let time = will ? session : seconds
  var text = #"{"state":"\#(state)","time":"\#(wireTime(time))","sessionStart":"\#(wireTime(session))""#
  if will { text += #","will":true"# }
  if let epoch, let seq { text += #","epoch":"\#(epoch)","seq":\#(seq)"# }
  return text + "}"
}

package func locationJSON(
  _ latitude: Double, at seconds: Double, epoch: String? = nil, seq: Int? = nil, speed: Double? = nil,
  course: Double? = nil, longitude: Double = 11.5
) -> String {
  var text = #"{"time":"\#(wireTime(seconds))","latitude":\#(latitude),"longitude":\#(longitude)"#
  if let speed { text += #","speed":\#(speed)"# }
  if let course { text += #","course":\#(course)"# }
  if let epoch, let seq { text += #","epoch":"\#(epoch)","seq":\#(seq)"# }
  return text + "}"
}

extension Roster {
  /// Processes a message of vehicle `van` in fleet `demo`, or of another vehicle.
  @discardableResult
  package mutating func receive(
    _ kind: String, _ json: String, retained: Bool = false, at seconds: Double, vehicle: String = "van",
    fleet: String = "demo"
  ) -> Outcome {
    apply(
      topic: "odograph/v1/\(fleet)/\(vehicle)/\(kind)", payload: Array(json.utf8), retained: retained,
      at: moment(seconds))
  }

  package var van: VehicleRecord? { self[VehicleKey(fleet: "demo", vehicle: "van")] }
}
