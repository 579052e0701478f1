import LocalProtocols
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing
import VehicleData

/// The requests and reports of Swift clients: the agent's session against the client's reader.
@Suite struct AgentProtocolTests {
  private static let start = UTCTime(nanoseconds: 1_795_780_799_000_000_000)
  private static let exact = AgentOffer(access: .exact, sensors: [.accelerometer, .gyroscope, .barometer])

  private var session = GPSDSession(GPSDSession.Configuration(release: "1.0"))
  private var reader = AgentReader()

  init() throws {
    #expect(session.update(Self.exact).isEmpty)
    #expect(try reader.receive(session.greet(), at: Timestamp(nanoseconds: 0)).isEmpty)
  }

  private mutating func reports(_ bytes: [UInt8], at now: Timestamp = Timestamp(nanoseconds: 0)) throws
    -> [AgentReader.Report]
  {
    try reader.receive(bytes, at: now)
  }

  @Test mutating func positionsArriveWithTheirAccuraciesTimesAndOrigin() throws {
    var generator = SeededGenerator.announced()
    #expect(
      try reports(session.receive(AgentRequest(interval: 1).bytes)) == [.offer(Self.exact)])
    for index in 0..<500 {
      let sent = LocalReport.random(at: Self.start.advanced(bySeconds: Double(index)), using: &generator)
      let bytes = session.send(sent)
      // The bytes arrive in two parts.
      let cut = Int.random(in: 0...bytes.count, using: &generator)
      let now = Timestamp(nanoseconds: 0)
      let received =
        try reader.receive(bytes[..<cut], at: now) + reader.receive(bytes[cut...], at: now)
      guard case .event(.position(let fixes))? = received.first, received.count == 1,
        let fix = fixes.first, let location = sent.location
      else {
        Issue.record("\(received)")
        return
      }
      #expect(fix.timestamp == location.timestamp && fix.time == sent.time)
      #expect(fix.positionSource == location.positionSource ?? .gnss)
      let coordinate = try #require(fix.coordinate)
      #expect(coordinate.distance(to: location.coordinate) < 0.001)
      for (read, written) in [
        (fix.horizontalError, location.horizontalAccuracy), (fix.verticalError, location.verticalAccuracy),
        (fix.speedError, location.speedAccuracy), (fix.courseError, location.courseAccuracy),
        (fix.altitudeMeanSeaLevel, location.altitude), (fix.speed, location.speed),
      ] {
        #expect((read == nil) == (written == nil))
        if let read, let written { #expect(abs(read - written) < 0.001) }
      }
    }
    // A report without a position.
    #expect(
      try reports(session.send(LocalReport(time: Self.start))).contains {
        if case .event(.position(let fixes)) = $0 {
          fixes[0].mode == .noFix && fixes[0].coordinate == nil
        } else {
          false
        }
      })
  }

  @Test mutating func samplesArriveUnchanged() throws {
    var generator = SeededGenerator.announced()
    func vector(_ range: ClosedRange<Double>) -> Vector3? {
      func axis() -> Double { (Double.random(in: range, using: &generator) * 1e4).rounded() / 1e4 }
      return Bool.random(using: &generator) ? Vector3(axis(), axis(), axis()) : nil
    }
    for count in [1, 50, 100, 101, 350] {
      let scans = (0..<count).map { index in
        InertialScan(
          timestamp: Timestamp(nanoseconds: 5_000_000_000_000 + 10_000_000 * Int64(index)),
          specificForce: vector(-160...160) ?? Vector3(0, 0, 9.81), rotationRate: vector(-35...35),
          magneticField: vector(-500...500), temperature: Bool.random(using: &generator) ? 21.25 : nil)
      }
      let lines = SampleLines.encode(.inertial(scans))
      #expect(lines.allSatisfy { $0.count < 16_384 })
      let received = try lines.flatMap { try reports($0) }
      var read: [InertialScan] = []
      for case .event(.inertial(let block)) in received { read += block }
      #expect(read == scans)
    }
    let pressures = [PressureData(timestamp: Timestamp(nanoseconds: 1), pressure: 101_325.125)]
    let lines = SampleLines.encode(.barometer(pressures))
    #expect(try lines.flatMap { try reports($0) } == [.event(.barometer(pressures))])
    #expect(SampleLines.encode(.position([])).isEmpty && SampleLines.encode(.inertial([])).isEmpty)
  }

  /// The union of the members is what the session requires of the agent.
  @Test mutating func requestsSetTheDemand() throws {
    #expect(!session.isWatching && session.needs == nil && session.samples.isEmpty)
    let samples: [SensorKind: SensorDemand] = [
      .accelerometer: .rate(hertz: 50, latency: .seconds(0.2)),
      .barometer: .rate(hertz: 1, latency: .seconds(0.5)),
    ]
    let request = AgentRequest(interval: 0.5, samples: samples)
    #expect(
      String(decoding: request.bytes, as: UTF8.self)
        == "?ODOGRAPH={\"positioning\":2,\"accelerometer\":50,\"barometer\":1,\"latency\":0.2};\n")
    _ = session.receive(request.bytes)
    #expect(session.isWatching && session.needs == LocalNeeds(interval: 0.5, attitude: false))
    #expect(session.samples[.accelerometer] == .rate(hertz: 50, latency: .seconds(0.2)))
    #expect(session.samples[.barometer] == .rate(hertz: 1, latency: .seconds(0.2)))
    // Without exact access there are no samples.
    _ = session.update(AgentOffer(access: .reduced, sensors: [.accelerometer]))
    #expect(session.isWatching && session.samples.isEmpty)
    _ = session.receive(AgentRequest().bytes)
    #expect(!session.isWatching && session.needs == nil && session.send(LocalReport(time: nil)).isEmpty)
  }

  @Test mutating func clientsAreNotifiedOfChanges() throws {
    let reduced = AgentOffer(access: .reduced, isLocationEnabled: false, sensors: [.accelerometer])
    #expect(reduced.sensors.isEmpty)
    // Other clients receive no notice.
    #expect(session.update(reduced).isEmpty)
    #expect(try reports(session.receive(AgentRequest().bytes)) == [.offer(reduced)])
    #expect(session.receive(AgentRequest(interval: 1).bytes).isEmpty)
    #expect(session.update(reduced).isEmpty)
    #expect(try reports(session.update(Self.exact)) == [.offer(Self.exact)])
  }

  @Test mutating func clientsOfGPSDReceiveNoExtension() throws {
    var generator = SeededGenerator.announced()
    _ = session.receive(#"?WATCH={"enable":true,"json":true};"#.utf8)
    let report = LocalReport.random(at: Self.start, using: &generator)
    let text = String(decoding: session.send(report), as: UTF8.self)
    #expect(text.contains("\"TPV\"") && !text.contains("clock") && !text.contains("source"))
  }

  @Test(arguments: ["0", "-1", "\"fast\"", "null", "[]", "true"])
  mutating func invalidRequestsAreRefused(value: String) throws {
    _ = session.receive(AgentRequest(interval: 1).bytes)
    for member in ["positioning", "accelerometer", "latency"] {
      let answer = String(
        decoding: session.receive("?ODOGRAPH={\"\(member)\":\(value)};".utf8), as: UTF8.self)
      #expect(answer.contains("Invalid ODOGRAPH: invalid value of \(member)"), "\(answer)")
    }
    #expect(String(decoding: session.receive("?ODOGRAPH;\n".utf8), as: UTF8.self).contains("ERROR"))
    #expect(session.needs?.interval == 1)
  }

  @Test mutating func otherServersAreRecognized() throws {
    var other = reader
    #expect(throws: AgentReader.Failure.self) {
      try other.receive("220 mail.example\r\n".utf8, at: .init(nanoseconds: 0))
    }
    other = reader
    let old = #"{"class":"ERROR","message":"Unrecognized request '?ODOGRAPH={}'"}"# + "\n"
    let failure = #expect(throws: AgentReader.Failure.self) {
      try other.receive(old.utf8, at: .init(nanoseconds: 0))
    }
    #expect(failure?.reason.contains("gpsd") == true)
    other = reader
    let full = #"{"class":"ERROR","message":"too many connections (gpsd_server.clients = 8)"}"# + "\n"
    #expect(
      #expect(throws: AgentReader.Failure.self) { try other.receive(full.utf8, at: .init(nanoseconds: 0)) }?
        .reason.contains("too many connections") == true)
  }

  /// Damaged lines are ignored or end the connection.
  @Test mutating func damagedReportsDoNotTrap() throws {
    var generator = SeededGenerator.announced()
    _ = session.receive(AgentRequest(interval: 1).bytes)
    for _ in 0..<2000 {
      var bytes = session.send(.random(at: Self.start, isExtreme: true, using: &generator))
      bytes += SampleLines.encode(
        .inertial([InertialScan(timestamp: .init(nanoseconds: 1), specificForce: .zero)])
      )
      .flatMap { $0 }
      for _ in 0..<Int.random(in: 0...4, using: &generator) {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
      }
      var fresh = AgentReader()
      guard let received = try? fresh.receive(bytes, at: Timestamp(nanoseconds: 0)) else { continue }
      for case .event(.position(let fixes)) in received {
        #expect(fixes.allSatisfy { $0.coordinate?.isValid ?? true && $0.horizontalError?.isFinite ?? true })
      }
    }
    var long = AgentReader()
    #expect(
      try long.receive(repeatElement(UInt8(ascii: "x"), count: 200_000), at: .init(nanoseconds: 0)).isEmpty)
    #expect(try long.receive("\n{}\n".utf8, at: .init(nanoseconds: 0)).isEmpty)
  }

  @Test func regionEventsAreParsed() throws {
    let line =
      #"{"time":"2026-11-27T12:00:00.000Z","event":"enter","region":"depot","latitude":48.5,"longitude":11.25,"#
      + #""horizontalAccuracy":4.5,"confidence":0.97,"late":true}"#
    let event = try #require(RegionLine(line.utf8))
    #expect(event.kind == .enter && event.identifier == "depot" && event.isLate && event.confidence == 0.97)
    #expect(
      event.coordinate == Coordinate(latitude: 48.5, longitude: 11.25) && event.horizontalAccuracy == 4.5)
    let withheld = try #require(
      RegionLine(
        #"{"time":"2026-11-27T12:00:00Z","event":"exit","region":"a","latitude":99,"longitude":0}"#.utf8))
    #expect(withheld.coordinate == nil && !withheld.isLate && withheld.confidence == 1)
    for damaged in ["", "{}", "[1]", line.replacing("enter", with: "fly"), line.replacing("depot", with: "")]
    {
      #expect(RegionLine(damaged.utf8) == nil, "\(damaged)")
    }
  }
}
