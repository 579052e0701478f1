import AgentCore
import Foundation
import Logging
import Pipeline
import Positioning
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

/// From radio scans near fixes to the vehicle's beacon map, and to published scans.
@Suite struct BeaconMemoryTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let frame = LocalFrame(origin: Coordinate(latitude: 48, longitude: 11))

  private let directory: TemporaryDirectory
  private let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  init() throws { directory = try TemporaryDirectory() }

  private func store() -> BeaconStore { BeaconStore(path: directory.file("beacons.sqlite"), log: log) }

  private static func beacon(_ number: Int) throws -> Beacon {
    try #require(Beacon(accessPoint: 0x0011_2200_0000 + UInt64(number)))
  }

  /// Drives east at 10 m/s with scans of five access points every 100 m. Returns the published messages.
  private func drive(
    _ plan: BeaconMemory.Plan, _ settings: [String] = [], seconds: Int, optedOut: [Beacon] = []
  )
    throws -> [VehicleMessage]
  {
    let configuration = try AgentConfiguration(
      settings: [
        "vehicle.id=v", "location.reporting=distance", "heading.enabled=false", "attitude.enabled=false",
        "navigation.enabled=false",
      ] + settings)
    var settings = configuration.pipeline
    settings.coarse.radios = [.wifi]
    var pipeline = AgentPipeline(
      configuration: settings, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1",
      beaconMap: plan.store)
    var memory = BeaconMemory(plan)
    var told: [VehicleMessage] = []
    for second in 1...seconds {
      let (time, east) = (Double(second), 10 * Double(second))
      var fix = PositionFix(
        timestamp: Timestamp(seconds: time), time: Self.start.advanced(bySeconds: time),
        mode: .threeDimensional, coordinate: Self.frame.coordinate(at: SIMD2(east, 0)))
      (fix.speed, fix.course, fix.horizontalDilution) = (10, 90, 1)
      pipeline.process(.position([fix])) { _ in }
      if second.isMultiple(of: 10) {
        let sightings = try (0..<5).map {
          BeaconSighting(beacon: try Self.beacon(second / 10 * 5 + $0), signal: -70)
        }
        var scan = RadioScan(timestamp: Timestamp(seconds: time + 0.5), sightings: sightings, kind: .wifi)
        if second > 20 { scan.optedOut = optedOut }
        pipeline.process(.radio([scan])) { _ in }
      }
      told += memory.process(&pipeline, at: Timestamp(seconds: time + 0.5))
    }
    return told + memory.close(pipeline)
  }

  private func scans(_ messages: [VehicleMessage]) -> [ScanMessage.Scan] {
    messages.flatMap { message -> [ScanMessage.Scan] in
      if case .scan(let message) = message { message.scans } else { [] }
    }
  }

  @Test func learnedBeaconsAreMappedAndNotShared() throws {
    let told = try drive(.init(store: store(), log: log), seconds: 300)
    #expect(told.isEmpty)
    let found = store().lookUp(try (5..<155).map(Self.beacon))
    #expect(found.count == 150)
    for number in [5, 80, 154] {
      let place = try #require(found.first { $0.beacon == (try? Self.beacon(number)) }).coordinate
      #expect(place.distance(to: Self.frame.coordinate(at: SIMD2(100 * Double(number / 5), 0))) < 10)
    }
  }

  @Test func sharedBeaconsEqualLearnedOnes() throws {
    var plan = BeaconMemory.Plan(store: store(), log: log)
    (plan.learns, plan.shares) = (false, true)
    let told = try drive(plan, ["beacons.learn=false", "beacons.share=true"], seconds: 300)
    let scans = scans(told)
    #expect(scans.count == 30 && told.count == 4)
    for (index, scan) in scans.enumerated() {
      let truth = Self.frame.coordinate(at: SIMD2(100 * Double(index + 1), 0))
      #expect(scan.coordinate.distance(to: truth) < 10 && scan.sightings.count == 5)
    }
    #expect(!FileManager.default.fileExists(atPath: directory.file("beacons.sqlite")))
  }

  /// Networks that opt out after they were learned are removed from the map and from pending messages.
  @Test func beaconsThatOptOutAreNoLongerLearnedOrShared() throws {
    var plan = BeaconMemory.Plan(store: store(), log: log)
    plan.shares = true
    let gone = Set(try [5, 6, 7].map(Self.beacon))
    let told = try drive(plan, ["beacons.share=true"], seconds: 40, optedOut: gone.sorted())
    let beacons = Set(scans(told).flatMap { $0.sightings.map(\.beacon) })
    #expect(beacons.isDisjoint(with: gone) && beacons.count == 17)
    #expect(Set(store().lookUp(try (5..<25).map(Self.beacon)).map(\.beacon)) == beacons)
  }

  /// Neither the map nor published scans contain beacons of a privacy zone.
  @Test func beaconsInPrivacyZonesAreNeitherLearnedNorShared() throws {
    var plan = BeaconMemory.Plan(store: store(), log: log)
    plan.shares = true
    let told = try drive(
      plan, ["beacons.share=true", "privacy.zones=48 11 1500"], seconds: 300)
    let scans = scans(told)
    let home = Coordinate(latitude: 48, longitude: 11)
    #expect(!scans.isEmpty && scans.allSatisfy { $0.coordinate.distance(to: home) > 1490 })
    #expect(store().lookUp(try (5..<75).map(Self.beacon)).isEmpty)
    #expect(!store().lookUp(try (80..<155).map(Self.beacon)).isEmpty)
  }

  @Test func learningFollowsItsSettings() throws {
    func isLearning(_ settings: String...) throws -> Bool {
      try AgentConfiguration(settings: ["vehicle.id=v"] + settings).pipeline.coarse.isLearning
    }
    #expect(try isLearning())
    #expect(try !isLearning("beacons.learn=false"))
    #expect(try isLearning("beacons.learn=false", "beacons.share=true"))
  }

  /// `check` lists the beacon data that leaves the vehicle, or warns that no radio is configured. Only
  /// configured radios are used.
  @Test(
    arguments: [
      ([], [], nil), (["radio.wifi=wlan0"], [.wifi], "no addresses and cell numbers"),
      (["radio.modem=true", "beacons.share=true"], [.cellular], "scan (beacons.share)"),
      (["beacons.receive=true"], [], "no radio is configured"),
      (
        ["radio.wifi=wlan0", "beacons.receive=true"], [.wifi],
        "leaves the vehicle: beacons/wanted (beacons.receive)"
      ),
      (
        ["radio.wifi=wlan0", "beacons.receive=true", "beacons.share=true"], [.wifi],
        "privacy zones; beacons/wanted"
      ),
      (
        ["radio.wifi=wlan0", "radio.modem=true", "input.mode=simulation"], [], "no addresses and cell numbers"
      ),
    ] as [([String], Set<SensorKind>, String?)])
  func checkListsPublishedBeaconData(settings: [String], radios: Set<SensorKind>, text: String?) throws {
    let configuration = try AgentConfiguration(settings: ["vehicle.id=v"] + settings)
    #expect(configuration.pipeline.coarse.radios == radios)
    let findings = configuration.beacons.findings(hasRadio: !configuration.radio.isEmpty)
    #expect(findings.count == (text == nil ? 0 : 1))
    #expect(text.map { findings.first?.message.contains($0) == true } ?? true, "\(findings)")
  }
}
