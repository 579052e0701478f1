import AgentCore
import LocalProtocols
import Pipeline
import Platform
import Sensors
import Spatial
import TestSupport
import Testing

/// Swift clients of the server for programs on the same machine, over real sockets.
@Suite struct AgentClientServerTests {
  private static let samples: [SensorKind: SensorDemand] = [
    .accelerometer: .rate(hertz: 50, latency: .seconds(0.25))
  ]

  /// A server with one socket of the gpsd service.
  private final class Fixture: Sendable {
    let directory: TemporaryDirectory
    let server: LocalServer
    let demands = Locked<[LocalDemand]>([])

    init(_ settings: String...) throws {
      directory = try TemporaryDirectory()
      let layer = try ConfigurationLayer(
        assignments: ["vehicle.id=v", "gpsd_server.socket=\(directory.file("gpsd.socket"))"] + settings)
      let configuration = try AgentConfiguration(layers: [layer], file: nil)
      server = try LocalServer()
      try server.start(try configuration.local.map { try LocalListeners($0, version: "1.2.3") }) {
        [demands] demand in
        demands.withLock { $0.append(demand) }
      }
      server.publish(LocalSources(sensors: [.accelerometer, .gyroscope]))
    }

    deinit { server.stop() }

    var demand: LocalDemand { demands.withLock { $0.last ?? LocalDemand() } }

    func connect() throws -> LocalClient { try LocalClient(directory.file("gpsd.socket")) }

    func publish(_ count: Int) {
      let scans = (0..<count).map {
        InertialScan(
          timestamp: Timestamp(nanoseconds: Int64($0 + 1) * 10_000_000), specificForce: Vector3(0, 0, 9.8))
      }
      server.publish(.inertial(scans))
    }
  }

  @Test func clientsReceiveTheOfferAndRequestedSamples() throws {
    let fixture = try Fixture()
    let (client, other) = (try fixture.connect(), try fixture.connect())
    client.write(AgentRequest(samples: Self.samples).bytes)
    other.write(Array("?WATCH={\"enable\":true,\"json\":true};\n".utf8))
    let offer = client.readLines { $0.contains("\"ODOGRAPH\"") }.last ?? ""
    #expect(
      offer.contains(#""access":"exact","location":true,"sensors":["accelerometer","gyroscope"]"#), "\(offer)"
    )
    #expect(waitUntil { fixture.demand.samples == Self.samples && !fixture.demand.accesses.isEmpty })
    fixture.publish(3)
    let line = client.readLines { $0.contains("SCANS") }.last ?? ""
    #expect(line.contains("[10000000,0,0,9.8,null,"), "\(line)")
    // The client did not request pressure samples.
    fixture.server.publish(.barometer([PressureData(timestamp: Timestamp(nanoseconds: 1), pressure: 1e5)]))
    fixture.server.publish(LocalSources(sensors: [], isLocationEnabled: false))
    let next = client.readLines { $0.contains("\"ODOGRAPH\"") }
    #expect(next.count == 1 && next[0].contains(#""location":false,"sensors":[]"#), "\(next)")
    // The client of the gpsd protocol has received neither message.
    other.write(Array("?VERSION;\n".utf8))
    var greetings = 0
    let lines = other.readLines {
      greetings += $0.contains("VERSION") ? 1 : 0
      return greetings == 2
    }
    #expect(!lines.contains { $0.contains("ODOGRAPH") || $0.contains("SCANS") }, "\(lines)")
  }

  @Test func demandIsTheUnionAndEndsWithTheConnections() throws {
    let fixture = try Fixture()
    var first: LocalClient? = try fixture.connect()
    let second = try fixture.connect()
    first?.write(AgentRequest(interval: 0.5, samples: Self.samples).bytes)
    second.write(
      AgentRequest(
        interval: 2,
        samples: [
          .accelerometer: .rate(hertz: 10, latency: .seconds(0.1)),
          .gyroscope: .rate(hertz: 5, latency: .seconds(0.1)),
        ]
      ).bytes)
    #expect(
      waitUntil {
        fixture.demand.samples == [
          .accelerometer: .rate(hertz: 50, latency: .seconds(0.1)),
          .gyroscope: .rate(hertz: 5, latency: .seconds(0.1)),
        ]
      }, "\(fixture.demand)")
    #expect(fixture.demand.accesses == [LocalAccess(.exact)])
    first = nil
    #expect(waitUntil { fixture.demand.samples[.accelerometer] == .rate(hertz: 10, latency: .seconds(0.1)) })
    second.write(AgentRequest().bytes)
    #expect(waitUntil { fixture.demand.samples.isEmpty && fixture.demand.accesses.isEmpty })
    _ = first
  }

  /// Without exact access, there are no samples and no demand for them.
  @Test(arguments: ["reduced", "none"]) func accessLimitsTheOffer(accuracy: String) throws {
    let fixture = try Fixture("gpsd_server.accuracy=\(accuracy)")
    let client = try fixture.connect()
    client.write(AgentRequest(interval: 1, samples: Self.samples).bytes)
    let lines = client.readLines { $0.contains("\"ODOGRAPH\"") }
    #expect(
      lines.last?.contains(#""access":"\#(accuracy)","location":true,"sensors":[]"#) == true, "\(lines)")
    if accuracy == "reduced" { #expect(waitUntil { !fixture.demand.accesses.isEmpty }) }
    #expect(fixture.demand.samples.isEmpty)
    fixture.publish(3)
    client.write(Array("?VERSION;\n".utf8))
    let rest = client.readLines { $0.contains("VERSION") }
    #expect(!rest.contains { $0.contains("SCANS") }, "\(rest)")
  }

  /// With a long latency, blocks are large. None is lost.
  @Test(arguments: [(200.0, 2.0), (1000, 5)]) func wholeBlocksFit(hertz: Double, latency: Double) throws {
    let fixture = try Fixture()
    let client = try fixture.connect()
    let samples = [SensorKind.accelerometer: SensorDemand.rate(hertz: hertz, latency: .seconds(latency))]
    client.write(AgentRequest(samples: samples).bytes)
    #expect(waitUntil { fixture.demand.samples == samples })
    let count = Int(hertz * latency)
    fixture.publish(count)
    var lines = 0
    _ = client.readLines {
      lines += $0.contains("SCANS") ? 1 : 0
      return lines == count / 100
    }
    #expect(lines == count / 100 && fixture.server.reports[0].dropped == 0, "\(fixture.server.reports)")
  }

  /// A client that does not read loses whole blocks, and is disconnected.
  @Test func clientThatDoesNotReadIsDisconnected() throws {
    let fixture = try Fixture()
    let client = try fixture.connect()
    client.write(AgentRequest(samples: Self.samples).bytes)
    #expect(waitUntil { fixture.demand.samples == Self.samples })
    #expect(
      waitUntil {
        fixture.publish(100)
        return fixture.server.reports[0].disconnected == 1
      }, "\(fixture.server.reports)")
    #expect(waitUntil { fixture.demand.samples.isEmpty })
    _ = client
  }
}
