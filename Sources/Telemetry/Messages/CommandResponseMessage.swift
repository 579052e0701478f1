public import JSON
public import Spatial

/// The answer to a command.
public struct CommandResponseMessage: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    case done
    /// The request was wrong or is not known.
    case refused
    /// The request was right and could not be done.
    case failed
  }

  public var command: String
  /// The request's own name for itself.
  public var id: String?
  public var time: UTCTime
  public var state: State
  /// Why it was refused or failed.
  public var problem: String?
  /// A JSON object, by command; nil for none.
  public var result: JSONValue?
  /// Where whoever gave the command wants the answer, and what comes back with it; nil for the command's own topic. They
  /// travel beside the payload.
  public var replyTo: ReplyAddress?

  /// What a request of MQTT 5 says of its answer.
  public struct ReplyAddress: Hashable, Sendable {
    /// Nil for the command's own topic.
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
  public init(json: JSONValue) throws(JSONError) {
    guard let command = json["command"]?.string else { throw JSONError("key \"command\": missing") }
    guard let state = json["state"]?.string.flatMap(State.init(rawValue:)) else {
      throw JSONError("key \"state\": not one of \(State.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    self.init(
      command: command, id: json["id"]?.string, time: try json.requiredTime("time"), state: state,
      problem: json["problem"]?.string, result: json["result"])
  }
}
