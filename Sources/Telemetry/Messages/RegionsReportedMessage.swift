package import JSON
public import Spatial

/// Payload of `regions/reported`: accepted and refused regions of `regions/desired` or of the vehicle's own
/// file.
public struct RegionsReportedMessage: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// The accepted regions were put into effect; they replaced all previous regions.
    case applied
    /// The document was rejected; the monitored regions were not changed.
    case refused
  }

  /// A feature that is no valid region.
  public struct Refusal: Hashable, Sendable {
    /// Index in the collection, from 0.
    public var index: Int
    /// Identifier; nil if the feature has none.
    public var region: String?
    public var reason: String

    public init(index: Int, region: String?, reason: String) {
      self.index = index
      self.region = region
      self.reason = reason
    }
  }

  public var identity: MessageIdentity?
  public var time: UTCTime
  public var state: State
  /// Origin of the regions. Nil in reports of older versions, which only report `regions/desired`.
  public var source: RegionsStateMessage.Source?
  /// Version of the document, chosen by its sender.
  public var version: String?
  /// The reason why the whole document was refused.
  public var problem: String?
  /// Identifiers of the monitored regions.
  public var accepted: [String]
  public var refused: [Refusal]

  public init(
    identity: MessageIdentity? = nil, time: UTCTime, state: State,
    source: RegionsStateMessage.Source? = nil, version: String? = nil, problem: String? = nil,
    accepted: [String] = [], refused: [Refusal] = []
  ) {
    self.identity = identity
    self.time = time
    self.state = state
    self.source = source
    self.version = version
    self.problem = problem
    self.accepted = accepted
    self.refused = refused
  }

  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("version", version)
      json.field("state", state.rawValue)
      json.field("source", source?.rawValue)
      json.field("problem", problem)
      json.field("accepted", texts: accepted)
      json.field("refused", objects: refused) { json, refusal in
        json.field("index", refusal.index)
        json.field("region", refusal.region)
        json.field("reason", refusal.reason)
      }
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    guard let state = json["state"]?.string.flatMap(State.init(rawValue:)) else {
      throw JSONError("key \"state\": not one of \(State.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    self.init(
      identity: json.identity, time: try json.requiredTime("time"), state: state,
      source: json["source"]?.string.flatMap(RegionsStateMessage.Source.init),
      version: json["version"]?.string, problem: json["problem"]?.string,
      accepted: json["accepted"]?.array?.compactMap(\.string) ?? [],
      refused: (json["refused"]?.array ?? []).compactMap { element in
        element["index"]?.integer.map {
          Refusal(
            index: Int($0), region: element["region"]?.string, reason: element["reason"]?.string ?? "")
        }
      })
  }
}

extension RegionsReportedMessage: TimedContent {
  static let contract = MessageContract(
    path: TopicScheme.regionsReported, lane: .state, isRetained: true, isAnswer: true)
}
