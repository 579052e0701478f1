import Foundation
import JSON
import Positioning
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

/// The built agent with the radios of the rig's guest and the rights of its unit: the kernel's scans become a map, and the map yields
/// locations.
extension SensorRigTests {
  /// Start of the learning drive, northwards at 2 m/s. In the 30 s between two scans the vehicle moves less than the radius, so the result
  /// does not depend on whether the agent uses a scan that was running when the first fix arrived.
  private static let place = LiveReceiver.Epoch(latitude: 48.1, longitude: 11.5, speed: 2, course: 0)

  /// With CAP_NET_ADMIN, the agent learns access points while it has fixes, and reports locations by its map without a fix. The energy
  /// ledger equals the kernel's scans. Without the capability there are no scans, which is logged once.
  @Test(.timeLimit(.minutes(8))) func coarseLocationsFromKernelScans() async throws {
    let rig = try RadioGuest.rig()
    try rig.run("ip link set wlan5 up; mkdir -p /tmp/agent; chown 900 /tmp/agent; chmod 0700 /tmp/agent")
    let vehicle = try await RadioVehicle(rig, at: Self.place)

    // At least one scan with a fix at the start; in the full run, also one every 30 s.
    let learned = try await vehicle.run(
      "learning", accuracy: "best", scans: Shared.isFullRun ? 3 : 1, user: RadioGuest.user(with: "net_admin"))
    try expectLedger(learned)
    let fixes = learned.locations.filter { $0.location.positionSource != .coarse }
    #expect(!fixes.isEmpty, "\(learned.log)")
    let map = try rig.run("ls -l /tmp/agent").output
    #expect(map.contains { $0.hasSuffix(" beacons.sqlite") }, "\(map)")

    vehicle.loseFix()
    let told = try await vehicle.run(
      "coarse", accuracy: "kilometer", scans: Shared.isFullRun ? 3 : 1,
      user: RadioGuest.user(with: "net_admin"))
    try expectLedger(told)
    let coarse = told.locations
    let first = try #require(coarse.first, "\(told.log)")
    #expect(coarse.allSatisfy { $0.location.positionSource == .coarse }, "\(coarse)")
    let truth = learned.middle(at: learned.scansWithFix)
    let error = try #require(truth).distance(to: first.location.coordinate)
    let radius = try #require(first.location.horizontalAccuracy)
    print(
      "coarse in the guest: published \(String(format: "%.1f", first.time.secondsSince1970 - told.started)) s after the start, "
        + "\(Int(error)) m from the middle of where it was learned, radius \(Int(radius)) m")
    #expect(error < radius && (10...300).contains(radius))
    #expect(first.location.speed == nil && first.location.course == nil)

    // Without the capability: a single message with the remedy, no scans and no energy.
    let forbidden = try await vehicle.run(
      "forbidden", accuracy: "kilometer", scans: 0, user: RadioGuest.user())
    let complaints = forbidden.log.filter { $0.contains("no permission to scan") }
    #expect(complaints.count == 1 && complaints[0].contains("radio.conf"), "\(forbidden.log)")
    #expect(forbidden.kernel.scans.isEmpty && forbidden.booked == nil, "\(forbidden)")

    // A cancelled scan is aborted by the kernel as well.
    let before = try vehicle.kernel().aborted
    let broken = try rig.run("RadioChild wifi:wlan5 600 1").output
    #expect(broken.contains { $0.hasPrefix("broken off after ") }, "\(broken)")
    #expect(try vehicle.kernel().aborted == before + 1)
  }

  /// The number of scans is equal. Durations may differ by the delay of kernel messages and of the agent's thread, which is large if other
  /// tests use the processor.
  private func expectLedger(_ run: RadioVehicle.Run) throws {
    print(run)
    let booked = try #require(run.booked, "\(run.log)")
    #expect(booked.starts == run.kernel.scans.count)
    let tolerance = (Shared.isFullRun ? 0.1 : 1.5) * Double(booked.starts) + 0.02 * run.kernel.seconds
    #expect(abs(booked.seconds - run.kernel.seconds) <= tolerance, "\(run)")
  }
}

/// The agent in the guest with one radio, a live gpsd on the host and a broker; several runs use the same store.
private final class RadioVehicle {
  /// A run as seen by a subscriber and by the kernel.
  struct Run: CustomStringConvertible {
    var name: String
    /// Start time, UTC in s.
    var started: Double
    var messages: [PrintedMessage]
    var log: [String]
    var kernel: KernelScans

    var locations: [LocationMessage] {
      messages.filter { $0.kind == "location" }.compactMap { try? LocationMessage(json: $0.payload) }
        .filter { $0.time.secondsSince1970 >= started }
    }

    /// The energy account of Wi-Fi in the last status.
    var booked: EnergyAccount? {
      messages.last { $0.kind == "status" }.flatMap { try? StatusMessage(json: $0.payload) }?.energy?
        .accounts[.wifi]
    }

    /// End times of the scans that started after the first fix. The agent does not use earlier ones.
    var scansWithFix: [Double] {
      guard let first = locations.first?.time.secondsSince1970 else { return [] }
      return kernel.scans.filter { $0.begin > first }.compactMap(\.end)
    }

