import Foundation
import Positioning
import Spatial
import Telemetry
import TestSupport
import Testing

/// Power measured outside of the agent: by the virtual sensors, by gpsd, and by the guest's kernel.
///
/// Two runs of 80 s by default; ODOGRAPH_POWER_SECONDS=600 or Deploy/test.sh --full uses ten minutes each.
extension SensorRigTests {
  private static var seconds: Double {
    let environment = ProcessInfo.processInfo.environment
    let full: Double = Shared.isFullRun ? 600 : 80
    return environment["ODOGRAPH_POWER_SECONDS"].flatMap(Double.init).map { max(60, $0) } ?? full
  }

  @Test(.timeLimit(.minutes(30)), .needs(.gpsd), .needs(.recordings("gnss-imu-drive")))
  func parkedAndDrivingSavesPower() async throws {
    let vehicle = try PoweredVehicle()
    let seconds = Self.seconds
    let isShort = seconds < 300

    let parked = try await vehicle.run("parked", seconds: seconds, recording: nil)
    // The initial position search and sensor check are insignificant in ten minutes, but not in one.
    let settled = isShort ? parked.afterSettling : parked.whole
    #expect(settled.receiver <= 0.05, "\(parked)")
    #expect(settled.gyroscope <= 0.02 && settled.magnetometer <= 0.02, "\(parked)")
    // One-time work such as the first status adds about a third of a wakeup per second in the short form.
    #expect(parked.wakeupsPerSecond <= (isShort ? 2.4 : 2), "\(parked)")

    let drive = try DriveRecording.shared(seconds: seconds)
    let driving = try await vehicle.run("driving", seconds: drive.duration, recording: drive)
    let measured = isShort ? driving.afterSettling : driving.whole
    #expect(measured.receiver <= 1 / 3.0, "\(driving)")
    let error = driving.largestError(along: drive)
    print("power in the rig, driving: position wrong by at most \(error) m at each second")
    // A host that pauses for 2 s at 25 m/s adds 50 m. In the long form, such a pause is outweighed.
    #expect(error <= (isShort ? 150 : 100), "\(driving)")

    // In a single run, delays of the emulated machine matter: of each gpsd watch, about two thirds of a second for the first. The kernel
    // rounds its delay of 3 s up to a whole second of its clock; the rest is for a loaded machine.
    let hop = isShort ? 0.3 : 0.15
    for run in [parked, driving] {
      let hops = max(0.6 + 2 * 0.5, hop * Double(run.whole.watches))
      for (name, booked, measured) in run.comparison {
        #expect(
          abs(booked - measured) <= max(0.05 * measured, hops), "\(name): \(booked) s, rig \(measured) s")
      }
    }
    for kind in EnergyComponent.allCases
    where ![.barometer, .radio, .processor, .wifi, .cellular].contains(kind) {
      let booked = parked.booked(kind) + driving.booked(kind)
      let measured = parked.measured(kind) + driving.measured(kind)
      // The ledger counts the receiver from the demand on, before gpsd has accepted the watch.
      let watches = kind == .receiver ? parked.whole.watches + driving.whole.watches : 0
      #expect(
        abs(booked - measured) <= max(0.05 * measured, hop * Double(watches)),
        "\(kind): \(booked) s, rig \(measured) s")
    }
  }
}
