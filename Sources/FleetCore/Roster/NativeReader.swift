internal import Telemetry

/// The native profile's payloads.
enum NativeReader {
  /// Returns nil for what is not shown of a vehicle.
  static func read(_ address: TopicAddress, _ json: JSONValue) throws(JSONError) -> FleetMessage? {
    if let kind = address.kind, kind != .track {
      return .message(kind, try DecodedMessage(kind: kind, json: json))
    }
    guard case .object = json else { throw JSONError("not an object") }
    switch address.path {
    case "track": return .history(identity(json))
    case TopicScheme.regionsDesired:
      return json["features"] == nil ? nil : .wantedRegions(RegionShape.regions(inGeoJSON: json))
    case TopicScheme.regionsReported:
      guard json["accepted"] != nil else { return nil }
      return .acceptedRegions(json["accepted"]?.array?.compactMap(\.string) ?? [], identity(json))
    default: return nil
    }
  }

  private static func identity(_ json: JSONValue) -> MessageIdentity? {
    guard let epoch = json["epoch"]?.string, let seq = json["seq"]?.integer, seq >= 0 else { return nil }
    return MessageIdentity(epoch: epoch, seq: UInt64(seq))
  }
}
