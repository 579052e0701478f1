internal import Foundation
internal import Platform
public import Testing

/// What a test cannot run without, and not every machine has. A test that names a need is skipped, by name and with the
/// reason, where it is not met: `@Test(.needs(.gpsd))`. `Deploy/test.sh` lists what was skipped, and fails when the
/// reason is a package that it installs itself.
public struct Need: Sendable {
  /// As in "needs …".
  public let what: String
  /// Is asked only for a test that is to run.
  let isMet: @Sendable () throws -> Bool

  /// - Parameter what: completes the sentence "needs …".
  public init(_ what: String, isMet: @escaping @Sendable () throws -> Bool) {
    self.what = what
    self.isMet = isMet
  }

  /// A folder of the recordings beside the project, as in "tracks". With it, each file that a test names must be there.
  public static func recordings(_ folder: String) -> Need {
    Need("../shared/data/\(folder), or ODOGRAPH_SHARED to name the folder in place of ../shared") {
      Shared.folder.map { FileManager.default.fileExists(atPath: "\($0)/data/\(folder)") } ?? false
    }
  }

  /// Debian packages, some of whose programs are looked for.
  static func packages(_ names: String, programs: String...) -> Need {
    Need("the Debian packages \(names)") { programs.allSatisfy { ChildProcess.find($0) != nil } }
  }

  static func python(_ module: String, package: String) -> Need {
    Need("the Debian packages \(package)") {
      try ChildProcess(ContractScript.python, ["-c", "import \(module)"]).waitForExit() == 0
    }
  }

  public static let gpsd = packages("gpsd gpsd-tools gpsd-clients", programs: "gpsd", "gpsfake", "gpspipe")
  /// GeoClue with its demonstration client, and Qt's reader of NMEA 0183.
  public static let geoclue = packages(
    "geoclue-2.0 geoclue-2-demo dbus libglib2.0-bin python3-pyqt5.qtpositioning",
    programs: "/usr/libexec/geoclue",
    "/usr/libexec/geoclue-2.0/demos/where-am-i", "dbus-daemon", "gdbus")
  public static let gpsbabel = packages("gpsbabel", programs: "gpsbabel")
  public static let postgreSQL = Need("the Debian packages postgresql-15") {
    PostgreSQLFixture.isInstalled && ChildProcess.find("psql") != nil
  }
  /// Three nodes of RabbitMQ.
  public static let rabbitMQ = packages(
    "rabbitmq-server openssl", programs: "/usr/lib/rabbitmq/bin/rabbitmq-server", "epmd", "openssl")
  /// Three nodes of NATS.
  public static let nats = packages("nats-server openssl", programs: "nats-server", "openssl")
  /// A proxy in front of `odograph serve`.
  public static let nginx = packages("nginx-light", programs: "nginx")
  /// A service manager's start of a program on a connection.
  public static let socketActivation = packages("systemd", programs: "systemd-socket-activate")
  public static let node = packages("nodejs", programs: "node")
  public static let postGIS = Need("the Debian packages postgresql-15-postgis-3") {
    PostgreSQLFixture.isInstalled && PostgreSQLFixture.hasExtension("postgis")
  }
  /// A wall clock that a test may set.
  public static let fakeClock = Need("the Debian packages faketime") { FakeClock.isInstalled }
  public static let prometheusClient = python("prometheus_client", package: "python3-prometheus-client")
  public static let gpxpy = python("gpxpy", package: "python3-gpxpy")
  /// The machine with virtual IIO hardware.
  public static let sensorRig = packages(
    "of Tests/SensorRig/packages.txt", programs: "qemu-system-x86_64", "busybox", "cpio", "iiod",
    "iio_readdev",
    "gcc", "candump", "isotpsend", "hostapd", "iw", "python3", "xz", "dpkg", "apt-get")

  /// To mount file systems, also in a namespace that only one thread sees.
  public static let mounting = Need("the privilege to mount file systems (CAP_SYS_ADMIN)") {
    try IIOFixture.isAllowed()
  }
  /// To stop threads of other processes.
  public static let tracing = Need("the privilege to trace other processes (CAP_SYS_PTRACE)") {
    let sleeper = try ChildProcess("sleep", ["60"])
    // Its thread has the name of this process until the program is loaded.
    let name = "/proc/\(sleeper.processID)/comm"
    waitUntil { (try? String(contentsOfFile: name, encoding: .utf8))?.hasPrefix("sleep") ?? false }
    do throws(SystemError) {
      _ = try FrozenThread("sleep", of: sleeper.processID)
      return true
    } catch {
      guard error.code == EPERM else { throw error }
      return false
    }
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test, and says why, where what it needs is not there.
  public static func needs(_ need: Need, sourceLocation: SourceLocation = #_sourceLocation) -> Self {
    .enabled(if: try need.isMet(), "needs \(need.what)", sourceLocation: sourceLocation)
  }
}
