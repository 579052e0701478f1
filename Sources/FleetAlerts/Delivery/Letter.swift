internal import Glibc
package import Spatial

/// The format of mails (RFC 5322). Vehicle names cannot add header lines, because control characters are
/// replaced by spaces, and non-ASCII text is encoded (RFC 2047).
package enum Letter {
  /// Returns a complete mail.
  ///
  /// - Parameter key: the text for the message identifier, which is the same for each attempt, so that mail
  ///   programs can detect duplicates.
  package static func text(
    from sender: String, to recipients: [String], subject: String, body: [UInt8], key: String,
    at time: UTCTime
  ) -> [UInt8] {
    let domain = sender.split(separator: "@").last.map(String.init) ?? "localhost"
    let lines = [
      "From: <\(sender)>", "To: " + recipients.map { "<\($0)>" }.joined(separator: ",\r\n "),
      "Subject: " + header("[odograph] \(subject)"), "Date: \(date(time))",
      "Message-ID: <\(key.prefix(100).map { $0.isASCII && ($0.isLetter || $0.isNumber || "-.".contains($0)) ? String($0) : "." }.joined())@\(domain)>",
      "Auto-Submitted: auto-generated", "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8",
      "Content-Transfer-Encoding: base64", "",
      Signature.base64(Array(safe(String(decoding: body, as: UTF8.self), keepsLines: true).utf8)), "",
    ]
    return Array(lines.joined(separator: "\r\n").utf8)
  }

  /// Returns the value of a header. Short ASCII text is unchanged; other text is encoded in words of at most
  /// 75 characters.
  static func header(_ text: String) -> String {
    let text = safe(String(text.prefix(200)), keepsLines: false)
    if text.utf8.count <= 60, text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }), !text.contains("=?") {
      return text
    }
    var words: [String] = []
    var piece: [UInt8] = []
    func word(_ bytes: [UInt8]) -> String { "=?UTF-8?B?\(Signature.base64(bytes, lineLength: 100))?=" }
    for character in text {
      // 45 bytes become 60 characters of base64, and an encoded word adds 12. A character must not be split
      // between words.
      let bytes = Array(character.utf8)
      if !piece.isEmpty, piece.count + bytes.count > 45 {
        words.append(word(piece))
        piece = []
      }
      // A character with many combining marks can exceed 45 bytes; it is replaced by a question mark.
      piece += bytes.count > 45 ? Array("?".utf8) : bytes
    }
    if !piece.isEmpty { words.append(word(piece)) }
    return words.joined(separator: "\r\n ")
  }

  /// Replaces control characters and bidirectional formatting by spaces.
  package static func safe(_ text: String, keepsLines: Bool) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          if keepsLines && scalar == "\n" { return scalar }
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator: return " "
          default: return scalar
          }
        }))
  }

  /// Returns a date such as `Mon, 23 Nov 2026 18:55:04 +0000`.
  static func date(_ time: UTCTime) -> String {
    var seconds = time_t(time.nanoseconds / 1_000_000_000)
    var fields = unsafe tm()
    guard unsafe gmtime_r(&seconds, &fields) != nil else { return "" }
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + "\(number)" }
    let (day, month) = unsafe (days[Int(fields.tm_wday) % 7], months[Int(fields.tm_mon) % 12])
    let clock = unsafe [fields.tm_hour, fields.tm_min, fields.tm_sec].map(two).joined(separator: ":")
    return unsafe "\(day), \(two(fields.tm_mday)) \(month) \(fields.tm_year + 1900) \(clock) +0000"
  }
}
