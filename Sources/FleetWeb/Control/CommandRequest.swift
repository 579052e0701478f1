package import Fleet
package import JSON
package import Spatial
package import Telemetry

/// A command to a vehicle, with its state.
package struct CommandRequest: Hashable, Sendable {
  package enum State: String, Hashable, Sendable, CaseIterable {
    /// The broker has not acknowledged the command.
    case sending
    /// The broker has the command; the vehicle has not responded.
    case waiting
    case done
    case refused
    case failed
    /// The command has expired without a response: the broker discards it, and no response is expected.
    case silent
  }

  package var id: String
  package var vehicle: VehicleKey
  package var command: String
  package var arguments: [String: JSONValue]
  /// The name of the user who sent the command.
  package var by: String
  package var asked: UTCTime
  /// The time at which the broker discards the command.
  package var expires: UTCTime
  package var isSent = false
  /// The reason for which the broker rejected the command; nil otherwise.
  package var brokerRefusal: String?
  package var answer: CommandResponseMessage?
  /// The time at which the response was received; nil before.
  package var answered: UTCTime?

  package init(
    id: String, vehicle: VehicleKey, command: String, arguments: [String: JSONValue], by: String,
    asked: UTCTime, expires: UTCTime
  ) {
    (self.id, self.vehicle, self.command, self.arguments) = (id, vehicle, command, arguments)
    (self.by, self.asked, self.expires) = (by, asked, expires)
  }

  package func state(at now: UTCTime) -> State {
    if let answer {
      switch answer.state {
      case .done: return .done
      case .refused: return .refused
      case .failed: return .failed
      }
    }
    if brokerRefusal != nil { return .refused }
    if now > expires { return .silent }
    return isSent ? .waiting : .sending
  }

  package func write(to json: inout JSONWriter, at now: UTCTime) {
    json.openObject()
    json.field("request", id)
    json.field("fleet", vehicle.fleet)
    json.field("vehicle", vehicle.vehicle)
    json.field("command", command)
    json.key("arguments")
    json.value(.object(arguments))
    json.field("by", by)
    json.field("asked", asked.rfc3339)
    json.field("state", state(at: now).rawValue)
    json.field("problem", answer?.problem ?? brokerRefusal)
    if let result = answer?.result {
      json.key("result")
      json.value(result)
    }
    json.field("answered", answered?.rfc3339)
    if answer == nil { json.field("expires", expires.rfc3339) }
    json.closeObject()
  }
}