    /// Mean of the locations nearest in time to `moments`; nil without locations.
    func middle(at moments: [Double]) -> Coordinate? {
      let places = moments.compactMap { moment in
        locations.min {
          abs($0.time.secondsSince1970 - moment) < abs($1.time.secondsSince1970 - moment)
        }?.location.coordinate
      }
      guard !places.isEmpty else { return nil }
      return Coordinate(
        latitude: places.reduce(0) { $0 + $1.latitude } / Double(places.count),
        longitude: places.reduce(0) { $0 + $1.longitude } / Double(places.count))
    }

    var description: String {
      let ledger = booked.map { "\($0.starts) scans, \(String(format: "%.2f", $0.seconds)) s" } ?? "none"
      return "radio in the rig, \(name): kernel \(kernel); ledger \(ledger)"
    }
  }

  private let rig: RigFixture
  private let receiver: LiveReceiver
  private let watcher: ChildProcess
  private let broker: BrokerFixture
  private let directory: TemporaryDirectory
  private let tail: ChildProcess
  private let place: LiveReceiver.Epoch
  private var events: RigProgram

  init(_ rig: RigFixture, at place: LiveReceiver.Epoch) async throws {
    (self.rig, self.place) = (rig, place)
    receiver = try LiveReceiver(at: place, language: .ubx)
    // A second client of gpsd, so that the receiver has a fix when the agent starts.
    watcher = try ChildProcess("gpspipe", ["-w", "127.0.0.1:\(receiver.port)"], output: "/dev/null")
    broker = try BrokerFixture()
    directory = try TemporaryDirectory()
    tail = try OdographProcess.start(
      ["tail", "--broker", "mqtt://127.0.0.1:\(broker.port)"], output: directory.file("lines"))
    events = try rig.start("exec iw event -t >/tmp/events")
    // The first line shows that the subscription is active.
    try await eventually {
      try await publish(broker, "odograph/v1/default/rig/motion", "{}")
      return try !OdographProcess.text(of: directory.file("lines")).isEmpty
    }
  }

  deinit {
    tail.terminate()
    watcher.terminate()
    receiver.stop()
  }

  /// The receiver loses its fix.
  func loseFix() {
    var epoch = place
    epoch.hasFix = false
    receiver.play([epoch], from: 0)
  }

  /// Scans that the kernel has reported so far.
  func kernel() throws -> KernelScans { KernelScans(try rig.run("cat /tmp/events").output) }

  /// Runs the agent until it has completed `scans` scans, or reports why it cannot scan, and for 4 s more.
  func run(_ name: String, accuracy: String, scans: Int, user: String) async throws -> Run {
    let (lines, events) = (try messages().count, try rig.run("cat /tmp/events").output.count)
    if name == "learning" { receiver.play(epochs, from: Int(Date().timeIntervalSince1970)) }
    let started = Date().timeIntervalSince1970
    let settings = [
      "vehicle.id=rig", "iio.enabled=false", "radio.wifi=wlan5", "location.desired_accuracy=\(accuracy)",
      "location.reporting=distance", "gpsd.host=10.0.2.2", "gpsd.port=\(receiver.port)",
      "mqtt.broker=mqtt://10.0.2.2:\(broker.port)", "store.path=/tmp/agent/outbox.sqlite",
    ]
    var agent = try rig.start(
      "exec \(user) odographd run " + settings.map { "--set '\($0)'" }.joined(separator: " "))
    func news() throws -> KernelScans {
      KernelScans(Array(try rig.run("cat /tmp/events").output.dropFirst(events)))
    }
    let deadline = started + 120
    try await eventually {
      try await Task.sleep(for: .milliseconds(200))
      if Date().timeIntervalSince1970 > deadline { return true }
      if name == "learning" {
        let run = Run(
          name: name, started: started, messages: Array(try messages().dropFirst(lines)), log: [],
          kernel: try news())
        return run.scansWithFix.count >= scans
      }
      guard scans == 0 else { return try news().finished >= scans }
      return try messages().dropFirst(lines).contains {
        $0.kind == "status"
          && (try? StatusMessage(json: $0.payload))?.sources.contains { $0.reason != nil } == true
      }
    }
    // The agent has processed the result by then, even in a slow guest; a scan that starts meanwhile is in both counts.
    try await Task.sleep(for: .seconds(4))
    try agent.signal("TERM")
    let (status, log) = try agent.waitForExit()
    guard status == 0 else { throw PowerRunError(text: "odographd ended with \(status): \(log)") }
    try await eventually {
      try messages().dropFirst(lines).last { $0.kind == "status" }?.payload["state"]?.string == "offline"
        || Date().timeIntervalSince1970 > deadline
    }
    return Run(
      name: name, started: started, messages: Array(try messages().dropFirst(lines)), log: log,
      kernel: try news())
  }

  /// Two minutes northwards.
  private var epochs: [LiveReceiver.Epoch] {
    (0..<120).map { second in
      var epoch = place
      epoch.latitude += place.speed * Double(second) / 111_195
      return epoch
    }
  }

  private func messages() throws -> [PrintedMessage] {
    try OdographProcess.text(of: directory.file("lines")).split(separator: "\n").compactMap {
      PrintedMessage(line: $0)
    }
  }
}
