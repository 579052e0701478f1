package import Fleet
internal import JSON
internal import Positioning
internal import Spatial
internal import Telemetry

extension VehicleRecord {
  /// What is known of the vehicle as a JSON object. `stale` tells a position that is only the last known.
  package func json(at now: Moment) -> [UInt8] {
    JSONWriter.object { json in
      json.field("fleet", key.fleet)
      json.field("vehicle", key.vehicle)
      json.field("state", state.rawValue)
      json.field("age", age(at: now), decimals: 1)
      json.field("messages", messageCount)
      json.field("missing", missing)
      json.field("unreadable", unreadable)
      if let location = location?.message.location, let shown = shownPosition(at: now) {
        json.field("latitude", shown.coordinate.latitude, decimals: 7)
        json.field("longitude", shown.coordinate.longitude, decimals: 7)
        json.field("bound", shown.bound, decimals: 1)
        if shown.bound != nil { json.field("promised", shown.isPromised) }
        json.field("stale", isLocationStale)
        json.field("time", self.location?.message.time.rfc3339)
        json.field("horizontalAccuracy", location.horizontalAccuracy, decimals: 2)
        json.field("altitude", location.altitude, decimals: 1)
        json.field("speed", location.speed, decimals: 2)
        json.field("course", location.course, decimals: 1)
      }
      if let heading = heading?.message {
        json.field("heading", heading.trueHeading ?? heading.magneticHeading, decimals: 1)
      }
      if let attitude = attitude?.message.attitude {
        json.field("roll", attitude.roll, decimals: 4)
        json.field("pitch", attitude.pitch, decimals: 4)
        json.field("yaw", attitude.yaw, decimals: 4)
      }
      json.field("event", event?.message.summary)
    }
  }
}
