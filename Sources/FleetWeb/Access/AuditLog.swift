internal import Fleet
internal import FleetProgram
internal import Glibc
internal import JSON
package import Platform
package import Spatial

/// A line of the audit log. It contains names, addresses, paths and outcomes, but no secrets.
package struct AuditEntry: Sendable {
  /// The action: `login`, `logout`, `share`, or a request's method and path.
  package var action: String
  /// The name of the user, token or link that sent the request, or the name given at a login; `SIGHUP` for a
  /// reload.
  package var who: String
  /// The client's address.
  package var from: String
  /// The vehicles concerned, each as `fleet/vehicle`.
  package var vehicles: [String]
  /// `done`, or the code of a rejection.
  package var outcome: String
  /// The HTTP status; nil without a response.
  package var status: Int?
  package var detail: String?

  package init(
    action: String, who: String, from: String, vehicles: [String] = [], outcome: String, status: Int? = nil,
    detail: String? = nil
  ) {
    (self.action, self.who, self.from, self.vehicles) = (action, who, from, vehicles)
    (self.outcome, self.status, self.detail) = (outcome, status, detail)
  }

  /// Adds the vehicles that a route has reported in addition to the vehicle in the path.
  mutating func add(_ named: [String]?) { vehicles += (named ?? []).filter { !vehicles.contains($0) } }

  /// Returns the entry as a line of JSON, without a line break.
  package func line(at time: UTCTime) -> String {
    var writer = JSONWriter()
    writer.openObject()
    writer.field("time", time.rfc3339)
    writer.field("action", Self.short(action))
    writer.field("who", Self.short(who))
    writer.field("from", from)
    if !vehicles.isEmpty { writer.field("vehicles", texts: vehicles.map(Self.short)) }
    writer.field("outcome", outcome)
    writer.field("status", status)
    writer.field("detail", detail.map(Self.short))
    writer.closeObject()
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  private static func short(_ text: String) -> String { String(text.prefix(200)) }
}

/// A log of all changes and logins, on standard error (for the systemd journal) and in a file. A thread
/// writes the lines in the order of the calls. The file is opened for each batch, so that it can be rotated
/// at any time. If the disk is full, lines are printed, and wait in memory until the file is writable.
package final class AuditLog: Sendable {
  private struct State {
    /// The lines to be written to the file, oldest first.
    var waiting: [String] = []
    var path: String?
    var isStopped = false
  }

  /// The maximum number of waiting lines. Changes of vehicles are rejected while it is reached.
  package static let capacity = 4096
  /// The interval in s between two attempts to write to a file that is not writable.
  private static let pause = 1.0

  private let state: Monitor<State>
  private let thread: DedicatedThread

  /// Creates the log.
  ///
  /// - Parameters:
  ///   - path: the file to append to, created with mode 0600; nil for none.
  ///   - report: prints each line once, immediately and in order, even if the file is not writable; nil for
  ///     none.
  /// - Throws: `SystemError` if the file is not writable or a thread cannot be created.
  package init(
    path: String?, report: (@Sendable (String) -> Void)? = { StandardError.report("audit \($0)") }
  ) throws(SystemError) {
    if let path { try Self.append([], to: path) }
    let state = Monitor(State(path: path))
    self.state = state
    thread = try .start(name: "audit") { Self.write(state, report) }
  }

  private static func write(_ state: Monitor<State>, _ report: (@Sendable (String) -> Void)?) {
    // The number of lines at the start of `waiting` that were already printed.
    var written = 0
    // The time of the next attempt to write; nil while the file is writable.
    var retry: MonotonicTime?
    while true {
      let (lines, path, isLast) =
        state.wait(until: retry) { [written] state in
          state.waiting.count > written || state.isStopped
            ? (state.waiting, state.path, state.isStopped) : nil
        } ?? state.withLock { ($0.waiting, $0.path, $0.isStopped) }
      if let report { for line in lines.dropFirst(written) { report(line) } }
      written = lines.count
      if !isLast, let retry, !retry.hasPassed { continue }
      do throws(SystemError) {
        if let path, !lines.isEmpty { try append(lines, to: path) }
        if retry != nil, let path { StandardError.report("audit: \(path) is writable again") }
        (retry, written) = (nil, 0)
        state.update { $0.waiting.removeFirst(lines.count) }
      } catch {
        if retry == nil { StandardError.report("audit: \(error); retrying every second") }
        retry = .after(pause)
      }
      // `stop` is called after the last `record`, so no further lines follow.
      if isLast { return }
    }
  }

  private static func append(_ lines: [String], to path: String) throws(SystemError) {
    let descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw SystemError(operation: "open", object: path, code: errno) }
    defer { close(descriptor) }
    let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
    let length = lseek(descriptor, 0, SEEK_END)
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress.map { unsafe $0 + written }, bytes.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let code = errno
        // Removes a partly written line, so that the next line is not appended to it.
        if length >= 0 { ftruncate(descriptor, length) }
        throw SystemError(operation: "write", object: path, code: code)
      }
      written += count
    }
  }

  package var hasRoom: Bool { state.withLock { $0.waiting.count < Self.capacity } }

  package func record(_ entry: AuditEntry) {
    let line = entry.line(at: .now)
    state.update { state in
      // Lines beyond twice the capacity are dropped: failed logins are recorded without checking `hasRoom`.
      // Changes were accepted only below the capacity, so their lines have space.
      if state.waiting.count < 2 * Self.capacity { state.waiting.append(line) }
    }
  }

  /// Sets the path of the file for all waiting and later lines; nil for none.
  package func use(path: String?) { state.update { $0.path = path } }

  /// Prints and writes the waiting lines, then stops the thread. Call it once.
  package func stop() {
    state.update { $0.isStopped = true }
    thread.join()
  }
}
