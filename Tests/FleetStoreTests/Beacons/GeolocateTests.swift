import Fleet
import JSON
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing
import VehicleData

@testable import FleetStore

/// A scan in a town, as in messages of vehicles.
enum GeolocateScene {
  static let day = 20_780
  static let town = Coordinate(latitude: 48.137431, longitude: 11.575490)

  static func beacons(_ points: Range<UInt64>, _ cells: Range<UInt64> = 0..<0) -> [Beacon] {
    points.compactMap { Beacon(accessPoint: 0x0012_3400_0000 + $0) }
      + cells.compactMap { Beacon(.lte, country: 262, network: 1, cell: $0) }
  }

  static func scan(_ beacons: [Beacon], at place: Coordinate = town) throws -> ScanMessage.Scan {
    try #require(
      ScanMessage.Scan(
        time: UTCTime(nanoseconds: Int64(day) * 86_400_000_000_000),
        coordinate: PrivacyPolicy.unrestricted(place), accuracy: 5,
        sightings: beacons.map { BeaconSighting(beacon: $0, signal: -70) }))
  }

  static func question(
    _ beacons: [Beacon], at place: Coordinate = town, told: (Beacon) -> Bool = { _ in true },
    unknown: (Beacon) -> Bool = { _ in true }
  ) throws -> GeolocateQuestion? {
    GeolocateQuestion(try scan(beacons, at: place), isTold: told, isUnknown: unknown)
  }

  static func entry(_ beacon: Beacon, at place: Coordinate = town) -> FleetBeacon {
    FleetBeacon(
      place: MappedBeacon(beacon: beacon, coordinate: place, reach: 60, sightings: 9, lastSeen: day),
      vehicles: 3)
  }

  static func moved(_ metres: Double) -> Coordinate {
    Coordinate(latitude: town.latitude + metres / 111_195, longitude: town.longitude)
  }
}

/// Contents and addresses of requests.
@Suite struct GeolocateQuestionTests {
  @Test func requestsNeedTwoAccessPointsOrACellAndContainNothingElse() throws {
    let points = GeolocateScene.beacons(0..<3)
    #expect(try GeolocateScene.question(Array(points.prefix(1))) == nil)
    #expect(try GeolocateScene.question(points, unknown: { _ in false }) == nil)
    // Only one access point may be sent, as the others move.
    #expect(try GeolocateScene.question(points, told: { $0 == points[0] }) == nil)
    let cells = GeolocateScene.beacons(0..<1, 7..<8)
    let question = try #require(try GeolocateScene.question(cells))
    #expect(question.sightings.map(\.beacon.technology) == [.lte] && question.unknown.count == 1)
    let gsm = try #require(Beacon(.gsm, country: 310, network: 26, area: 513, cell: 77))
    let all = try #require(
      try GeolocateScene.question(Array(points.prefix(2)) + [gsm] + cells.suffix(1)))
    #expect(
      String(decoding: all.body, as: UTF8.self)
        == #"{"considerIp":false,"fallbacks":{"ipf":false},"wifiAccessPoints":["#
        + #"{"macAddress":"00:12:34:00:00:00","signalStrength":-70},"#
        + #"{"macAddress":"00:12:34:00:00:01","signalStrength":-70}],"cellTowers":["#
        + #"{"radioType":"gsm","mobileCountryCode":310,"mobileNetworkCode":26,"locationAreaCode":513,"#
        + #""cellId":77,"signalStrength":-70},"#
        + #"{"radioType":"lte","mobileCountryCode":262,"mobileNetworkCode":1,"cellId":7,"signalStrength":-70}]}"#
    )
    #expect(
      try GeolocateScene.question(points, at: GeolocateScene.moved(50))?.key
        == GeolocateScene.question(points)?.key)
    #expect(all.key != question.key)
  }

  @Test func onlyHTTPSAndLocalAddressesAreAccepted() throws {
    let directory = try TemporaryDirectory()
    let key = try directory.write("key", "a+secret/key\nmore\n")
    let address = try GeolocateAddress("https://API.example:8443/v1/geolocate", keyFile: key)
    #expect(address.host == "api.example:8443" && address.url == "https://API.example:8443/v1/geolocate")
    #expect(address.request == "https://API.example:8443/v1/geolocate?key=a%2Bsecret%2Fkey")
    for good in ["http://localhost:1/v1/geolocate", "http://127.9.0.1/g", "http://[::1]:80/g", "https://a/b"]
    {
      #expect(try GeolocateAddress(good, keyFile: nil).request == good)
    }
    for (bad, reason) in [
      ("api.example/v1/geolocate", "https://"), ("http://api.example/v1/geolocate", "use https"),
      ("http://127.0.0.1.example/g", "use https"), ("http://[::1].example/g", "no host"),
      ("ftp://a/b", "use https"), ("https://a", "no path"), ("https://a/", "no path"),
      ("https:///b", "no host"),
      ("https://a/b?key=hidden", "--geolocate-key"), ("https://u:hidden@a/b", "--geolocate-key"),
      ("https://a b/c", "character"), ("https://a;b/c", "host name"),
    ] {
      do {
        _ = try GeolocateAddress(bad, keyFile: nil)
        Issue.record("\(bad) was accepted")
      } catch {
        #expect(error.description.contains(reason) && !error.description.contains("hidden"), "\(error)")
        #expect(error.kind == .invalidInput)
      }
    }
    for text in ["", "two words\n", "\u{1}\n"] {
      let file = try directory.write("wrong", text)
      #expect(throws: FleetError.self) { try GeolocateAddress("https://a/b", keyFile: file) }
    }
    #expect(throws: FleetError.self) { try GeolocateAddress("https://a/b", keyFile: directory.file("none")) }
  }
}

