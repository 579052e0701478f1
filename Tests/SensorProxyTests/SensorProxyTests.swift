import Platform
import SensorProxy
import TestSupport
import Testing
import VehicleData

/// The service on a private D-Bus daemon, with `monitor-sensor` of iio-sensor-proxy and `dbus-send` as clients.
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
    try service { change in
      if case .demand(let new) = change { demand.withLock { $0.append(new) } }
    }
  }

  /// Starts a service, and waits until it owns its name.
  private func service(_ changed: @escaping @Sendable (SensorProxyService.Change) -> Void) throws
    -> SensorProxyService
  {
    let isConnected = Locked(false)
    let service = try SensorProxyService(address: address) { change in
      if change == .connected { isConnected.withLock { $0 = true } }
      changed(change)
    }
    service.update(SensorProxyState(hasAccelerometer: true))
    #expect(waitUntil { isConnected.withLock { $0 } })
    return service
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
    // In a flat position the last orientation remains valid.
    service.update(SensorProxyState(hasAccelerometer: true, orientation: .faceUp))
    service.update(SensorProxyState(hasAccelerometer: false))
    #expect(waitUntil { monitor.output.contains("Accelerometer disappeared") }, "\(monitor.output)")
    // The claims of a client that disappears are released.
    monitor.kill()
    #expect(waitUntil { demand.withLock { $0.last == SensorProxyDemand() } }, "\(demand.withLock { $0 })")
  }

  /// The client holds its claim until it is killed, because the service may combine a claim and its release.
  @Test func claimsOfAClientThatExitsAreReleased() throws {
    let demand = Locked<[SensorProxyDemand]>([])
    let service = try service(demand)
    defer { service.stop() }
    let claim = """
      import dbus, signal
      proxy = dbus.SystemBus().get_object("\(SensorProxyService.name)", "\(Self.path)/Compass")
      proxy.ClaimCompass(dbus_interface="net.hadess.SensorProxy.Compass")
      signal.pause()
      """
    let client = try ChildProcess("/usr/bin/python3", ["-c", claim], environment: environment)
    #expect(waitUntil { demand.withLock { $0 == [SensorProxyDemand(compass: 1)] } }, "\(client.output)")
    client.kill()
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

  /// A second service waits until the first has released the name.
  @Test func aSecondServiceWaitsForTheName() throws {
    let first = try service(Locked([]))
    let refused =
      "request the name net.hadess.SensorProxy: another program has this name; stop iio-sensor-proxy"
    let probed = #expect(throws: SensorProxyError.self) { try SensorProxyService.probe(address: address) }
    #expect(probed?.description == refused)
    let changes = Locked<[SensorProxyService.Change]>([])
    let second = try SensorProxyService(address: address) { change in changes.withLock { $0.append(change) } }
    defer { second.stop() }
    second.update(SensorProxyState(hasCompass: true))
    #expect(waitUntil { !changes.withLock(\.isEmpty) })
    first.stop()
    #expect(waitUntil { changes.withLock { $0.count >= 2 } })
    let all = changes.withLock { $0 }
    guard all.count == 2, case .disconnected(let error) = all[0] else {
      Issue.record("\(all)")
      return
    }
    #expect(error.description == refused && all[1] == .connected)
  }

  /// The name is requested only with the first sensor, so that a client that sees the name also finds sensors.
  @Test func theNameIsRequestedWithTheFirstSensor() throws {
    let changes = Locked<[SensorProxyService.Change]>([])
    let service = try SensorProxyService(address: address) { change in changes.withLock { $0.append(change) }
    }
    defer { service.stop() }
    service.update(SensorProxyState())
    // Before the client starts, since it would see the name for the moment of the probe.
    try SensorProxyService.probe(address: address)
    let monitor = try ChildProcess("stdbuf", ["-oL", "monitor-sensor"], environment: environment)
    #expect(waitUntil { monitor.output.contains("Waiting for iio-sensor-proxy to appear") })
    #expect(changes.withLock(\.isEmpty))
    service.update(SensorProxyState(hasAccelerometer: true))
    #expect(waitUntil { monitor.output.contains("=== Has accelerometer") }, "\(monitor.output)")
    monitor.kill()
  }

  @Test func aMissingBusIsReported() throws {
    let missing = #expect(throws: SensorProxyError.self) {
      try SensorProxyService.probe(address: "unix:path=/nonexistent")
    }
    #expect(missing?.description == "connect to unix:path=/nonexistent: no bus is running")
  }

  /// Claims end with the bus. The service reconnects to the next bus with its current values.
  @Test func theServiceReconnectsAfterTheBusRestarts() throws {
    let changes = Locked<[SensorProxyService.Change]>([])
    let service = try service { change in changes.withLock { $0.append(change) } }
    defer { service.stop() }
    service.update(SensorProxyState(hasAccelerometer: true, orientation: .landscapeLeft))
    let monitor = try ChildProcess("monitor-sensor", environment: environment)
    let claim = SensorProxyService.Change.demand(SensorProxyDemand(accelerometer: 1))
    #expect(waitUntil { changes.withLock { $0.contains(claim) } }, "\(monitor.output)")
    bus.kill()
    #expect(
      waitUntil {
        changes.withLock { $0.last.map { if case .disconnected = $0 { true } else { false } } == true }
      })
    #expect(changes.withLock { $0.contains(.demand(SensorProxyDemand())) })
    monitor.kill()
    let next = try ChildProcess(
      "dbus-daemon", ["--session", "--nofork", "--print-address", "--address=\(address)"])
    #expect(waitUntil { changes.withLock { $0.last == .connected } }, "\(changes.withLock { $0 })")
    let again = try ChildProcess("stdbuf", ["-oL", "monitor-sensor"], environment: environment)
    #expect(
      waitUntil { again.output.contains("=== Has accelerometer (orientation: right-up)") }, "\(again.output)")
    again.kill()
    next.kill()
  }
}
