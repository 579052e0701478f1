internal import Foundation
internal import Platform
public import Testing

/// A requirement of a test that not every machine meets. A test that declares it, such as `@Test(.needs(.gpsd))`, is skipped with the
/// reason if the requirement is not met. `Deploy/test.sh` lists the skipped tests, and fails if the reason is a package that it installs
/// itself.
public struct Need: Sendable {
  /// Completes the sentence "needs …".
  public let what: String
  /// Evaluated only for tests that are selected to run.
  let isMet: @Sendable () throws -> Bool

  /// - Parameter what: completes the sentence "needs …".
  public init(_ what: String, isMet: @escaping @Sendable () throws -> Bool) {
    self.what = what
    self.isMet = isMet
  }

  /// A folder of recordings beside the repository, such as "tracks". If it exists, every file that a test names must exist, too.
  public static func recordings(_ folder: String) -> Need {
    Need("../shared/data/\(folder), or ODOGRAPH_SHARED to name the folder in place of ../shared") {
      Shared.folder.map { FileManager.default.fileExists(atPath: "\($0)/data/\(folder)") } ?? false
    }
  }

  /// Debian packages, detected by the given programs.
  static func packages(_ names: String, programs: String...) -> Need {
    Need("the Debian packages \(names)") { programs.allSatisfy { ChildProcess.find($0) != nil } }
  }

  static func python(_ module: String, package: String) -> Need {
    Need("the Debian packages \(package)") {
      try ChildProcess(ContractScript.python, ["-c", "import \(module)"]).waitForExit() == 0
    }
  }

  public static let gpsd = packages("gpsd gpsd-tools gpsd-clients", programs: "gpsd", "gpsfake", "gpspipe")
  /// GeoClue with its demonstration client, and Qt's NMEA 0183 reader.
  public static let geoclue = packages(
    "geoclue-2.0 geoclue-2-demo dbus libglib2.0-bin python3-pyqt5.qtpositioning",
    programs: "/usr/libexec/geoclue",
    "/usr/libexec/geoclue-2.0/demos/where-am-i", "dbus-daemon", "gdbus")
  public static let gpsbabel = packages("gpsbabel", programs: "gpsbabel")
  public static let postgreSQL = Need("the Debian packages postgresql-15") {
    PostgreSQLFixture.isInstalled && ChildProcess.find("psql") != nil
  }
  /// A RabbitMQ cluster of three nodes.
  public static let rabbitMQ = packages(
    "rabbitmq-server openssl", programs: "/usr/lib/rabbitmq/bin/rabbitmq-server", "epmd", "openssl")
  /// A NATS cluster of three nodes.
  public static let nats = packages("nats-server openssl", programs: "nats-server", "openssl")
  /// A reverse proxy in front of `odograph serve`.
  public static let nginx = packages("nginx-light", programs: "nginx")
  /// Start of a program by socket activation.
  public static let socketActivation = packages("systemd", programs: "systemd-socket-activate")
  public static let node = packages("nodejs", programs: "node")
  public static let postGIS = Need("the Debian packages postgresql-15-postgis-3") {
    PostgreSQLFixture.isInstalled && PostgreSQLFixture.hasExtension("postgis")
  }
  /// A wall clock that a test can set.
  public static let fakeClock = Need("the Debian packages faketime") { FakeClock.isInstalled }
  public static let prometheusClient = python("prometheus_client", package: "python3-prometheus-client")
  public static let gpxpy = python("gpxpy", package: "python3-gpxpy")
  /// The virtual machine with simulated IIO hardware.
  public static let sensorRig = packages(
    "of Tests/SensorRig/packages.txt", programs: "qemu-system-x86_64", "busybox", "cpio", "iiod",
    "iio_readdev",
    "gcc", "candump", "isotpsend", "hostapd", "iw", "python3", "xz", "dpkg", "apt-get")

  /// Permission to mount file systems, also in a private mount namespace.
  public static let mounting = Need("the privilege to mount file systems (CAP_SYS_ADMIN)") {
    try IIOFixture.isAllowed()
  }
  /// Permission to stop threads of other processes.
  public static let tracing = Need("the privilege to trace other processes (CAP_SYS_PTRACE)") {
    let sleeper = try ChildProcess("sleep", ["60"])
    // Until the program is loaded, its thread has the name of this process.
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
  /// Skips a test, with the reason, if a requirement is not met.
  public static func needs(_ need: Need, sourceLocation: SourceLocation = #_sourceLocation) -> Self {
    .enabled(if: try need.isMet(), "needs \(need.what)", sourceLocation: sourceLocation)
  }
}