/// Times of requests.
@Suite struct GeolocatePaceTests {
  private let here = GeolocateOutcome.answered(.init(coordinate: GeolocateScene.town, accuracy: 40))

  @Test func requestsAreLimitedPerSecondAndDay() {
    var pace = GeolocatePace(.init(daily: 4), asked: 2)
    #expect(pace.step(at: 100) == .ask)
    pace.observe(here, at: 100)
    #expect(pace.step(at: 100.25) == .wait(0.75) && pace.step(at: 101) == .ask)
    pace.observe(.unknown, at: 101)
    guard case .stop(let reason) = pace.step(at: 200) else { return #expect(Bool(false)) }
    #expect(reason.contains("4 queries a day") && pace.ended == nil)
  }

  @Test func aBusyServiceIsRetriedLaterAndThenAbandoned() {
    var pace = GeolocatePace(.init(), asked: 0)
    for (turn, wait) in [2.0, 4, 8, 16].enumerated() {
      pace.observe(.busy("busy", after: nil), at: 0)
      #expect(pace.step(at: 0) == .wait(wait), "\(turn)")
    }
    pace.observe(.busy("busy", after: nil), at: 0)
    #expect(pace.step(at: 1e6) == .stop("busy, 5 times in succession"))

    pace = GeolocatePace(.init(), asked: 0)
    pace.observe(.busy("busy", after: 30), at: 0)
    #expect(pace.step(at: 0) == .wait(30))
    pace.observe(here, at: 30)
    pace.observe(.busy("busy", after: nil), at: 40)
    #expect(pace.step(at: 40) == .wait(2))
    pace.observe(.busy("busy", after: 1e300), at: 50)
    guard case .stop = pace.step(at: 1e301) else { return #expect(Bool(false)) }
  }

  @Test func aServiceThatFailsOrContradictsIsAbandoned() {
    var pace = GeolocatePace(.init(), asked: 0)
    for outcome in [.failed("no"), .failed("no"), here, .failed("no"), .failed("no")] {
      pace.observe(outcome, at: 0)
      #expect(pace.ended == nil)
    }
    pace.observe(.failed("no"), at: 0)
    #expect(pace.step(at: 9) == .stop("3 queries in succession failed: no"))
    pace = GeolocatePace(.init(), asked: 0)
    pace.observe(.refused("a key"), at: 0)
    #expect(pace.step(at: 9) == .stop("a key") && !pace.isDistrusted)
    pace = GeolocatePace(.init(), asked: 0)
    for _ in 0..<4 { pace.contradict() }
    #expect(pace.ended == nil && !pace.isDistrusted)
    pace.contradict()
    #expect(pace.isDistrusted && pace.ended?.contains("contradict") == true)
    // A few contradictions among many agreements are routers of households that moved.
    pace = GeolocatePace(.init(), asked: 0)
    for _ in 0..<90 { pace.agree() }
    for _ in 0..<10 { pace.contradict() }
    #expect(!pace.isDistrusted && pace.ended == nil)
    pace.contradict()
    #expect(pace.isDistrusted)
  }
}

/// Checks of the answers.
@Suite struct GeolocateEvidenceTests {
  private typealias Scene = GeolocateScene

  private func judge(
    _ metres: Double, accuracy: Double, map: [FleetBeacon] = [], _ beacons: [Beacon] = Scene.beacons(0..<3)
  ) throws -> GeolocateEvidence.Judgement {
    let evidence = GeolocateEvidence(map)
    let question = try #require(try Scene.question(beacons, unknown: { !evidence.isKnown($0) }))
    return evidence.judge(.init(coordinate: Scene.moved(metres), accuracy: accuracy), of: question)
  }

  @Test func anAnswerNearTheFixGivesEntriesOfLowestWeight() throws {
    guard case .taken(let entries) = try judge(60, accuracy: 40) else { return #expect(Bool(false)) }
    #expect(entries.map(\.beacon) == Scene.beacons(0..<3))
    for entry in entries {
      #expect(entry.sightings == 1 && entry.lastSeen == Scene.day && entry.coordinate == Scene.moved(60))
      #expect((65...66).contains(entry.reach), "60 m and 40 m at 68 %")
    }
    // A stated accuracy of 0 m is not accepted as the reach.
    guard case .taken(let exact) = try judge(0, accuracy: 0) else { return #expect(Bool(false)) }
    #expect(exact.allSatisfy { $0.reach > 60 })
    guard case .taken(let cells) = try judge(900, accuracy: 2000, Scene.beacons(0..<3, 0..<2)) else {
      return #expect(Bool(false))
    }
    #expect(cells.map(\.beacon) == Scene.beacons(0..<0, 0..<2), "2 km are too rough for access points")
  }

  @Test func answersThatContradictTheFixOrTheMapAreRefused() throws {
    for (metres, accuracy) in [(500.0, 1.0), (2000, 500), (10_000_000, 1), (10_000_000, 4_000_000), (600, 0)]
    {
      guard case .contradicted = try judge(metres, accuracy: accuracy) else {
        return #expect(Bool(false), "\(metres) m at \(accuracy) m")
      }
    }
    #expect(try judge(10, accuracy: 300_000) == .rough)
    #expect(try judge(10_000_000, accuracy: 20_000_000) == .rough)
    // The beacon was heard at the vehicle, not 450 m away.
    #expect(try judge(450, accuracy: 400) == .rough)
    // Most mapped beacons of the scan are elsewhere: the vehicle is not trusted, and no request is sent.
    let far = Scene.moved(3000)
    let map = Scene.beacons(0..<2).map { Scene.entry($0, at: far) }
    let evidence = GeolocateEvidence(map)
    let question = try #require(try Scene.question(Scene.beacons(0..<3), unknown: { !evidence.isKnown($0) }))
    #expect(!evidence.agrees(with: question) && question.unknown == Set(Scene.beacons(2..<3)))
    guard case .contradicted = try judge(0, accuracy: 40, map: map) else { return #expect(Bool(false)) }
    let near = GeolocateEvidence(Scene.beacons(0..<2).map { Scene.entry($0) })
    #expect(near.agrees(with: question))
  }
}
