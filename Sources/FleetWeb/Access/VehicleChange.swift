package import Fleet
internal import FleetConsole
internal import JSON

/// Something that somebody changed in vehicles through this server, or was not let: a line of the audit.
package struct VehicleChange: Hashable, Sendable {
  /// `regions`, `settings` or `command NAME`.
  package var action: String
  /// The principal's name.
  package var who: String
  /// The client's address; nil when it has none.
  package var address: String?
  package var vehicles: [VehicleKey]
  /// `sent`, `done`, … or the code of an error.
  package var outcome: String
  /// What was asked for, in short.
  package var detail: String

  package init(
    action: String, who: String, address: String?, vehicles: [VehicleKey], outcome: String, detail: String
  ) {
    (self.action, self.who, self.address) = (action, who, address)
    (self.vehicles, self.outcome, self.detail) = (vehicles, outcome, detail)
  }
}

/// Where changes are written down.
package protocol VehicleChangeLog: Sendable {
  func record(_ change: VehicleChange)
}

/// Writes each change as a line of JSON to standard error, where the journal takes it.
package struct StandardErrorChangeLog: VehicleChangeLog {
  package init() {}

  package func record(_ change: VehicleChange) {
    let line = JSONWriter.object { json in
      json.field("action", change.action)
      json.field("who", change.who)
      json.field("from", change.address)
      json.field("vehicles", texts: change.vehicles.prefix(100).map(\.description))
      if change.vehicles.count > 100 { json.field("count", change.vehicles.count) }
      json.field("outcome", change.outcome)
      json.field("detail", change.detail)
    }
    StandardError.say("audit \(String(decoding: line, as: UTF8.self))")
  }
}
