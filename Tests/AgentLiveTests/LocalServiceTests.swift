import Foundation
import SensorFixtures
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Positions of a running agent for other programs on the same machine: real clients, real receivers.
@Suite(.serialized) struct LocalServiceTests {
  /// gpspipe on the agent's own server, and on a gpsd that reads the agent's NMEA: the same positions as published.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd)) func gpsdClientsHaveThePublishedPositions() throws {
    let vehicle = try LiveVehicle()
    let local = try LocalAgent(vehicle.settings)
    let second: UInt16 = try FreePort.next()
    let gpsd = try ChildProcess(
      "gpsd", ["-N", "-n", "-S", "\(second)", "tcp://127.0.0.1:\(local.nmeaPort)"])
    #expect(waitUntil { GPSDFixture.isListening(second) }, "\(gpsd.output)")
    let watchers = try [local.gpsdPort, second].map { try GPSDWatcher(port: $0) }
    vehicle.drive(seconds: 60)
    for (watcher, name) in zip(watchers, ["own server", "gpsd over NMEA"]) {
      #expect(
        waitUntil(atMost: 120) { watcher.positions.count >= 20 },
        "\(name): \(watcher.child.output) \(local.agent.log)")
    }
    #expect(waitUntil { watchers.allSatisfy { local.compare($0.positions).count >= 10 } })
    for (watcher, name) in zip(watchers, ["own server", "gpsd over NMEA"]) {
      let (count, distance) = local.compare(watcher.positions)
      print("\(name): \(count) positions within \(distance) m of the published ones")
      #expect(
        count >= 10 && distance <= 0.1,
        "\(name): \(count) positions, \(distance) m \(watcher.positions.suffix(2))")
    }
    for watcher in watchers { _ = watcher.child.terminate() }
    _ = gpsd.terminate()
    #expect(local.agent.child.terminate() == 0)
  }

  /// A recorded receiver with satellites of two systems. Clients receive its satellites, also over NMEA and a
  /// second gpsd.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd), .needs(.recordings("gpsd-logs")))
  func clientsHaveTheSatellitesOfTheReceiver() throws {
    let folder = try #require(Shared.folder)
    let receiver = try GPSDFixture(
      log: "\(folder)/data/gpsd-logs/bundg_zeus_9.log", secondsPerSentence: 0.03, repeats: true)
    defer { receiver.stop() }
    let local = try LocalAgent([
      "input.mode": "hardware", "gpsd.port": "\(receiver.port)", "iio.enabled": "false",
      "heading.interval": "10", "heading.filter": "5", "attitude.filter": "5",
    ])
    let second: UInt16 = try FreePort.next()
    let gpsd = try ChildProcess(
      "gpsd", ["-N", "-n", "-S", "\(second)", "tcp://127.0.0.1:\(local.nmeaPort)"])
    #expect(waitUntil { GPSDFixture.isListening(second) }, "\(gpsd.output)")
    let watchers = try [receiver.port, local.gpsdPort, second].map { try GPSDWatcher(port: $0) }
    let members = ["PRN", "el", "az", "ss", "used", "gnssid", "svid"]
    #expect(
      waitUntil(atMost: 120) { watchers[1].skies(members).filter { $0.count > 8 }.count >= 5 },
      "\(watchers[1].child.output.suffix(3000)) \(local.agent.log)")
    // The first reports may be older than the connection of the receiver's watcher.
    let reported = Set(watchers[1].skies(members).dropFirst(3))
    #expect(
      waitUntil { Set(watchers[0].skies(members)).isSuperset(of: reported) },
      "\(reported.subtracting(watchers[0].skies(members))) \(watchers[0].child.output.suffix(3000))")
    let used = Set(watchers[0].skies(["PRN", "used"]))
    #expect(
      waitUntil(atMost: 120) {
        watchers[2].skies(["PRN", "used"]).contains { $0.count > 8 && used.contains($0) }
      },
      "\(watchers[2].child.output.suffix(3000))")
    for watcher in watchers { _ = watcher.child.terminate() }
    _ = gpsd.terminate()
    #expect(local.agent.child.terminate() == 0)
  }

  /// Replays a drive through a tunnel. Estimated positions continue and equal the published ones.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd)) func positionsContinueThroughATunnel() throws {
    let directory = try TemporaryDirectory()
    let local = try LocalAgent(try LocalAgent.tunnelSettings(in: directory))
    let watcher = try GPSDWatcher(port: local.gpsdPort)
    let reader = try LocalClient(port: local.nmeaPort)
    let nmea = reader.readLines { $0.hasPrefix("$GNGGA,080400") }
    #expect(nmea.contains { $0.hasPrefix("$GNGGA,080400") }, "\(local.agent.log)")
    let estimated = nmea.filter {
      $0.hasPrefix("$GNGGA") && $0.split(separator: ",", omittingEmptySubsequences: false)[6] == "6"
    }
    #expect((20...32).contains(estimated.count), "\(estimated.count)")
    #expect(waitUntil { local.compare(watcher.positions).count > 100 }, "\(watcher.positions.count)")
    let (count, distance) = local.compare(watcher.positions)
    print(
      "tunnel: \(count) positions within \(distance) m of the published ones, \(estimated.count) estimated")
    #expect(distance <= 0.1, "\(count) positions, \(distance) m")
    let inTunnel = watcher.positions.filter {
      ($0["time"] as? String).map { $0 > "2026-11-21T08:02:35" && $0 < "2026-11-21T08:02:59" } ?? false
    }
    #expect(inTunnel.count > 15 && local.compare(inTunnel).count > 15)
    _ = watcher.child.terminate()
    _ = local.agent.child.terminate()
  }

  /// The receiver of a parked vehicle sleeps, and is on while a program watches.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd)) func receiverIsWatchedWhileAProgramWatches() throws {
    let vehicle = try LiveVehicle()
    vehicle.rest()
    let local = try LocalAgent(
      vehicle.settings.merging([
        "location.desired_accuracy": "hundredMeters", "location.reporting": "bounded",
        "location.pauses_automatically": "true",
      ]) { $1 })
    #expect(waitUntil(atMost: 90) { vehicle.receiver.isUnwatched }, "\(local.agent.log)")
    let published = local.published.count
    // A connected program without a watch does not require the receiver.
    let idle = try LocalClient(port: local.gpsdPort)
    #expect(!idle.readLines { $0.contains("VERSION") }.isEmpty)
    #expect(vehicle.receiver.isUnwatched)
    let watcher = try GPSDWatcher(port: local.gpsdPort)
    #expect(
      waitUntil { !vehicle.receiver.isUnwatched && watcher.positions.count >= 5 }, "\(watcher.child.output)")
    _ = watcher.child.terminate()
    #expect(waitUntil(atMost: 90) { vehicle.receiver.isUnwatched }, "\(local.agent.log)")
    let reader = try LocalClient(port: local.nmeaPort)
    #expect(waitUntil { !vehicle.receiver.isUnwatched })
    #expect(!reader.readLines { $0.hasPrefix("$GNRMC") && $0.contains(",A,") }.isEmpty)
    // A parked vehicle publishes no additional positions for these programs.
    #expect(local.published.count <= published + 2, "\(local.published.count - published)")
    #expect(local.agent.child.terminate() == 0)
  }

  /// Other users need the socket's permission, and receive what their rule permits.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd)) func otherUsersNeedPermission() throws {
    guard geteuid() == 0 else {
      Issue.record("needs root to become another user")
      return
    }
    let vehicle = try LiveVehicle()
    let folder = try TemporaryDirectory()
    chmod(folder.path, 0o755)
    let local = try LocalAgent(
      vehicle.settings.merging([
        "nmea.socket": folder.file("nmea"), "gpsd_server.socket": folder.file("gpsd"),
        "gpsd_server.socket_mode": "0666", "gpsd_server.accuracy": "none", "gpsd_server.access": "root=exact",
      ]) { $1 })
    func read(_ name: String, asNobody: Bool) throws -> (status: Int32, text: String) {
      let program = """
        import socket, sys
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(60)
        s.connect(sys.argv[1])
        s.sendall(b'?WATCH={"enable":true,"json":true};\\n')
        f = s.makefile()
        for line in f:
            if '"TPV"' in line or line.startswith('$GNRMC'):
                print(line)
                break
        """
      let user = asNobody ? ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] : []
      let command = user + ["/usr/bin/python3", "-c", program, folder.file(name)]
      let child = try ChildProcess(command[0], Array(command.dropFirst()))
      return (child.waitForExit(), child.output)
    }
    let denied = try read("nmea", asNobody: true)
    #expect(denied.status != 0 && denied.text.contains("PermissionError"), "\(denied)")
    let allowed = try read("nmea", asNobody: false)
    #expect(allowed.status == 0 && allowed.text.hasPrefix("$GNRMC"), "\(allowed)")
    let nobody = try read("gpsd", asNobody: true)
    #expect(
      nobody.status == 0 && nobody.text.contains("\"mode\":1") && !nobody.text.contains("\"lat\""),
      "\(nobody)")
    // The first report of root's program can be one without a fix, before the receiver is on.
    var own = try read("gpsd", asNobody: false)
    waitUntil {
      guard !own.text.contains("\"lat\"") else { return true }
      own = (try? read("gpsd", asNobody: false)) ?? own
      return false
    }
    #expect(own.text.contains("\"lat\":48.1"), "\(own)")
    #expect(local.agent.child.terminate() == 0)
    #expect(access(folder.file("nmea"), F_OK) != 0 && access(folder.file("gpsd"), F_OK) != 0)
  }

  /// `odographd status` shows the programs; a port in use is logged, and the agent runs without the service.
  @Test(.timeLimit(.minutes(5))) func statusShowsProgramsAndAUsedPortIsLogged() throws {
    let directory = try TemporaryDirectory()
    let control = directory.file("control")
    let local = try LocalAgent(["input.mode": "simulation", "control.socket": control])
    let client = try LocalClient(port: local.nmeaPort)
    #expect(!client.readLines { $0.hasPrefix("$GNRMC") && $0.contains(",A,") }.isEmpty, "\(local.agent.log)")
    let status = try ChildProcess(BuiltProduct.path("odographd"), ["status", "--socket", control])
    #expect(status.waitForExit() == 0)
    #expect(
      status.output.contains("nmea 127.0.0.1:\(local.nmeaPort): 1 connected, 1 watching"), "\(status.output)")
    let other = try AgentProcess(
      [
        "input.mode": "simulation", "nmea.listen": "127.0.0.1:\(local.nmeaPort)",
        "mqtt.broker": "mqtt://127.0.0.1:1",
      ], print: true)
    #expect(
      waitUntil { other.log.contains("event=local.unavailable") && !other.messages.isEmpty }, "\(other.log)")
    #expect(other.log.contains("Address already in use"))
    #expect(other.child.terminate() == 0)
    #expect(local.agent.child.terminate() == 0)
  }

  /// The commands in `Config/local.md` print positions.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd)) func commandsOfThePagePrintPositions() throws {
    let local = try LocalAgent(["input.mode": "simulation"])
    let page = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Config/local.md"), encoding: .utf8)
    let second: UInt16 = try FreePort.next()
    let blocks = page.components(separatedBy: "```sh local\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    #expect(blocks.count == 2)
    for block in blocks {
      var commands = block
      for (port, free) in [("10110", local.nmeaPort), ("2948", local.gpsdPort), ("2950", second)] {
        commands = commands.replacing(port, with: "\(free)")
      }
      // Waits for the gpsd of the previous line before the client starts.
      commands = commands.replacing(
        "&\n", with: "&\nwhile ! gpspipe -w -n 1 127.0.0.1:\(second) >/dev/null 2>&1; do :; done\n")
      let child = try ChildProcess("bash", ["-c", "\(commands)\nkill $(jobs -p) 2>/dev/null; true"])
      #expect(child.waitForExit() == 0)
      #expect(child.output.contains("\"lat\":"), "\(block): \(child.output) \(local.agent.log)")
    }
    #expect(local.agent.child.terminate() == 0)
  }
}
