package import JSON
package import Spatial

/// A region entry or exit of the OwnTracks format (`_type` transition).
package struct OwnTracksTransition: Hashable, Sendable {
  package enum Event: String, Hashable, Sendable, CaseIterable {
    case enter
    case leave
  }

  package var event: Event
  package var time: UTCTime
  /// Position of the fix that decided the entry or exit; nil if unknown.
  package var coordinate: Coordinate?
  /// Horizontal accuracy in m (68 %).
  package var horizontalAccuracy: Double?
  /// Name of the region. It is always written, because the OwnTracks recorder crashes without it.
  package var description: String
  /// Identifier of the region.
  package var regionID: String
  /// Time of the region's creation or last change.
  package var waypointTime: UTCTime
  package var trackerID: String

  package init(
    event: Event, time: UTCTime, description: String, regionID: String, waypointTime: UTCTime,
    trackerID: String
  ) {
    self.event = event
    self.time = time
    self.description = description
    self.regionID = regionID
    self.waypointTime = waypointTime
    self.trackerID = trackerID
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("_type", "transition")
      json.field("wtst", waypointTime.wholeSeconds)
      json.field("tst", time.wholeSeconds)
      json.field("event", event.rawValue)
      // Other programs require `acc` and `desc`.
      json.field("acc", (horizontalAccuracy ?? UnstatedAccuracy.metres).rounded(.up), decimals: 0)
      json.field("desc", description.isEmpty ? regionID : description)
      json.field("lat", coordinate?.latitude, decimals: 7)
      json.field("lon", coordinate?.longitude, decimals: 7)
      json.field("tid", trackerID)
      json.field("t", OwnTracksLocation.Trigger.region.rawValue)
      json.field("rid", regionID)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    guard json["_type"]?.string == "transition" else {
      throw JSONError("key \"_type\": must be \"transition\"")
    }
    let name = json["event"]?.string ?? ""
    guard let event = Event(rawValue: name) else {
      throw JSONError("key \"event\": \"\(name.prefix(40))\" is not one of enter, leave")
    }
    let identifier = json["rid"]?.string
    guard let description = json["desc"]?.string ?? identifier, !description.isEmpty else {
      throw JSONError("key \"desc\": missing or not a name")
    }
    self.init(
      event: event, time: try json.ownTracksTime("tst"), description: description,
      regionID: identifier ?? description,
      waypointTime: (try? json.ownTracksTime("wtst")) ?? UTCTime(nanoseconds: 0),
      trackerID: json["tid"]?.string ?? "")
    coordinate = try? json.ownTracksCoordinate()
    horizontalAccuracy = try json.ownTracksAccuracy("acc")
  }
}
