import Foundation
import SensorFixtures
import Sensors
import Spatial
import TestSupport
import Testing

extension Need {
  fileprivate static let windows = Need("foxtrotgps, imagemagick and xvfb") {
    ["foxtrotgps", "import", "Xvfb"].allSatisfy {
      FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)")
    }
  }
}

/// Programs that Debian packages, with the positions of a running agent.
@Suite(.serialized) struct LocalProgramTests {
  /// Prints the positions that Qt reads over TCP, as its plugin `nmea` does.
  private static let qt = """
    import sys
    from PyQt5.QtCore import QCoreApplication
    from PyQt5.QtNetwork import QTcpSocket
    from PyQt5.QtPositioning import QNmeaPositionInfoSource

    application = QCoreApplication(sys.argv)
    socket = QTcpSocket()
    socket.connectToHost("127.0.0.1", int(sys.argv[1]))
    if not socket.waitForConnected(60000):
        sys.exit(socket.errorString())
    source = QNmeaPositionInfoSource(QNmeaPositionInfoSource.RealTimeMode)
    source.setDevice(socket)

    def show(position):
        place = position.coordinate()
        time = position.timestamp().toUTC().toString("yyyy-MM-ddTHH:mm:ss") + "Z"
        print("%s %.8f %.8f" % (time, place.latitude(), place.longitude()), flush=True)

    source.positionUpdated.connect(show)
    source.startUpdates()
    sys.exit(application.exec_())
    """

  /// GeoClue on a separate bus, with the socket of the agent in its configuration. Its authorization agent,
  /// which asks the user for permission on a desktop, permits the demonstration client.
  private static let geoclue = """
    set -e
    sed 's,^\\[network-nmea\\],&\\nnmea-socket='"$2"',' /etc/geoclue/geoclue.conf >"$1/geoclue.conf"
    printf '\\n[geoclue-where-am-i]\\nallowed=true\\nsystem=false\\nusers=\\n' >>"$1/geoclue.conf"
    mount --bind "$1/geoclue.conf" /etc/geoclue/geoclue.conf
    export DBUS_SYSTEM_BUS_ADDRESS="unix:path=$1/bus"
    dbus-daemon --session --nofork --address="$DBUS_SYSTEM_BUS_ADDRESS" &
    until [ -S "$1/bus" ]; do :; done
    /usr/libexec/geoclue --timeout 300 >"$1/geoclue.log" 2>&1 &
    gdbus wait --address "$DBUS_SYSTEM_BUS_ADDRESS" --timeout 60 org.freedesktop.GeoClue2
    /usr/libexec/geoclue-2.0/demos/agent >"$1/agent.log" 2>&1 &
    echo ready
    until [ -S "$2" ]; do :; done
    exec stdbuf -oL /usr/libexec/geoclue-2.0/demos/where-am-i --timeout 300 --accuracy-level 8
    """

