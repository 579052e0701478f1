public import JSON
public import Spatial

/// Payload of `config/reported`: the outcome of requested settings.
public struct ConfigReportedMessage: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// The requested settings are in effect, and the broker was reached with them. After a change of the vehicle's own
    /// configuration, `refused` names stored settings that are no longer in effect.
    case applied
    /// The requested settings are in effect as a trial: the broker has not acknowledged a message with them yet.
    case trial
    /// The document was rejected; no setting was changed.
    case refused
    /// The broker could not be reached with the requested settings; the previous settings are in effect
    /// again.
    case rolledBack
  }

  /// A key that was rejected or has no effect, with the reason.
  public struct Refusal: Hashable, Sendable {
    public var key: String
    public var reason: String

    public init(key: String, reason: String) {
      self.key = key
      self.reason = reason
    }
  }

  public var identity: MessageIdentity?
  public var time: UTCTime
  public var state: State
  /// Version of the document, chosen by its sender.
  public var version: String?
  /// The reason why the whole document was refused or rolled back, or why stored settings are no longer in effect.
  public var problem: String?
  /// Keys with valid values. The values are in effect only in the states `applied` and `trial`.
  public var accepted: [String]
  public var refused: [Refusal]
  /// Remote settings in effect, by key.
  public var settings: [String: JSONValue]
  /// Keys that can be set remotely.
  public var changeable: [String]
  /// Remote settings that have no effect because of another setting, with the reason.
  public var ineffective: [Refusal]

  public init(
    identity: MessageIdentity? = nil, time: UTCTime, state: State, version: String? = nil,
    problem: String? = nil, accepted: [String] = [], refused: [Refusal] = [],
    settings: [String: JSONValue] = [:], changeable: [String] = [], ineffective: [Refusal] = []
  ) {
    self.identity = identity
    self.time = time
    self.state = state
    self.version = version
    self.problem = problem
    self.accepted = accepted
    self.refused = refused
    self.settings = settings
    self.changeable = changeable
    self.ineffective = ineffective
  }

  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("version", version)
      json.field("state", state.rawValue)
      json.field("problem", problem)
      json.field("accepted", texts: accepted)
      Self.write(refused, as: "refused", to: &json)
      if !ineffective.isEmpty { Self.write(ineffective, as: "ineffective", to: &json) }
      json.key("settings")
      json.value(.object(settings))
      json.field("changeable", texts: changeable)
      json.write(identity)
    }
  }

  private static func write(_ refusals: [Refusal], as member: String, to json: inout JSONWriter) {
    json.key(member)
    json.openArray()
    for refusal in refusals {
      json.openObject()
      json.field("key", refusal.key)
      json.field("reason", refusal.reason)
      json.closeObject()
    }
    json.closeArray()
  }

  private static func refusals(_ json: JSONValue?) -> [Refusal] {
    (json?.array ?? []).compactMap { element in
      element["key"]?.string.map { Refusal(key: $0, reason: element["reason"]?.string ?? "") }
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    guard let state = json["state"]?.string.flatMap(State.init(rawValue:)) else {
      throw JSONError("key \"state\": not one of \(State.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    self.init(
      identity: json.identity, time: try json.requiredTime("time"), state: state,
      version: json["version"]?.string, problem: json["problem"]?.string,
      accepted: json["accepted"]?.array?.compactMap(\.string) ?? [],
      refused: Self.refusals(json["refused"]),
      changeable: json["changeable"]?.array?.compactMap(\.string) ?? [],
      ineffective: Self.refusals(json["ineffective"]))
    if case .object(let settings)? = json["settings"] { self.settings = settings }
  }
}

extension ConfigReportedMessage: TimedContent {
  static let contract = MessageContract(
    path: TopicScheme.configReported, lane: .state, isRetained: true, isAnswer: true)
}
