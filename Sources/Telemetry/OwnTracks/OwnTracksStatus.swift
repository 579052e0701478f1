package import JSON
package import Spatial

/// Status messages of the OwnTracks format.
package enum OwnTracksStatus {
  /// Returns the will (`_type` lwt). `time` is the start of the session, because the broker publishes the
  /// will later.
  package static func lastWill(at time: UTCTime) -> [UInt8] {
    JSONWriter.object { json in
      json.field("_type", "lwt")
      json.field("tst", time.wholeSeconds)
    }
  }

  /// Returns a message of `_type` status that contains a native status message.
  package static func status(at time: UTCTime, native: [UInt8]) -> [UInt8] {
    JSONWriter.object { json in
      json.field("_type", "status")
      json.field("tst", time.wholeSeconds)
      json.key("odograph")
      json.raw(native)
    }
  }

  /// Returns the configuration in the terms of the OwnTracks format (`_type` dump).
  ///
  /// - Parameters:
  ///   - displacement: distance in m between locations; nil if every fix is published.
  ///   - settings: JSON object with the keys that can be set remotely and their values.
  package static func dump(
    trackerID: String, displacement: Double?, keepAlive: Int, settings: JSONValue
  ) -> [UInt8] {
    JSONWriter.object { json in
      json.field("_type", "dump")
      json.field("configuration") { json in
        json.field("_type", "configuration")
        json.field("tid", trackerID)
        json.field("locatorDisplacement", displacement, decimals: 0)
        json.field("keepalive", keepAlive)
        json.field("cmd", true)
      }
      json.key("odograph")
      json.value(settings)
    }
  }
}
