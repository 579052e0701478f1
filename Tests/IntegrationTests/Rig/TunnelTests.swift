import Foundation
import Sensors
import Telemetry
import TestSupport
import Testing

/// Drives through tunnels: recorded sensors through the guest's kernel, positions through a real gpsd, the agent, and a real broker. The
/// mounting of the device is not configured.
///
/// By default, a single drive of about two minutes with a short tunnel, in which the agent is killed.
/// `ODOGRAPH_FULL=1 swift test --filter SensorRigTests/aDrive` or Deploy/test.sh --full runs drives of eight minutes with three tunnels
/// of 30 s, 60 s and 30 s.
extension SensorRigTests {
  private static var tunnels: [Range<Int>] {
    Shared.isFullRun ? [150..<180, 250..<310, 400..<430] : [85..<105]
  }
  private static var seconds: Double { Shared.isFullRun ? 480 : 130 }

  @Test(.timeLimit(.minutes(15)), .needs(.gpsd), .enabled(if: Shared.isFullRun, "ODOGRAPH_FULL=1 runs it"))
  func aDriveOfOurOwnThroughTunnels() async throws {
    let run = try await NavigatedVehicle().drive(.synthetic(seconds: Self.seconds), tunnels: Self.tunnels)
    Self.expectNavigation(run)
  }

  @Test(
    .timeLimit(.minutes(15)), .needs(.gpsd), .needs(.recordings("gnss-imu-drive")),
    .enabled(if: Shared.isFullRun, "ODOGRAPH_FULL=1 runs it"))
  func aDriveWithALowCostSensorThroughTunnels() async throws {
    let drive = try PlayedDrive.recorded("gnss-imu-drive", from: 30, seconds: Self.seconds)
    Self.expectNavigation(try await NavigatedVehicle().drive(drive, tunnels: Self.tunnels))
  }

  @Test(
    .timeLimit(.minutes(15)), .needs(.gpsd), .needs(.recordings("kingston-2008")),
    .enabled(if: Shared.isFullRun, "ODOGRAPH_FULL=1 runs it"))
  func aDriveThroughACityAndTunnels() async throws {
    let drive = try PlayedDrive.recorded("kingston-2008", from: 1200, seconds: Self.seconds)
    Self.expectNavigation(try await NavigatedVehicle().drive(drive, tunnels: Self.tunnels))
  }

  /// The wheel speed is received from the vehicle's bus, the guest's vcan.
  @Test(
    .timeLimit(.minutes(15)), .needs(.gpsd), .needs(ShippedAgent.need), .needs(.recordings("kingston-2008")),
    .enabled(if: Shared.isFullRun, "ODOGRAPH_FULL=1 runs it"))
  func aDriveOnTheVehiclesBusThroughTunnels() async throws {
    let drive = try PlayedDrive.recorded("kingston-2008", from: 1200, seconds: Self.seconds)
    let run = try await NavigatedVehicle(isOnBus: true).drive(drive, tunnels: Self.tunnels)
    Self.expectNavigation(run)
    let sources = run.messages.filter { $0.kind == "status" }
      .compactMap { try? StatusMessage(json: $0.payload) }.flatMap(\.sources)
    #expect(sources.contains { $0.name == "can:vcan0" && $0.state == "active" }, "\(run.log)")
  }

  /// The same with a kill in a tunnel. The emulated machine needs 5 s to restart the agent, after which only a fast vehicle still has its
  /// heading; this one drives at 15 m/s then.
  @Test(
    .timeLimit(.minutes(15)), .needs(.gpsd), .needs(ShippedAgent.need),
    .enabled(if: Shared.isFullRun, "ODOGRAPH_FULL=1 runs it"))
  func aDriveOnTheVehiclesBusWithTheAgentKilledInATunnel() async throws {
    let run = try await NavigatedVehicle(isOnBus: true).drive(
      .synthetic(seconds: Self.seconds + 10), tunnels: Self.tunnels, killed: 262)
    Self.expectNavigation(run)
  }

  /// The agent restores its state after a kill in the middle of a tunnel and continues without a receiver.
  @Test(.timeLimit(.minutes(15)), .needs(.gpsd))
  func aDriveWithTheAgentKilledInATunnel() async throws {
    let tunnels = Shared.isFullRun ? Self.tunnels : [85..<115]
    let killed = Shared.isFullRun ? 275 : 92
    let run = try await NavigatedVehicle().drive(
      .synthetic(seconds: Self.seconds + 10), tunnels: tunnels, killed: killed)
    Self.expectNavigation(run)
    let tunnel = try #require(tunnels.first { $0.contains(killed) })
    #expect(
      run.inside(tunnel).contains { $0.time > Double(killed) + 1 && $0.source == .inertial },
      "\(run)\n\(run.log)")
  }

  /// Positions published in tunnels are accurate, each tunnel is corrected afterwards, and there is no jump at its end.
  ///
  /// The positions in a tunnel share an error, which exceeds the 95 % radius in one of twenty tunnels. Of three tunnels, one may exceed
  /// it, but none by more than a factor of two.
  private static func expectNavigation(_ run: NavigationRun) {
    print("tunnels in the rig, \(run)")
    var (told, corrected): ([NavigationRun.Place], [NavigationRun.Place]) = ([], [])
    var unlucky: [Range<Int>] = []
    for tunnel in run.tunnels {
      let inside = run.inside(tunnel)
      #expect(inside.count * 2 > tunnel.count, "\(tunnel): \(run)\n\(run.log)")
      #expect(inside.allSatisfy { $0.source == .inertial }, "\(tunnel): \(run)")
      told += inside
      let way = run.correction(tunnel)
      #expect((way ?? []).count * 2 > tunnel.count, "\(tunnel): \(run)")
      corrected += way ?? []
      if let (last, first) = run.reentry(tunnel) {
        let jump = hypot(first.offset.x - last.offset.x, first.offset.y - last.offset.y)
        #expect(jump <= 2 * (last.radius95 + first.radius95), "\(tunnel): \(run)")
        let isInside = inside.count { $0.error <= $0.radius95 } * 10 >= 9 * inside.count
        if !isInside || jump > last.radius95 + first.radius95 { unlucky.append(tunnel) }
      } else {
        Issue.record("no position after \(tunnel): \(run)")
      }
    }
    #expect(unlucky.count <= run.tunnels.count / 3, "\(unlucky): \(run)")
    #expect(told.allSatisfy { $0.error <= 2 * $0.radius95 }, "\(run)")
    #expect(corrected.count { $0.error <= $0.radius95 } * 10 >= 9 * corrected.count, "\(run)")
    // Positions that are already more accurate than the receiver cannot be improved.
    let receiver = run.drive.epochs.map(\.accuracy).max() ?? 0
    #expect(
      NavigationRun.rootMeanSquare(corrected) <= max(NavigationRun.rootMeanSquare(told), receiver), "\(run)")
  }
}
