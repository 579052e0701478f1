import ArgumentParser
import Fleet
import FleetCommand
import FleetManagement
import Testing

@testable import odograph

/// The selection of vehicles for a change: every vehicle of every fleet only if it is explicit.
@Suite struct ChangedVehicleTests {
  private func targets(_ arguments: String...) throws -> VehicleTargets {
    // A given broker excludes the default profile, which may name a fleet.
    let broker = try BrokerArguments.parse(["--broker", "mqtt://127.0.0.1:1"])
    return try ChangedVehicleArguments.parse(arguments).targets(broker)
  }

  @Test func everyVehicleIsSelectedOnlyExplicitly() throws {
    let error = try #require(throws: FleetError.self) { try targets() }
    #expect(error.kind == .invalidInput)
    for remedy in ["--fleet", "--vehicle", "--every-vehicle"] { #expect(error.cause.contains(remedy)) }
    let every = try targets("--every-vehicle")
    #expect(every.fleets.isEmpty && every.vehicles.isEmpty)
    #expect(throws: FleetError.self) { try targets("--every-vehicle", "--fleet", "f") }
  }

  @Test(arguments: [["--fleet", "f"], ["--vehicle", "v"], ["--fleet", "f", "--vehicle", "v"]])
  func aNamedFleetOrVehicleIsEnough(arguments: [String]) throws {
    let broker = try BrokerArguments.parse(["--broker", "mqtt://127.0.0.1:1"])
    let targets = try ChangedVehicleArguments.parse(arguments).targets(broker)
    #expect(targets.fleets.count + targets.vehicles.count == arguments.count / 2)
  }
}
