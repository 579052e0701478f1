public import JSON
public import Spatial

/// What else the OwnTracks format has a device say of itself.
public enum OwnTracksStatus {
  /// `_type` lwt: the will. `time` is when the session began, as the broker publishes it later.
  public static func lastWill(at time: UTCTime) -> [UInt8] {
    JSONWriter.object { json in
      json.field("_type", "lwt")
      json.field("tst", time.wholeSeconds)
    }
  }

  /// `_type` status: a native status message inside the format's frame.
  public static func status(at time: UTCTime, native: [UInt8]) -> [UInt8] {
    JSONWriter.object { json in
      json.field("_type", "status")
      json.field("tst", time.wholeSeconds)
      json.key("odograph")
      json.raw(native)
    }
  }

  /// `_type` dump: the configuration in the format's own words, as far as it has them.
  ///
  /// - Parameters:
  ///   - displacement: metres between locations; nil when every fix is told.
  ///   - settings: the keys that can be set remotely with their values, a JSON object.
  public static func dump(
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
