internal import Glibc

/// A PostgreSQL server of the benchmark, as installed by Debian, with default settings.
package final class PostgreSQL {
  package let url: String
  private let process: Child

  /// Starts a server; nil if PostgreSQL is not installed.
  package convenience init?(in directory: String) {
    self.init(
      directory + "/postgresql",
      filledBy: #""$bin/initdb" -D "$0/data" -U fleet -A trust -E UTF8 --no-locale >/dev/null"#, within: 120)
  }

  /// Starts a streaming replica of another server; nil if it does not start.
  package convenience init?(replicaOf primary: PostgreSQL, in directory: String) {
    let copy = #""$bin/pg_basebackup" -d '\#(primary.url)' -D "$0/data" -R -X stream -c fast"#
    self.init(directory + "/replica", filledBy: copy, within: 600)
  }

  private init?(_ folder: String, filledBy filling: String, within seconds: Double) {
    let port = freePort()
    url = "postgres://fleet@127.0.0.1:\(port)/postgres"
    let script = """
      bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1); [ -n "$bin" ] || exit 1
      as=; if [ $(id -u) = 0 ]; then chown nobody "$0"; as="setpriv --reuid=nobody --regid=nogroup --clear-groups"; fi
      $as \(filling) || exit 1
      exec $as "$bin/postgres" -D "$0/data" -p \(port) -c listen_addresses=127.0.0.1 \
        -c unix_socket_directories="$0" -c log_min_messages=panic
      """
    mkdir(folder, 0o755)
    chmod(String(folder[..<(folder.lastIndex(of: "/") ?? folder.endIndex)]), 0o755)
    process = Child(["sh", "-c", script, folder])
    let deadline = now() + seconds
    while now() < deadline {
      if Child(["psql", "-q", "-c", "SELECT 1", url + "?connect_timeout=2"], quietly: true).wait(atMost: 10) {
        return
      }
      usleep(300_000)
    }
    return nil
  }

  package var processID: Int32 { process.processID }

  /// Processor time in s of the server, for connections that have been closed.
  package var processorTime: Double { process.processorTimeSoFar }

  /// Creates another database with an extension and returns its URL; nil if the extension is not installed.
  package func database(_ name: String, with extension: String) -> String? {
    let address = url.replacing("/postgres", with: "/\(name)")
    func run(_ address: String, _ sql: String) -> Bool {
      Child(["psql", "-q", "-c", "SET client_min_messages = error", "-c", sql, address], quietly: true).wait(
        atMost: 120)
    }
    guard run(url, "CREATE DATABASE \(name)"), run(address, "CREATE EXTENSION \(`extension`)") else {
      return nil
    }
    return address
  }

  package func end() { _ = process.end(SIGINT) }
}
