internal import CPostgreSQL
internal import Glibc
internal import Platform

/// The failure of a command, with the server's message and error code.
package struct PostgreSQLError: Error, Hashable, CustomStringConvertible {
  /// The five-character SQLSTATE, such as "23505"; empty without a connection.
  package var state: String
  package var message: String

  package var description: String { message }

  /// True if the row already exists.
  var isUniqueViolation: Bool { state == "23505" }
  /// True if another connection holds a lock.
  var isLockTimeout: Bool { state == "55P03" }
  /// True if the table does not exist.
  var isUnknownTable: Bool { state == "42P01" }
  /// True if a row belongs in a partition that another connection created after this command started.
  var isCheckViolation: Bool { state == "23514" }
  /// True if the server aborted this transaction to resolve a deadlock.
  var isDeadlock: Bool { state == "40P01" }
  /// True if a replica cancelled the query, because the primary server removed data that the query reads. The
  /// query can be retried.
  var isRecoveryConflict: Bool { state == "40001" }
  /// True if the server's disk is full.
  var isDiskFull: Bool { state == "53100" }
}

/// A connection to a PostgreSQL server; calls block. The corresponding C type is `PGconn`.
@safe package struct PostgreSQLConnection: ~Copyable {
  private let handle: OpaquePointer
  private let shouldContinue: () -> Bool

  /// The time in s that a server has to react to a cancellation.
  private static let cancelTimeout = 0.5

  /// The rows of a query as text.
  package struct Rows {
    package var values: [[String?]]
    /// The number of rows changed by a command.
    var changed: Int
  }

  /// Connects to the first server that accepts.
  ///
  /// - Parameters:
  ///   - address: a URL or `key=value` pairs, as in all PostgreSQL clients; `PGPASSWORD`, `~/.pgpass` and
  ///     similar apply. If it names several servers, the connection timeout applies to each of them
  ///     separately.
  ///   - shouldContinue: called several times a second while waiting for the server; the command is cancelled
  ///     if it returns false.
  package init(_ address: String, shouldContinue: @escaping () -> Bool = { true }) throws(PostgreSQLError) {
    var problems: [String] = []
    for host in PostgreSQLHosts.attempts(address) where problems.isEmpty || shouldContinue() {
      do throws(PostgreSQLError) {
        self = try PostgreSQLConnection(address, host, shouldContinue)
        return
      } catch {
        if !problems.contains(error.message) { problems.append(error.message) }
      }
    }
    throw PostgreSQLError(state: "", message: problems.joined(separator: "; "))
  }

  /// Connects to one host.
  ///
  /// - Parameter host: connection parameters that replace those of the address.
  private init(
    _ address: String, _ host: [(key: String, value: String)], _ shouldContinue: @escaping () -> Bool
  ) throws(PostgreSQLError) {
    // These defaults apply unless the address sets the same parameters. A server that is switched off or
    // unreachable is detected within 25 s.
    let defaults = [
      ("connect_timeout", "10"), ("tcp_user_timeout", "30000"), ("keepalives_idle", "10"),
      ("keepalives_interval", "5"), ("keepalives_count", "3"), ("application_name", "odograph"),
      ("client_encoding", "UTF8"),
    ]
    let keys = CStringList(defaults.map(\.0) + ["dbname"] + host.map(\.key))
    let values = CStringList(defaults.map(\.1) + [address] + host.map(\.value))
    guard let handle = unsafe PQconnectStartParams(keys.pointers, values.pointers, 1) else {
      throw PostgreSQLError(state: "", message: "out of memory")
    }
    let end = unsafe Self.connect(handle, shouldContinue)
    guard end == .connected else {
      let seconds = unsafe Self.timeout(of: handle)
      let server = host.filter { $0.key.hasPrefix("host") || $0.key == "port" }.map(\.value)
      let silence =
        (server.isEmpty ? "" : server.joined(separator: ":") + ": ") + "no answer within \(Int(seconds)) s"
      let message = end == .silent ? silence : unsafe Self.text(PQerrorMessage(handle))
      unsafe PQfinish(handle)
      throw PostgreSQLError(state: "", message: message)
    }
    unsafe self.handle = unsafe handle
    self.shouldContinue = shouldContinue
    // The server's notices, for example that a table already exists, are not printed.
    unsafe PQsetNoticeProcessor(handle, { _, _ in }, nil)
  }

  private enum Attempt {
    case connected
    /// The server rejected the connection, or the wait was aborted.
    case failed
    case silent
  }

  private static func connect(_ handle: OpaquePointer, _ shouldContinue: () -> Bool) -> Attempt {
    let deadline = unsafe MonotonicTime.after(timeout(of: handle))
    var wanted = PGRES_POLLING_WRITING
    while unsafe PQstatus(handle) != CONNECTION_BAD {
      if wanted == PGRES_POLLING_OK { return .connected }
      guard wanted != PGRES_POLLING_FAILED else { return .failed }
      while unsafe !waits(handle, for: wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT) {
        guard !deadline.hasPassed else { return .silent }
        guard shouldContinue() else { return .failed }
      }
      wanted = unsafe PQconnectPoll(handle)
    }
    return .failed
  }

  /// Returns the connection timeout in seconds: that of the address, 10 s by default, a day for 0
  /// (unlimited).
  private static func timeout(of handle: OpaquePointer) -> Double {
    let seconds =
      unsafe PostgreSQLHosts.parameters(PQconninfo(handle))["connect_timeout"].flatMap(Int.init) ?? 10
    return seconds > 0 ? Double(min(seconds, 3600)) : 86_400
  }

  /// The parameters in effect for the connection, by keyword.
  package var parameters: [String: String] { unsafe PostgreSQLHosts.parameters(PQconninfo(handle)) }

  /// The host, address and port of the server to which this is connected.
  package var server: [String?] { ["host", "hostaddr", "port"].map { parameters[$0] } }

  /// Waits up to 50 ms for the socket; returns true if it is ready.
  private static func waits(_ handle: OpaquePointer, for events: Int32) -> Bool {
    var entry = unsafe pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
    return unsafe poll(&entry, 1, 50) != 0
  }

  deinit { unsafe PQfinish(handle) }

  /// Runs one or more commands, and returns the rows of the last one.
  @discardableResult
  package func run(_ sql: String) throws(PostgreSQLError) -> Rows {
    guard unsafe PQsendQuery(handle, sql) == 1 else { throw unsafe error(nil) }
    return try rows()
  }

  /// Runs one command with parameters `$1`, ….
  @discardableResult
  package func run(_ sql: String, _ parameters: [String]) throws(PostgreSQLError) -> Rows {
    let list = CStringList(parameters)
    guard
      unsafe PQsendQueryParams(handle, sql, Int32(parameters.count), nil, list.pointers, nil, nil, 0) == 1
    else { throw unsafe error(nil) }
    return try rows()
  }

  /// Runs a prepared statement with binary parameters.
  package func run(prepared name: String, _ parameters: [[UInt8]]) throws(PostgreSQLError) {
    let bytes = parameters.flatMap(\.self)
    let lengths = parameters.map { Int32(clamping: $0.count) }
    let formats = parameters.map { _ in Int32(1) }
    let isSent = unsafe bytes.withUnsafeBytes { buffer in
      var values: [UnsafePointer<CChar>?] = unsafe []
      var offset = 0
      for parameter in parameters {
        unsafe values.append(
          buffer.baseAddress?.advanced(by: offset).assumingMemoryBound(to: CChar.self))
        offset += parameter.count
      }
      return unsafe PQsendQueryPrepared(
        handle, name, Int32(parameters.count), values, lengths, formats, 0)
    }
    guard isSent == 1 else { throw unsafe error(nil) }
    _ = try rows()
  }

  /// Sends one command without parameters; `receiveBinary` returns its rows.
  func sendBinary(_ sql: String) throws(PostgreSQLError) {
    guard unsafe PQsendQueryParams(handle, sql, 0, nil, nil, nil, nil, 1) == 1 else {
      throw unsafe error(nil)
    }
  }

  /// Reads the data that have arrived, without waiting. The server is then not blocked by a full socket
  /// buffer.
  func takeIn() { _ = unsafe PQconsumeInput(handle) }

  /// Returns the rows of the command sent by `sendBinary`.
  /// - Parameter waiting: called repeatedly until all rows have arrived.
  func receiveBinary(_ waiting: () -> Void) throws(PostgreSQLError) -> BinaryRows {
    var last: OpaquePointer?
    do throws(PostgreSQLError) {
      while let result = unsafe nextResult(waiting) {
        unsafe PQclear(last)
        unsafe last = unsafe result
        if unsafe PQstatus(handle) != CONNECTION_OK { break }
      }
      try unsafe check(last)
    } catch {
      unsafe PQclear(last)
      throw error
    }
    guard let result = unsafe last else { throw unsafe error(nil) }
    return unsafe BinaryRows(result: result)
  }

  /// Returns the rows of the last command that was sent; throws the first error of all commands that were
  /// sent.
  private func rows() throws(PostgreSQLError) -> Rows {
    var last: OpaquePointer?
    defer { unsafe PQclear(last) }
    var problem: PostgreSQLError?
    while let result = unsafe nextResult() {
      if problem == nil {
        do throws(PostgreSQLError) { try unsafe check(result) } catch { problem = error }
      }
      unsafe PQclear(last)
      unsafe last = unsafe result
      if unsafe PQstatus(handle) != CONNECTION_OK { break }
    }
    if let problem { throw problem }
    guard unsafe last != nil else { throw unsafe error(nil) }
    return unsafe Self.rows(last)
  }

  /// Returns the next result; nil after the last one, and if the server does not react to a cancellation.
  private func nextResult(_ waiting: () -> Void = {}) -> OpaquePointer? {
    var limit: MonotonicTime?
    while unsafe PQisBusy(handle) == 1 {
      waiting()
      if unsafe Self.waits(handle, for: POLLIN) {
        guard unsafe PQconsumeInput(handle) == 1 else { break }
      } else if let limit {
        guard !limit.hasPassed else { return nil }
      } else if !shouldContinue() {
        limit = .after(Self.cancelTimeout)
        cancel()
      }
    }
    return unsafe PQgetResult(handle)
  }

  /// Requests the server to cancel the command, over a separate connection on its own thread. The caller does
  /// not wait, because that connection can block, too.
  private func cancel() {
    nonisolated(unsafe) let request = unsafe PQgetCancel(handle)
    let thread = try? DedicatedThread.start(name: "cancel") {
      var message = [CChar](repeating: 0, count: 256)
      _ = unsafe PQcancel(request, &message, Int32(message.count))
      unsafe PQfreeCancel(request)
    }
    thread?.detach()
  }

  /// Sends the data of a `COPY … FROM STDIN`.
  package func copy(_ sql: String, _ bytes: [UInt8]) throws(PostgreSQLError) {
    let start = unsafe PQexec(handle, sql)
    let isReady = unsafe PQresultStatus(start) == PGRES_COPY_IN
    defer { unsafe PQclear(start) }
    guard isReady else { throw unsafe error(start) }
    var failed = false
    unsafe bytes.withUnsafeBytes { buffer in
      // The data are sent in chunks, because a call accepts at most 2 GiB.
      var offset = 0
      while offset < buffer.count, !failed {
        let count = min(1 << 20, buffer.count - offset)
        let base = unsafe buffer.baseAddress?.advanced(by: offset).assumingMemoryBound(to: CChar.self)
        failed = unsafe PQputCopyData(handle, base, Int32(count)) != 1
        offset += count
      }
    }
    if unsafe PQputCopyEnd(handle, nil) != 1 { failed = true }
    var problem: PostgreSQLError?
    while let result = unsafe PQgetResult(handle) {
      if unsafe PQresultStatus(result) != PGRES_COMMAND_OK { problem = unsafe error(result) }
      unsafe PQclear(result)
      if unsafe PQstatus(handle) != CONNECTION_OK { break }
    }
    if let problem { throw problem }
    if failed { throw unsafe error(nil) }
  }

  private func check(_ result: OpaquePointer?) throws(PostgreSQLError) {
    let status = unsafe PQresultStatus(result)
    guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK else { throw unsafe error(result) }
  }

  private func error(_ result: OpaquePointer?) -> PostgreSQLError {
    let state = unsafe PQresultErrorField(result, Int32(UInt8(ascii: "C")))
    let message = unsafe PQresultErrorField(result, Int32(UInt8(ascii: "M")))
    guard let state = unsafe state, let message = unsafe message else {
      return PostgreSQLError(state: "", message: unsafe Self.text(PQerrorMessage(handle)))
    }
    var error = unsafe PostgreSQLError(state: String(cString: state), message: Self.text(message))
    // The detail of this error names the objects that depend on the dropped one.
    if error.state == "2BP01", let detail = unsafe PQresultErrorField(result, Int32(UInt8(ascii: "D"))) {
      error.message += unsafe ": " + Self.text(detail)
    }
    return error
  }

  private static func rows(_ result: OpaquePointer?) -> Rows {
    let columns = unsafe PQnfields(result)
    let values = unsafe (0..<PQntuples(result)).map { row in
      (0..<columns).map { column -> String? in
        guard unsafe PQgetisnull(result, row, column) == 0 else { return nil }
        return unsafe String(cString: PQgetvalue(result, row, column))
      }
    }
    return Rows(values: values, changed: unsafe Int(String(cString: PQcmdTuples(result))) ?? 0)
  }

  /// Converts an error message of libpq, which can have several lines, to one line.
  private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
    guard let pointer = unsafe pointer else { return "the connection is lost" }
    let lines = unsafe String(cString: pointer).split(separator: "\n").map { line in
      line.drop { $0 == " " || $0 == "\t" }
    }
    return lines.isEmpty ? "the connection is lost" : lines.joined(separator: "; ")
  }
}

/// An array of C strings, terminated by a null pointer.
@safe private struct CStringList: ~Copyable {
  let pointers: [UnsafePointer<CChar>?]

  init(_ texts: [String]) {
    unsafe pointers =
      unsafe texts.map { text -> UnsafePointer<CChar>? in unsafe UnsafePointer(strdup(text)) } + [nil]
  }

  deinit {
    let count = unsafe pointers.count
    for index in 0..<count { unsafe free(UnsafeMutablePointer(mutating: pointers[index])) }
  }
}
