import Platform
import SensorProxy
import TestSupport
import Testing
import VehicleData

/// The service on a bus of its own, with `monitor-sensor` of iio-sensor-proxy and `dbus-send` as clients.
@Suite struct SensorProxyTests {
  private let folder: TemporaryDirectory
  private let bus: ChildProcess
  private var address: String { "unix:path=\(folder.file("bus"))" }
  private var environment: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": address] }

  init() throws {
    folder = try TemporaryDirectory()
    let path = "unix:path=\(folder.file("bus"))"
    bus = try ChildProcess("dbus-daemon", ["--session", "--nofork", "--print-address", "--address=\(path)"])
    let bus = bus
    // The daemon prints its address when it accepts connections.
    #expect(waitUntil { bus.output.contains("unix:path") || !bus.isRunning }, "\(bus.output)")
  }

  private func service(_ demand: Locked<[SensorProxyDemand]>) throws -> SensorProxyService {
    try SensorProxyService(address: address) { new in demand.withLock { $0.append(new) } }
  }

  /// Calls a method and returns the output without indentation.
  private func call(_ path: String, _ method: String, _ arguments: String...) throws -> (
    status: Int32, text: String
  ) {
    let arguments =
      [
        "--system", "--print-reply", "--type=method_call", "--dest=\(SensorProxyService.name)", path, method,
      ] + arguments
    let child = try ChildProcess("dbus-send", arguments, environment: environment)
    return (child.waitForExit(), child.output)
  }

  private static let path = "/net/hadess/SensorProxy"

  @Test func monitorSensorPrintsOrientations() throws {
    let demand = Locked<[SensorProxyDemand]>([])
    let service = try service(demand)
    defer { service.stop() }
    service.update(SensorProxyState(hasAccelerometer: true, orientation: .portrait))
    let monitor = try ChildProcess("stdbuf", ["-oL", "monitor-sensor"], environment: environment)
    #expect(
      waitUntil { monitor.output.contains("=== Has accelerometer (orientation: normal)") },
      "\(monitor.output)")
    #expect(waitUntil { demand.withLock { $0.last?.accelerometer == 1 } })
    for (orientation, text) in [
      (DeviceOrientation.landscapeLeft, "right-up"), (.landscapeRight, "left-up"),
      (.portraitUpsideDown, "bottom-up"),
    ] {
      service.update(SensorProxyState(hasAccelerometer: true, orientation: orientation))
      #expect(waitUntil { monitor.output.contains("orientation changed: \(text)") }, "\(monitor.output)")
    }
    // Flat, the last orientation remains.
    service.update(SensorProxyState(hasAccelerometer: true, orientation: .faceUp))
    service.update(SensorProxyState(hasAccelerometer: false))
    #expect(waitUntil { monitor.output.contains("Accelerometer disappeared") }, "\(monitor.output)")
    // A client that vanishes releases its claims.
    monitor.kill()
    #expect(waitUntil { demand.withLock { $0.last == SensorProxyDemand() } }, "\(demand.withLock { $0 })")
  }

  @Test func claimsOfAClientThatExitsAreReleased() throws {
    let demand = Locked<[SensorProxyDemand]>([])
    let service = try service(demand)
    defer { service.stop() }
    let reply = try call(Self.path + "/Compass", "net.hadess.SensorProxy.Compass.ClaimCompass")
    #expect(reply.status == 0, "\(reply.text)")
    let expected = [SensorProxyDemand(compass: 1), SensorProxyDemand()]
    #expect(waitUntil { demand.withLock { $0 == expected } }, "\(demand.withLock { $0 })")
  }

  @Test func answersPropertiesAndRefusesOthers() throws {
    let service = try service(Locked([]))
    defer { service.stop() }
    service.update(
      SensorProxyState(hasAccelerometer: true, hasCompass: true, orientation: .landscapeRight, heading: 12.5))
    let get = "org.freedesktop.DBus.Properties.Get"
    let sensors = "string:net.hadess.SensorProxy"
    let compass = "string:net.hadess.SensorProxy.Compass"
    #expect(
      waitUntil {
        (try? call(Self.path, get, sensors, "string:HasAccelerometer").text.contains("boolean true")) == true
      })
    for (path, interface, name, value) in [
      ("", sensors, "AccelerometerOrientation", "string \"left-up\""),
      ("", sensors, "HasAmbientLight", "boolean false"),
      ("", sensors, "HasProximity", "boolean false"), ("/Compass", compass, "HasCompass", "boolean true"),
      ("/Compass", compass, "CompassHeading", "double 12.5"),
    ] {
      let reply = try call(Self.path + path, get, interface, "string:\(name)")
      #expect(reply.status == 0 && reply.text.contains("variant       \(value)"), "\(reply.text)")
    }
    let all = try call(Self.path, "org.freedesktop.DBus.Properties.GetAll", sensors)
    #expect(all.status == 0 && all.text.split(separator: "dict entry").count == 8, "\(all.text)")
    let described = try call("/", "org.freedesktop.DBus.Introspectable.Introspect")
    #expect(described.text.contains("<node name=\"net\"/>"), "\(described.text)")
    let own = try call(Self.path, "org.freedesktop.DBus.Introspectable.Introspect")
    #expect(own.text.contains("<method name=\"ClaimAccelerometer\"/>") && own.text.contains("\"Compass\""))
    for (path, method, arguments) in [
      (Self.path, get, [sensors, "string:Secret"]), (Self.path, get, [compass, "string:HasCompass"]),
      (Self.path, get, ["int32:1"]), (Self.path, "org.freedesktop.DBus.Properties.GetAll", []),
      (Self.path, "net.hadess.SensorProxy.ClaimEverything", []),
      ("/other", get, [sensors, "string:HasCompass"]),
      (
        Self.path, "org.freedesktop.DBus.Properties.Set",
        [sensors, "string:HasCompass", "variant:boolean:true"]
      ),
    ] {
      let all = ["--system", "--print-reply", "--dest=\(SensorProxyService.name)", path, method] + arguments
      let child = try ChildProcess("dbus-send", all, environment: environment)
      #expect(child.waitForExit() == 1 && child.output.contains("Error"), "\(method) \(child.output)")
    }
  }

  @Test func aSecondServiceIsRefused() throws {
    let service = try service(Locked([]))
    defer { service.stop() }
    let error = #expect(throws: SensorProxyError.self) { try self.service(Locked([])) }
    #expect(
      error?.description
        == "request the name net.hadess.SensorProxy: another program has this name; stop iio-sensor-proxy")
    let missing = #expect(throws: SensorProxyError.self) {
      try SensorProxyService(address: "unix:path=/nonexistent") { _ in }
    }
    #expect(missing?.description == "connect to unix:path=/nonexistent: no bus is running")
  }

  @Test func theServiceEndsWithTheBus() throws {
    let demand = Locked<[SensorProxyDemand]>([])
    let service = try service(demand)
    let monitor = try ChildProcess("monitor-sensor", environment: environment)
    #expect(waitUntil { demand.withLock { $0.last?.accelerometer == 1 } }, "\(monitor.output)")
    bus.kill()
    #expect(waitUntil { demand.withLock { $0.last == SensorProxyDemand() } })
    service.stop()
  }
}