  /// Qt and GeoClue report the positions that the agent has published, also in the tunnel.
  @Test(.timeLimit(.minutes(5)), .needs(.geoclue), .needs(.mounting))
  func qtAndGeoClueHaveThePublishedPositionsInATunnel() throws {
    let directory = try TemporaryDirectory()
    let socket = directory.file("nmea.socket")
    let geoclue = try ChildProcess(
      "unshare", ["--mount", "sh", "-c", Self.geoclue, "sh", directory.path, socket])
    #expect(waitUntil { geoclue.output.contains("ready\n") }, "\(geoclue.output) \(log(directory))")
    // The recording starts an hour ago: GeoClue adds the date to the time of day, and assumes yesterday for a
    // time in the future.
    let start = UTCTime(nanoseconds: Int64(Date().timeIntervalSince1970 - 3600) * 1_000_000_000)
    let local = try LocalAgent(
      try LocalAgent.tunnelSettings(in: directory, start: start).merging(["nmea.socket": socket]) { $1 })
    let reader = try LocalClient(port: local.nmeaPort)
    func waitForReport(of second: Double) {
      let time = start.advanced(bySeconds: second).rfc3339.dropFirst(11).prefix(8).filter { $0 != ":" }
      #expect(
        reader.readLines { $0.hasPrefix("$GNGGA,\(time)") }.last?.hasPrefix("$GNGGA,\(time)") == true,
        "\(local.agent.log)")
    }
    let qt = try ChildProcess("/usr/bin/python3", ["-c", Self.qt, "\(local.nmeaPort)"])
    let cgps = try Terminal(directory, "cgps 127.0.0.1:\(local.gpsdPort)")
    waitForReport(of: 165)
    let screen = cgps.screen
    waitForReport(of: 240)
    func qtPositions() -> [(second: Double, place: Coordinate)] {
      qt.output.split(separator: "\n").map { $0.split(separator: " ") }.compactMap { fields in
        guard fields.count == 3, let time = UTCTime(rfc3339: String(fields[0])),
          let latitude = Double(fields[1]), let longitude = Double(fields[2])
        else { return nil }
        return (time.seconds(since: start), Coordinate(latitude: latitude, longitude: longitude))
      }
    }
    func geocluePositions() -> [Coordinate] {
      let texts = geoclue.output.components(separatedBy: "New location:").dropFirst()
      return texts.compactMap { text in
        let values = text.split(separator: "\n").prefix(2).compactMap {
          Double($0.split(separator: ":").last?.filter { "0123456789.-".contains($0) } ?? "")
        }
        return values.count == 2 ? Coordinate(latitude: values[0], longitude: values[1]) : nil
      }
    }
    #expect(
      waitUntil {
        guard let last = geocluePositions().last else { return false }
        return qtPositions().contains { $0.second > 210 && $0.place.distance(to: last) <= 0.1 }
      },
      "\(qt.output.suffix(2000)) \(geoclue.output.suffix(2000)) \(log(directory))")
    let published = Array(local.published.values)
    func largestDistance(_ places: [Coordinate]) -> Double {
      places.map { place in published.map { $0.distance(to: place) }.min() ?? .infinity }.max() ?? .infinity
    }
    // Positions at rest before the drive are not published.
    let inTunnel = qtPositions().filter { (155..<179).contains($0.second) }.map(\.place)
    #expect(inTunnel.count > 15 && largestDistance(inTunnel) <= 0.1, "\(inTunnel)")
    let driven = qtPositions().filter { $0.second > 90 }.map(\.place)
    let located = geocluePositions().drop { place in
      !inTunnel.contains { $0.distance(to: place) <= 0.1 }
    }
    print(
      "Qt: \(driven.count) positions within \(largestDistance(driven)) m of the published ones, \(inTunnel.count) in the tunnel; "
        + "GeoClue: \(located.count) within \(largestDistance(Array(located))) m")
    #expect(driven.count > 100 && largestDistance(driven) <= 0.1)
    #expect(largestDistance(Array(located)) <= 0.1, "\(located)")
    #expect(screen.contains("3D DR FIX") && screen.contains("Latitude:         48."), "\(screen)")
    let near = inTunnel.count { place in located.contains { $0.distance(to: place) <= 0.1 } }
    #expect(near > 10, "\(near) of \(inTunnel.count)")
    for child in [qt, geoclue] { child.kill() }
    cgps.end()
    _ = local.agent.child.terminate()
  }

  /// A program in a terminal.
  private struct Terminal {
    private let socket: String

    init(_ directory: TemporaryDirectory, _ command: String) throws {
      socket = directory.file("tmux")
      let tmux = try ChildProcess(
        "tmux",
        ["-f", "/dev/null", "-S", socket, "new-session", "-d", "-x", "100", "-y", "40", "-s", "t", command])
      #expect(tmux.waitForExit() == 0, "\(tmux.output)")
    }

    var screen: String {
      guard let tmux = try? ChildProcess("tmux", ["-S", socket, "capture-pane", "-p", "-t", "t"]) else {
        return ""
      }
      tmux.waitForExit()
      return tmux.output
    }

    func end() { _ = try? ChildProcess("tmux", ["-S", socket, "kill-server"]).waitForExit() }
  }

  /// Programs with windows receive the position and draw it.
  @Test(
    .timeLimit(.minutes(5)), .needs(.windows),
    .enabled(if: Shared.isFullRun, "programs with windows; ODOGRAPH_FULL=1 runs it"),
    arguments: ["xgps", "foxtrotgps"])
  func windowsShowThePosition(program: String) throws {
    let directory = try TemporaryDirectory()
    let control = directory.file("control")
    let local = try LocalAgent([
      "input.mode": "simulation", "input.place": "48.1372,11.5756", "control.socket": control,
    ])
    let display = try ChildProcess("Xvfb", ["-displayfd", "1", "-screen", "0", "1000x800x24"])
    func number() -> Substring? { display.output.split(separator: "\n").first { Int($0) != nil } }
    #expect(waitUntil { number() != nil }, "\(display.output)")
    let environment = [
      "DISPLAY": ":\(number() ?? "0")", "HOME": directory.path, "XDG_CONFIG_HOME": directory.path,
      "GSETTINGS_BACKEND": "keyfile",
    ]
    for setting in [["gpsd-port", "\(local.gpsdPort)"], ["auto-download", "false"]] {
      let child = try ChildProcess(
        "gsettings", ["set", "org.foxtrotgps"] + setting, environment: environment)
      #expect(child.waitForExit() == 0, "\(child.output)")
    }
    let window = try ChildProcess(
      program, program == "xgps" ? ["127.0.0.1:\(local.gpsdPort)"] : [], environment: environment)
    #expect(
      waitUntil {
        guard let status = try? ChildProcess(BuiltProduct.path("odographd"), ["status", "--socket", control])
        else { return false }
        status.waitForExit()
        return status.output.contains(", 1 watching")
      }, "\(window.output) \(local.agent.log)")
    // The window is drawn when the screen has more than 100 colours; without it, the screen has one.
    #expect(
      waitUntil {
        let script = #"import -window root png:- | identify -format %k -"#
        guard let colors = try? ChildProcess("sh", ["-c", script], environment: environment) else {
          return false
        }
        return colors.waitForExit() == 0 && (Int(colors.output) ?? 0) > 100
      }, "\(window.output)")
    for child in [window, display] { child.kill() }
    _ = local.agent.child.terminate()
  }

  private func log(_ directory: TemporaryDirectory) -> String {
    ((try? String(contentsOfFile: directory.file("geoclue.log"), encoding: .utf8)) ?? "").suffix(3000)
      .description
  }

  // MARK: Limits

  /// A thousand programs connect to each service of an agent that may open 1024 files, as its unit permits.
  /// Connections above the limit are refused with a reason, programs that do not read are disconnected, and a
  /// normal program is served afterwards.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd)) func thousandProgramsAreBounded() throws {
    Self.raiseOpenFiles()
    let directory = try TemporaryDirectory()
    let control = directory.file("control")
    // 20 reports per second.
    let local = try LocalAgent(
      [
        "input.mode": "simulation", "input.place": "48.1372,11.5756", "input.speed": "20",
        "nmea.clients": "1000", "gpsd_server.clients": "1000", "nmea.socket": directory.file("nmea"),
        "gpsd_server.socket": directory.file("gpsd"), "control.socket": control,
      ], environment: ["OPEN_FILES": "1024"])
    #expect(local.agent.log.contains("416 programs instead of 1000"), "\(local.agent.log)")
    let before = try residentBytes(local)
    func status(_ table: String) -> String {
      guard
        let status = try? ChildProcess(BuiltProduct.path("odographd"), ["status", "--socket", control])
      else { return "" }
      status.waitForExit()
      return status.output.split(separator: "\n").first { $0.contains(" \(table) 127.0.0.1:") }
        .map(String.init) ?? status.output
    }
    // The connections opened by `GPSDFixture.isListening` are closed.
    #expect(
      waitUntil {
        status("nmea").contains(": 0 connected") && status("gpsd").contains(": 0 connected")
      }, "\(status("gpsd"))")
    // Half of the programs connect to the Unix socket.
    func connect(_ table: String, _ index: Int) throws -> LocalClient {
      let port = table == "nmea" ? local.nmeaPort : local.gpsdPort
      return try index % 2 == 0 ? LocalClient(directory.file(table)) : LocalClient(port: port)
    }
    var clients = try (0..<416).map { try connect("gpsd", $0) }
    #expect(waitUntil { status("gpsd").contains(": 416 connected") }, "\(status("gpsd"))")
    for index in 416..<1000 {
      let reason = String(decoding: try connect("gpsd", index).readAll(), as: UTF8.self)
      #expect(reason.contains("too many connections (gpsd_server.clients = 416)"), "\(reason)")
    }
    #expect(status("gpsd").contains("584 refused"))
    for (index, client) in clients.enumerated() { client.write(Self.requests[index % Self.requests.count]) }
    // On a slow machine, the first readers of NMEA are disconnected before the last ones connect. A Unix socket has a small
    // buffer, and a TCP connection one of megabytes.
    for _ in 0..<1000 { clients.append(try LocalClient(directory.file("nmea"))) }
    #expect(
      waitUntil(atMost: 120) {
        let line = status("nmea")
        return line.contains(": 0 connected") && line.contains(" refused") && line.contains(" disconnected")
      }, "\(status("nmea"))")
    let growth = try residentBytes(local) - before
    print("programs that do not read: \(growth / 1024) kB; \(status("nmea")); \(status("gpsd"))")
    #expect(growth < 48 << 20, "\(growth)")
    #expect(waitUntil(atMost: 120) { status("gpsd").contains(" disconnected") }, "\(status("gpsd"))")
    clients = []
    #expect(waitUntil { status("gpsd").contains(": 0 connected") }, "\(status("gpsd"))")
    let watcher = try GPSDWatcher(port: local.gpsdPort)
    #expect(waitUntil { !watcher.positions.isEmpty }, "\(watcher.child.output) \(local.agent.log)")
    _ = watcher.child.terminate()
    _ = local.agent.child.terminate()
  }

  /// Requests of gpsd's clients, valid and malformed.
  private static let requests: [[UInt8]] = [
    Array("?WATCH={\"enable\":true,\"json\":true};\n".utf8),
    Array("?WATCH={\"enable\":true,\"nmea\":true};\n".utf8),
    Array("?WATCH={\"enable\":\n".utf8), [UInt8](repeating: 0xFF, count: 3000),
  ]

  private func residentBytes(_ local: LocalAgent) throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(local.agent.child.processID)/statm", encoding: .utf8)
    return (Int(text.split(separator: " ")[1]) ?? 0) * Int(getpagesize())
  }

  /// Raises the limit on open files to 4096, or to the maximum that the system permits.
  private static func raiseOpenFiles() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_max, 4096)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  // MARK: Attitude

  /// Without navigation, the attitude comes from the motion sensors, which are powered while a program receives it.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd)) func attitudeOfTheMotionSensors() throws {
    let vehicle = try LiveVehicle()
    // The device is turned to the east, the right side 10° lower.
    let attitude =
      Quaternion(angle: (-90.0).radians, axis: Vector3(0, 0, 1))
      * Quaternion(angle: 10.0.radians, axis: Vector3(0, 1, 0))
    vehicle.sensors.play { _ in
      EmulatedIIOD.Reading(
        specificForce: attitude.conjugate.rotate(Vector3(0, 0, 9.80665)),
        rotationRate: Vector3(0, 0, 0), magneticField: attitude.conjugate.rotate(Vector3(0, 20, -44)))
    }
    let local = try LocalAgent(
      vehicle.settings.merging([
        "nmea.sentences": "RMC,HDT,HDG,ROT,PASHR", "motion.events": "", "heading.enabled": "false",
        "attitude.enabled": "false", "altitude.enabled": "false", "navigation.enabled": "false",
        "events.kinds": "", "trips.enabled": "false", "heading.interval": "10", "heading.filter": "5",
        "attitude.filter": "5",
      ]) { $1 })
    #expect(waitUntil { !local.agent.messages.isEmpty }, "\(local.agent.log)")
    let kinds = [SensorKind.gyroscope, .magnetometer]
    func isOpen() -> Bool {
      kinds.contains { kind in vehicle.sensors.captures.contains { $0.isOpen && $0.kinds.contains(kind) } }
    }
    #expect(!isOpen())
    let watcher = try GPSDWatcher(port: local.gpsdPort)
    func isRight(_ report: [String: Any]) -> Bool {
      guard let heading = report["heading"] as? Double, let roll = report["roll"] as? Double,
        let pitch = report["pitch"] as? Double
      else { return false }
      // Magnetic north is a few degrees east of true north at this position.
      return (92...97).contains(heading) && abs(roll - 10) < 1 && abs(pitch) < 1
    }
    #expect(
      waitUntil(atMost: 90) { watcher.reports("ATT").contains(where: isRight) },
      "\(watcher.child.output.suffix(2000)) \(local.agent.log)")
    #expect(isOpen())
    _ = watcher.child.terminate()
    #expect(waitUntil(atMost: 90) { !isOpen() }, "\(local.agent.log)")
    let reader = try LocalClient(port: local.nmeaPort)
    func fields(_ name: String) -> [String] {
      reader.readLines { $0.hasPrefix("$\(name),") }.last?.split(
        separator: ",", omittingEmptySubsequences: false
      ).map(String.init) ?? []
    }
    let magnetic = fields("GNHDG")
    #expect(magnetic.count == 6 && abs((Double(magnetic[1]) ?? 0) - 90) < 1, "\(magnetic)")
    #expect(magnetic.last?.hasPrefix("E") == true, "\(magnetic)")
    let turn = fields("GNROT")
    #expect(turn.count == 3 && abs(Double(turn[1]) ?? 99) < 30, "\(turn)")
    let trueHeading = fields("GNHDT")
    #expect(trueHeading.count == 3 && (92...97).contains(Double(trueHeading[1]) ?? 0), "\(trueHeading)")
    let tilt = fields("PASHR")
    #expect(tilt.count == 12 && abs((Double(tilt[4]) ?? 0) - 10) < 1, "\(tilt)")
    #expect(local.agent.child.terminate() == 0)
  }
}
