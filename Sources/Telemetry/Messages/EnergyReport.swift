internal import JSON
public import VehicleData

/// The field `energy` of `status`: energy used by each part of the device since the agent started.
public struct EnergyReport: Hashable, Sendable {
  public var accounts: [EnergyComponent: EnergyAccount]

  public init(_ accounts: [EnergyComponent: EnergyAccount]) { self.accounts = accounts }

  /// Total energy in J of all parts.
  public var total: Double { accounts.values.reduce(0) { $0 + $1.joules } }

  func write(to json: inout JSONWriter) {
    json.field("total", total, decimals: 3)
    for (component, account) in accounts.sorted(by: { $0.key < $1.key }) {
      json.key(component.rawValue)
      json.openObject()
      json.field("seconds", account.seconds, decimals: 2)
      json.field("starts", account.starts)
      json.field("bytes", account.bytes)
      json.field("joules", account.joules, decimals: 3)
      json.closeObject()
    }
  }

  /// Parts unknown to this version are ignored.
  init?(json: JSONValue?) {
    guard case .object(let fields)? = json else { return nil }
    accounts = [:]
    for (name, account) in fields {
      guard let component = EnergyComponent(rawValue: name), let seconds = account["seconds"]?.double else {
        continue
      }
      accounts[component] = EnergyAccount(
        seconds: seconds, starts: account["starts"]?.integer.map { Int($0) } ?? 0,
        bytes: account["bytes"]?.integer.map { Int($0) }, joules: account["joules"]?.double ?? 0)
    }
  }
}
