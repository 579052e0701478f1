public import JSON
public import Spatial

/// Answer to a command.
public struct CommandResponseMessage: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    case done
    /// The request was invalid or unknown.
    case refused
    /// The request was valid but could not be carried out.
    case failed
  }

  public var command: String
  /// Identifier chosen by the sender of the request.
  public var id: String?
  public var time: UTCTime
  public var state: State
  /// The reason for a refusal or failure.
  public var problem: String?
  /// Result of the command, a JSON object; nil for none.
  public var result: JSONValue?
  /// Response topic and correlation data of the sender; nil for the command's default topic. These are not
  /// part of the payload.
  public var replyTo: ReplyAddress?

  /// Response properties of an MQTT 5 request.
  public struct ReplyAddress: Hashable, Sendable {
    /// Response topic; nil for the command's default topic.
    public var topic: String?
    public var correlation: [UInt8]?

    public init(topic: String?, correlation: [UInt8]?) {
      self.topic = topic
      self.correlation = correlation
    }
  }

  public init(
    command: String, id: String? = nil, time: UTCTime, state: State, problem: String? = nil,
    result: JSONValue? = nil
  ) {
    self.command = command
    self.id = id
    self.time = time
    self.state = state
    self.problem = problem
    self.result = result
  }

  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("command", command)
      json.field("id", id)
      json.field("time", time.rfc3339)
      json.field("state", state.rawValue)
      json.field("problem", problem)
      if let result {
        json.key("result")
        json.value(result)
      }
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    guard let command = json["command"]?.string else { throw JSONError("key \"command\": missing") }
    guard let state = json["state"]?.string.flatMap(State.init(rawValue:)) else {
      throw JSONError("key \"state\": not one of \(State.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    self.init(
      command: command, id: json["id"]?.string, time: try json.requiredTime("time"), state: state,
      problem: json["problem"]?.string, result: json["result"])
  }
}

extension CommandResponseMessage: TimedContent {
  static let contract = MessageContract(
    path: TopicScheme.responsePath(command: "+"), carriesIdentity: false, isAnswer: true)
  var path: String { TopicScheme.responsePath(command: command) }
}
