internal import Foundation
internal import Glibc
internal import Platform

/// A PostgreSQL server on a free loopback port with its own temporary directory. It is stopped when the fixture is released. The server
/// refuses to run as root; tests that run as root start it as `nobody`.
public final class PostgreSQLFixture: Sendable {
  public let port: Int
  public let directory: TemporaryDirectory
  private let process = Locked<ChildProcess?>(nil)
  private let settings: [String]

  /// True if the server is installed (Debian: postgresql-15).
  static var isInstalled: Bool { program("initdb") != nil }

  /// Returns true if an extension is installed.
  static func hasExtension(_ name: String) -> Bool {
    let root = "/usr/share/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    return versions.contains {
      FileManager.default.fileExists(atPath: "\(root)/\($0)/extension/\(name).control")
    }
  }

  /// Creates a database cluster, starts the server and waits until it answers.
  /// - Parameter settings: further settings, such as `shared_buffers=64MB`.
  public init(_ settings: [String] = ["fsync=off"]) throws {
    directory = try TemporaryDirectory()
    port = try FreePort.next()
    self.settings = settings
    let data = directory.file("data")
    if getuid() == 0, let nobody = getpwnam("nobody") {
      chown(directory.path, nobody.pointee.pw_uid, nobody.pointee.pw_gid)
    }
    let made = try Self.run(
      "initdb", ["-D", data, "-U", "fleet", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"],
      output: directory.file("initdb.out"))
    guard made.waitForExit() == 0 else {
      throw SystemError(operation: "make", object: "database cluster in \(data): \(made.output)", code: EIO)
    }
    try start()
  }

  /// Creates and starts a read-only streaming replica of a server.
  public init(replicaOf primary: PostgreSQLFixture, _ settings: [String] = []) throws {
    directory = try TemporaryDirectory()
    port = try FreePort.next()
    self.settings = ["fsync=off"] + settings
    if getuid() == 0, let nobody = getpwnam("nobody") {
      chown(directory.path, nobody.pointee.pw_uid, nobody.pointee.pw_gid)
    }
    let copied = try Self.run(
      "pg_basebackup",
      [
        "-h", "127.0.0.1", "-p", "\(primary.port)", "-U", "fleet", "-D", directory.file("data"), "-R", "-X",
        "stream",
        "-c", "fast", "--no-sync",
      ], output: directory.file("basebackup.out"))
    guard copied.waitForExit() == 0 else {
      throw SystemError(operation: "copy", object: "database cluster: \(copied.output)", code: EIO)
    }
    try start()
  }

  /// Returns true if a replica has replayed everything that its primary has written.
  public func hasAll(of primary: PostgreSQLFixture) throws -> Bool {
    let written = try primary.query("SELECT pg_current_wal_lsn()")[0][0]
    return try query("SELECT pg_last_wal_replay_lsn() >= '\(written)'") == [["t"]]
  }

  /// Connection URL for `odograph record` and `psql`.
  public var url: String { "postgres://fleet@127.0.0.1:\(port)/postgres" }

  /// Starts (or restarts) the server on the same port.
  public func start() throws {
    var arguments = [
      "-D", directory.file("data"), "-p", "\(port)", "-c", "listen_addresses=127.0.0.1", "-c",
      "unix_socket_directories=\(directory.path)",
    ]
    for setting in settings { arguments += ["-c", setting] }
    // After a kill, children of the old server can hold its shared memory for a short time.
    for _ in 0..<600 {
      let started = try Self.run("postgres", arguments, output: directory.file("postgres.out"))
      process.withLock { $0 = started }
      while started.isRunning {
        if (try? query("SELECT 1")) == [["1"]] { return }
        usleep(20_000)
      }
      usleep(100_000)
    }
    throw SystemError(operation: "start", object: "PostgreSQL on port \(port)", code: ECONNREFUSED)
  }

  /// Runs a query with `psql` and returns the rows as text.
  public func query(_ sql: String) throws -> [[String]] {
    let child = try ChildProcess(
      Self.program("psql") ?? "psql",
      ["-X", "-A", "-t", "-q", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", sql, url])
    guard child.waitForExit() == 0 else {
      throw SystemError(operation: "query", object: "\(sql): \(child.output)", code: EIO)
    }
    return child.output.split(separator: "\n").map { line in
      line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    }
  }

  /// Kills the server with SIGKILL, like a power failure.
  public func kill() { process.withLock { $0 }?.kill() }

  /// Stops the server with SIGINT (fast shutdown) and waits until it has exited.
  public func stop() {
    process.withLock { $0 }?.signal(SIGINT)
    process.withLock { $0 }?.waitForExit()
  }

  /// Suspends the server with SIGSTOP: connections stay open, but nothing is answered.
  public func freeze() { process.withLock { $0 }?.signal(SIGSTOP) }

  public func thaw() { process.withLock { $0 }?.signal(SIGCONT) }

  private static func run(_ name: String, _ arguments: [String], output: String) throws -> ChildProcess {
    guard let path = program(name) else { throw SystemError(operation: "find", object: name, code: ENOENT) }
    guard getuid() == 0 else { return try ChildProcess(path, arguments, output: output) }
    return try ChildProcess(
      "setpriv", ["--reuid=nobody", "--regid=nogroup", "--clear-groups", path] + arguments, output: output)
  }

  /// Debian installs the server's programs outside PATH, in one folder per version.
  private static func program(_ name: String) -> String? {
    let root = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    let sorted = versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }
    return sorted.map { "\(root)/\($0)/bin/\(name)" }.first(
      where: FileManager.default.isExecutableFile(atPath:))
      ?? ChildProcess.find(name)
  }
}
