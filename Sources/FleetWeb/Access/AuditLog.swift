internal import Fleet
internal import FleetConsole
internal import Glibc
internal import JSON
package import Platform
internal import Spatial

/// One line of the audit. Secrets are never in it: names, addresses, paths and outcomes are all that it has.
package struct AuditEntry: Sendable {
  /// What was done, as `login`, `logout`, `share` or a request's method and path.
  package var action: String
  /// Who, as far as the server knows.
  package var who: String
  /// The client's address.
  package var from: String
  /// For whom: `fleet/vehicle` each.
  package var vehicles: [String]
  /// `done`, or the code of a refusal.
  package var outcome: String
  /// The answer's HTTP status; nil where there is none.
  package var status: Int?
  package var detail: String?

  package init(
    action: String, who: String, from: String, vehicles: [String] = [], outcome: String, status: Int? = nil,
    detail: String? = nil
  ) {
    (self.action, self.who, self.from, self.vehicles) = (action, who, from, vehicles)
    (self.outcome, self.status, self.detail) = (outcome, status, detail)
  }

  /// Vehicles that a route has named, beside that of the path.
  mutating func add(_ named: [String]?) { vehicles += (named ?? []).filter { !vehicles.contains($0) } }

  /// One line of JSON without its end.
  package func line(at time: Int64) -> String {
    var writer = JSONWriter()
    writer.openObject()
    writer.field("time", UTCTime(nanoseconds: time).rfc3339)
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

/// Writes the audit to standard error, where the journal takes it, and to a file of its own. A thread of its own does it, in
/// the order of the calls; the file is opened for each batch, so that it can be moved away at any time. Lines that a full disk
/// does not take wait for it, and are said all the same.
package final class AuditLog: Sendable {
  private struct State {
    /// Lines that the file does not have yet, oldest first.
    var waiting: [String] = []
    var path: String?
    var isStopped = false
  }

  /// Lines that wait at most. What would change a vehicle is refused while there is no room.
  package static let capacity = 4096
  /// Nanoseconds between two attempts at a file that cannot be written.
  private static let pause: Int64 = 1_000_000_000

  private let state: Monitor<State>
  private let thread: DedicatedThread

  /// - Parameters:
  ///   - path: of the file that lines are appended to, made with mode 0600; nil for none.
  ///   - said: takes each line once, at once and in order, also while the file cannot be written; nil for nobody.
  /// - Throws: `SystemError` when the file cannot be written, or there is no room for a thread.
  package init(
    path: String?, said: (@Sendable (String) -> Void)? = { StandardError.say("audit \($0)") }
  ) throws(SystemError) {
    if let path { try Self.append([], to: path) }
    let state = Monitor(State(path: path))
    self.state = state
    thread = try .start(name: "audit") { Self.write(state, said) }
  }

  private static func write(_ state: Monitor<State>, _ say: (@Sendable (String) -> Void)?) {
    // How many of the lines that wait were said.
    var said = 0
    // When the file is tried again (monotonic ns); nil while it can be written.
    var retry: Int64?
    while true {
      let (lines, path, isLast) =
        state.wait(until: retry) { [said] state in
          state.waiting.count > said || state.isStopped ? (state.waiting, state.path, state.isStopped) : nil
        } ?? state.withLock { ($0.waiting, $0.path, $0.isStopped) }
      if let say { for line in lines.dropFirst(said) { say(line) } }
      said = lines.count
      if !isLast, let retry, SystemClock.monotonic < retry { continue }
      do throws(SystemError) {
        if let path, !lines.isEmpty { try append(lines, to: path) }
        if retry != nil, let path { StandardError.say("audit: \(path) is written again") }
        (retry, said) = (nil, 0)
        state.update { $0.waiting.removeFirst(lines.count) }
      } catch {
        if retry == nil { StandardError.say("audit: \(error); tried again each second") }
        retry = SystemClock.monotonic + pause
      }
      // Lines that came after the call to `stop` were never let in.
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
        // No half of a line stays for the next one to be glued to.
        if length >= 0 { ftruncate(descriptor, length) }
        throw SystemError(operation: "write", object: path, code: code)
      }
      written += count
    }
  }

  package var hasRoom: Bool { state.withLock { $0.waiting.count < Self.capacity } }

  package func record(_ entry: AuditEntry) {
    let line = entry.line(at: SystemClock.realtime)
    state.update { state in
      // Failed logins can come without end; of what changes something, only what was let in while there was room is here.
      if state.waiting.count < 2 * Self.capacity { state.waiting.append(line) }
    }
  }

  /// Goes on in another file.
  package func use(path: String?) { state.update { $0.path = path } }

  /// Says and writes what waits, then ends the thread. Call it once.
  package func stop() {
    state.update { $0.isStopped = true }
    thread.join()
  }
}
