internal import Glibc

/// Notifies a service manager by the protocol of sd_notify(3): datagrams to the socket in the environment.
package struct ServiceNotifier: Sendable {
  private let address: String
  /// Watchdog limit of the manager in s; nil if there is none.
  package let watchdog: Double?

  /// Nil without a service manager.
  package init?(environment: [String: String], processID: Int32 = getpid()) {
    // The address is a path, or a name in the abstract namespace, which starts with "@".
    guard let address = environment["NOTIFY_SOCKET"], let first = address.first, first == "/" || first == "@",
      (2...107).contains(address.utf8.count)
    else { return nil }
    self.address = address
    let isForThisProcess = environment["WATCHDOG_PID"].map { $0 == String(processID) } ?? true
    let microseconds = environment["WATCHDOG_USEC"].flatMap { UInt64($0) } ?? 0
    watchdog = isForThisProcess && microseconds > 0 ? Double(microseconds) * 1e-6 : nil
  }

  /// Ends the start of a service of the type `notify`, or a reload.
  package func ready() { send("READY=1") }
  package func stopping() { send("STOPPING=1\nSTATUS=Stopping") }
  /// Resets the watchdog.
  package func progress() { send("WATCHDOG=1") }

  /// - Parameter line: state of the service for users.
  package func status(_ line: String) { send("STATUS=\(line.split(separator: "\n").joined(separator: " "))") }

  /// Announces a reload. Call `ready` after it.
  package func reloading() { send("RELOADING=1\nMONOTONIC_USEC=\(MonotonicTime.now.nanoseconds / 1000)") }

  /// Never waits: a manager that does not listen misses the message.
  private func send(_ text: String) {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    _ = unsafe LocalSocket.withAddress(address) { pointer, size in
      unsafe sendto(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL), pointer, size)
    }
  }
}
