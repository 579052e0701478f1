package import LocalProtocols
package import Pipeline
internal import Platform
internal import Settings

extension AgentConfiguration {
  /// A service that provides positions to programs on this machine, in one protocol.
  package struct LocalService: Sendable, Hashable {
    package enum Dialect: String, Sendable, Hashable, CaseIterable {
      case nmea
      case gpsd

      /// Table of the service's keys.
      package var table: String { self == .nmea ? "nmea" : "gpsd_server" }
    }

    /// A user or group whose programs have another access to the Unix socket than the service's own.
    package struct Rule: Sendable, Hashable {
      /// Name or number; `isGroup` selects which.
      package var name: String
      package var isGroup: Bool
      package var accuracy: LocalAccess.Accuracy
    }

    package var dialect: Dialect
    /// TCP addresses.
    package var addresses: [ListeningAddress]
    /// Path of the Unix socket; nil for none.
    package var socket: String?
    /// File mode of the Unix socket.
    package var mode: UInt32
    /// Name or number of the Unix socket's group; nil for that of the process.
    package var group: String?
    package var access: LocalAccess
    /// Rules in order; the first that matches applies.
    package var rules: [Rule]
    /// Interval in s between reports.
    package var interval: Double
    /// Maximum number of connections.
    package var capacity: Int
    /// Sentences of NMEA 0183; empty for gpsd's protocol.
    package var sentences: Set<NMEAWriter.Sentence>
  }
}

extension AgentConfiguration.LocalService {
  /// Protocol and addresses.
  var name: String {
    let names = addresses.map(\.description) + [socket].compactMap { $0 }
    return "\(dialect.rawValue) \(names.joined(separator: " "))"
  }

  /// Nil if the service is off.
  init?(
    _ dialect: Dialect, _ reader: ConfigurationReader
  ) throws(ConfigurationError) {
    let table = dialect.table
    self.dialect = dialect
    addresses = []
    for text in try reader.texts("\(table).listen") {
      guard let address = ListeningAddress(text) else {
        throw reader.problem(
          "\(table).listen",
          "\"\(text.prefix(80))\" is not a numeric address with a port; write it as in 127.0.0.1:10110 or [::1]:10110"
        )
      }
      addresses.append(address)
    }
    socket = reader.optionalText("\(table).socket")
    if let socket, !socket.hasPrefix("/") {
      throw reader.problem("\(table).socket", "\"\(socket.prefix(80))\" is not an absolute path")
    }
    if let socket, socket.utf8.count > LocalSocket.pathLimit {
      throw reader.problem(
        "\(table).socket", "is longer than the \(LocalSocket.pathLimit) bytes of a socket's address")
    }
    let text = try reader.text("\(table).socket_mode")
    guard let mode = UInt32(text, radix: 8), mode <= 0o777 else {
      throw reader.problem(
        "\(table).socket_mode", "\"\(text.prefix(80))\" is not an octal file mode; write it as in 0660")
    }
    self.mode = mode
    group = reader.optionalText("\(table).socket_group")
    access = LocalAccess(
      try reader.choice("\(table).accuracy"), privacy: try reader.choice("\(table).privacy"))
    rules = []
    for text in try reader.texts("\(table).access") {
      guard let rule = Rule(text) else {
        throw reader.problem(
          "\(table).access",
          "\"\(text.prefix(80))\" is not a rule; write it as in alice=exact, or @staff=reduced for a group")
      }
      rules.append(rule)
    }
    interval = 1 / (try reader.number("\(table).rate"))
    capacity = try reader.integer("\(table).clients")
    sentences = []
    if dialect == .nmea { sentences = try reader.choices("nmea.sentences") }
    if addresses.isEmpty, socket == nil { return nil }
    let (isRead, port) = (try reader.flag("gpsd.enabled"), try reader.integer("gpsd.port"))
    let host = try reader.text("gpsd.host")
    let isHere = host == "localhost" || host == "::1" || host.hasPrefix("127.")
    if isRead, isHere, let address = addresses.first(where: { Int($0.port) == port }) {
      throw reader.problem(
        "\(table).listen",
        "\(address) is the port of the gpsd that the agent reads (gpsd.port); choose another one", .conflict)
    }
  }
}

extension AgentConfiguration.LocalService.Rule {
  /// Parses `alice=exact`, or `@staff=reduced` for a group; nil for any other text.
  init?(_ text: String) {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false)
    guard parts.count == 2, let accuracy = LocalAccess.Accuracy(rawValue: String(parts[1])) else {
      return nil
    }
    isGroup = parts[0].hasPrefix("@")
    name = String(isGroup ? parts[0].dropFirst() : parts[0])
    self.accuracy = accuracy
    guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: ":")) else { return nil }
  }
}
