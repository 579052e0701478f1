package import JSON
public import Spatial
public import VehicleData

/// Payload of `regions/state`: the state of each monitored region.
public struct RegionsStateMessage: Hashable, Sendable {
  /// Origin of the regions. All monitored regions have the same origin: remote regions replace the regions of
  /// the file.
  public enum Source: String, Hashable, Sendable, CaseIterable {
    /// Regions from the file of `regions.path`.
    case file
    /// Regions from `regions/desired`, or from a command.
    case remote
  }

  /// Maximum number of regions in a message.
  public static let limit = 200
  /// Maximum number of bytes in the identifiers of a message.
  static let identifierBytes = 16_384

  public var identity: MessageIdentity?
  /// Time at which the message was written.
  public var time: UTCTime
  /// Origin of the regions; nil if none are monitored.
  public var source: Source?
  /// Number of monitored regions.
  public var count: Int
  public var regions: [RegionStatus]

  /// Number of monitored regions that are not listed.
  public var omitted: Int { max(0, count - regions.count) }

  /// - Parameters:
  ///   - count: number of monitored regions.
  ///   - regions: the most important regions, in the order of `RegionMonitor.statuses`. The message lists
  ///     them up to its limits of number and size.
  public init(
    identity: MessageIdentity? = nil, time: UTCTime, source: Source?, count: Int, regions: [RegionStatus]
  ) {
    self.identity = identity
    self.time = time
    self.source = source
    self.count = count
    var bytes = 0
    self.regions = Array(
      regions.prefix(Self.limit).prefix { region in
        bytes += region.identifier.utf8.count
        return bytes <= Self.identifierBytes
      })
  }

  /// Encoded payload. The member `omitted` is missing if it is zero.
  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("source", source?.rawValue)
      json.field("count", count)
      if omitted > 0 { json.field("omitted", omitted) }
      json.field("regions", objects: regions) { json, region in
        json.field("region", region.identifier)
        json.field("state", region.state.rawValue)
        json.field("since", region.since?.rfc3339)
        json.field("desiredAccuracy", region.desiredAccuracy, decimals: 2)
      }
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    guard let members = json["regions"]?.array else {
      throw JSONError("key \"regions\": missing or not an array")
    }
    var regions: [RegionStatus] = []
    for (index, member) in members.prefix(Self.limit).enumerated() {
      guard let identifier = member["region"]?.string, !identifier.isEmpty else {
        throw JSONError("key \"regions[\(index)].region\": missing or not a name")
      }
      guard let state = member["state"]?.string.flatMap(RegionState.init(rawValue:)) else {
        throw JSONError(
          "key \"regions[\(index)].state\": not one of \(RegionState.allCases.map(\.rawValue).joined(separator: ", "))"
        )
      }
      regions.append(
        RegionStatus(
          identifier: identifier, state: state,
          since: member["since"]?.string.flatMap { UTCTime(rfc3339: $0) },
          desiredAccuracy: member["desiredAccuracy"]?.double))
    }
    let count = json["count"]?.integer.map { Int(clamping: $0) } ?? members.count
    self.init(
      identity: json.identity, time: try json.requiredTime("time"),
      source: json["source"]?.string.flatMap(Source.init(rawValue:)), count: max(count, regions.count),
      regions: regions)
  }
}

extension RegionsStateMessage: TimedContent {
  static let contract = MessageContract(path: TopicScheme.regionsState, lane: .state, isRetained: true)
}
