internal import CPostgreSQL
internal import Glibc

/// A failed command: what the server says, by its code.
struct PostgreSQLError: Error, Hashable, CustomStringConvertible {
  /// Five characters, as in "23505"; empty when there is no connection.
  var state: String
  var message: String

  var description: String { message }

  /// The row is there already.
  var isUniqueViolation: Bool { state == "23505" }
}

/// One connection to a PostgreSQL server; calls block. The corresponding C type is `PGconn`.
@safe struct PostgreSQLConnection: ~Copyable {
  private let handle: OpaquePointer

  /// Rows of a query, as text.
  struct Rows {
    var values: [[String?]]
    /// How many rows a command changed.
    var changed: Int
  }

  /// - Parameter address: a URL or `key=value` pairs, as everywhere with PostgreSQL; `PGPASSWORD`, `~/.pgpass` and
  ///   the like are heeded.
  init(_ address: String) throws(PostgreSQLError) {
    // What the address says itself goes before these.
    let defaults = [
      ("connect_timeout", "10"), ("tcp_user_timeout", "30000"), ("application_name", "odograph"),
      ("client_encoding", "UTF8"),
    ]
    let keys = CStringList(defaults.map(\.0) + ["dbname"])
    let values = CStringList(defaults.map(\.1) + [address])
    guard let handle = unsafe PQconnectdbParams(keys.pointers, values.pointers, 1) else {
      throw PostgreSQLError(state: "", message: "out of memory")
    }
    guard unsafe PQstatus(handle) == CONNECTION_OK else {
      let message = unsafe Self.text(PQerrorMessage(handle))
      unsafe PQfinish(handle)
      throw PostgreSQLError(state: "", message: message)
    }
    unsafe self.handle = unsafe handle
    // Notices, as of a table that is there already, are not for stderr.
    unsafe PQsetNoticeProcessor(handle, { _, _ in }, nil)
  }

  deinit { unsafe PQfinish(handle) }

  /// Runs commands, of which the last one's rows are returned.
  @discardableResult
  func run(_ sql: String) throws(PostgreSQLError) -> Rows {
    let result = unsafe PQexec(handle, sql)
    defer { unsafe PQclear(result) }
    try unsafe check(result)
    return unsafe Self.rows(result)
  }

  /// Runs one command with parameters `$1`, ….
  @discardableResult
  func run(_ sql: String, _ parameters: [String]) throws(PostgreSQLError) -> Rows {
    let list = CStringList(parameters)
    let result = unsafe PQexecParams(handle, sql, Int32(parameters.count), nil, list.pointers, nil, nil, 0)
    defer { unsafe PQclear(result) }
    try unsafe check(result)
    return unsafe Self.rows(result)
  }

  /// Sends the bytes of a `COPY … FROM STDIN`.
  func copy(_ sql: String, _ bytes: [UInt8]) throws(PostgreSQLError) {
    let start = unsafe PQexec(handle, sql)
    let isReady = unsafe PQresultStatus(start) == PGRES_COPY_IN
    defer { unsafe PQclear(start) }
    guard isReady else { throw unsafe error(start) }
    var failed = false
    unsafe bytes.withUnsafeBytes { buffer in
      // In portions, as one call takes no more than 2 GiB.
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
    return unsafe PostgreSQLError(state: String(cString: state), message: Self.text(message))
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

  /// One line of what libpq says in several.
  private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
    guard let pointer = unsafe pointer else { return "the connection is lost" }
    let lines = unsafe String(cString: pointer).split(separator: "\n").map { line in
      line.drop { $0 == " " || $0 == "\t" }
    }
    return lines.isEmpty ? "the connection is lost" : lines.joined(separator: "; ")
  }
}

/// Texts for C, ended by a null pointer.
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
