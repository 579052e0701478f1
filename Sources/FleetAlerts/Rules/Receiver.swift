internal import Fleet
internal import FleetProgram
internal import Platform
package import Transfers

/// A receiver of alerts: a webhook or a mail address.
package struct Receiver: Hashable, Sendable {
  package enum Way: Hashable, Sendable {
    case webhook(WebhookReceiver)
    case mail(MailReceiver)
  }

  /// The name of the receiver in the configuration.
  package var name: String
  package var way: Way
  /// The maximum number of messages that are sent to the receiver simultaneously. Simultaneous messages are
  /// about different vehicles.
  package var connections: Int

  package init(name: String, way: Way, connections: Int = 4) {
    (self.name, self.way, self.connections) = (name, way, connections)
  }

  init(webhook table: SettingsTable) throws(FleetError) {
    self.init(
      name: table.name, way: .webhook(try WebhookReceiver(table)),
      connections: try table.integer("connections", in: 1...32) ?? 4)
  }

  init(mail table: SettingsTable) throws(FleetError) {
    self.init(
      name: table.name, way: .mail(try MailReceiver(table)),
      connections: try table.integer("connections", in: 1...32) ?? 1)
  }
}

/// A program that receives alerts as HTTP requests.
package struct WebhookReceiver: Hashable, Sendable {
  static let keys = ["url", "secret_file", "ca_file", "timeout", "connections"]

  package var url: String
  /// The secret for signatures; nil for messages without a signature, which may only be sent to this machine.
  package var secret: [UInt8]?
  package var authorities: String?
  /// The time limit in s for a complete transfer.
  package var timeout = 10.0
  package var isLocal: Bool

  package init(url: String, secret: [UInt8]?, isLocal: Bool) {
    (self.url, self.secret, self.isLocal) = (url, secret, isLocal)
  }

  init(_ table: SettingsTable) throws(FleetError) {
    guard let url = try table.text("url") else {
      throw table.wrong("url", "it is missing; write url = \"https://HOST/PATH\"")
    }
    guard let address = WebAddress(url), ["http", "https"].contains(address.scheme), address.hasSoundHost,
      url.utf8.count <= 2000, url.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
    else { throw table.wrong("url", "not a web address; expected https://HOST/PATH") }
    guard !address.authority.contains("@") else {
      throw table.wrong("url", "a user and a password have no place in it; messages are signed (secret_file)")
    }
    guard address.scheme == "https" || address.isLoopback else {
      throw table.wrong("url", "notifications would be sent unencrypted; use https")
    }
    let secret = try table.file("secret_file").map { path throws(FleetError) in
      Array(try table.secret(path, key: "secret_file").utf8)
    }
    guard secret != nil || address.isLoopback else {
      throw table.wrong(
        "secret_file",
        "missing; write a secret of at least 16 characters into a file, with which the receiver verifies signatures"
      )
    }
    if let secret, secret.count < 16 {
      throw table.wrong("secret_file", "the secret has \(secret.count) characters; 16 are needed at least")
    }
    self.init(url: url, secret: secret, isLocal: address.isLoopback)
    authorities = try table.file("ca_file")
    if let seconds = try table.duration("timeout") {
      guard seconds <= 120 else { throw table.wrong("timeout", "must be at most two minutes") }
      timeout = seconds
    }
  }
}

/// A receiver of alerts by mail.
package struct MailReceiver: Hashable, Sendable {
  static let keys = [
    "server", "from", "to", "user", "password_file", "ca_file", "starttls", "timeout", "connections",
  ]

  package var server: MailServer
  package var sender: String
  package var recipients: [String]
  package var timeout = 30.0

  package init(server: MailServer, sender: String, recipients: [String]) {
    (self.server, self.sender, self.recipients) = (server, sender, recipients)
  }

  init(_ table: SettingsTable) throws(FleetError) {
    guard let url = try table.text("server") else {
      throw table.wrong("server", "it is missing; write server = \"smtp://HOST:587\" or \"smtps://HOST:465\"")
    }
    guard let address = WebAddress(url), ["smtp", "smtps"].contains(address.scheme), address.hasSoundHost,
      !address.authority.contains("@"), url.utf8.count <= 500,
      url.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
    else { throw table.wrong("server", "not a mail server; expected smtp://HOST:587 or smtps://HOST:465") }
    guard let sender = try table.text("from") else {
      throw table.wrong("from", "it is missing; write the address that letters come from")
    }
    guard Self.isAddress(sender) else {
      throw table.wrong("from", "not a mail address, for example ann@example.org")
    }
    guard let recipients = try table.texts("to"), !recipients.isEmpty else {
      throw table.wrong("to", "it is missing; write one address, or a list of them")
    }
    for recipient in recipients where !Self.isAddress(recipient) {
      throw table.wrong(
        "to", "\"\(recipient.prefix(80))\" is not a mail address, for example ann@example.org")
    }
    let user = try table.text("user")
    let password = try table.file("password_file").map { path throws(FleetError) in
      try table.secret(path, key: "password_file")
    }
    guard (user == nil) == (password == nil) else {
      throw table.wrong(
        user == nil ? "user" : "password_file", "user and password_file go together; write both")
    }
    let isOpen = try table.flag("starttls") == false
    guard !isOpen || password == nil || address.isLoopback else {
      throw table.wrong("starttls", "the password would be sent unencrypted; leave it true")
    }
    self.init(
      server: MailServer(
        url: url, requiresEncryption: !isOpen, user: user, password: password,
        authorities: try table.file("ca_file")), sender: sender, recipients: recipients)
    if let seconds = try table.duration("timeout") {
      guard seconds <= 120 else { throw table.wrong("timeout", "must be at most two minutes") }
      timeout = seconds
    }
  }

  /// Returns whether a text is a plain mail address. Spaces, quotes and brackets are rejected, because they
  /// could change the mail's header.
  static func isAddress(_ text: String) -> Bool {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    return parts.count == 2 && !parts.contains("") && text.utf8.count <= 254
      && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
      && !text.contains { "<>()[]\\\",;:".contains($0) }
  }
}

extension SettingsTable {
  /// Returns the first line of a file.
  /// - Throws: `FleetError` for an unreadable file, and for an empty first line.
  fileprivate func secret(_ path: String, key: String) throws(FleetError) -> String {
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try AtomicFile.contents(of: path, limit: 4096) } catch {
      throw wrong(key, "\(path): \(SystemError.message(for: error.code))")
    }
    let line = bytes.prefix { $0 != 0x0a && $0 != 0x0d }
    guard !line.isEmpty, line.allSatisfy({ (0x20...0x7e).contains($0) }) else {
      throw wrong(key, "the first line of \(path) is empty or not plain ASCII")
    }
    return String(decoding: line, as: UTF8.self)
  }
}
