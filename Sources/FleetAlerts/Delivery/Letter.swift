internal import Glibc
internal import Spatial

/// A letter as RFC 5322 has it. Whatever a vehicle calls itself, it adds no line to the head: controls become blanks, and what is not
/// ASCII is encoded (RFC 2047).
enum Letter {
  /// - Parameter key: names it, so that whoever gets it twice sees that it is one.
  static func text(
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

  /// A field's text: as it is where it is short and plain ASCII, else in encoded words of at most 75 characters.
  static func header(_ text: String) -> String {
    let text = safe(String(text.prefix(200)), keepsLines: false)
    if text.utf8.count <= 60, text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }), !text.contains("=?") {
      return text
    }
    var words: [String] = []
    var piece: [UInt8] = []
    func word(_ bytes: [UInt8]) -> String { "=?UTF-8?B?\(Signature.base64(bytes, lineLength: 100))?=" }
    for character in text {
      // 45 bytes are 60 characters of base64, and 12 more are around them; no character is cut.
      let bytes = Array(character.utf8)
      if !piece.isEmpty, piece.count + bytes.count > 45 {
        words.append(word(piece))
        piece = []
      }
      // A character may be of many marks: as many as fit.
      piece += bytes.count > 45 ? Array("?".utf8) : bytes
    }
    if !piece.isEmpty { words.append(word(piece)) }
    return words.joined(separator: "\r\n ")
  }

  /// Controls, and what turns the direction of writing, become blanks.
  static func safe(_ text: String, keepsLines: Bool) -> String {
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

  /// As in `Mon, 23 Nov 2026 18:55:04 +0000`.
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
