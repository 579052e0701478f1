internal import CSystemd
internal import Glibc

/// A reader of a D-Bus message.
@safe struct DBusMessage: ~Copyable {
  /// The maximum numbers of values and nesting levels in a message.
  private static let (mostValues, mostLevels) = (20_000, 16)

  private let message: OpaquePointer
  private var count = 0

  /// Adopts a message.
  ///
  /// - Parameter message: released by `deinit`.
  init(adopting message: OpaquePointer) { unsafe self.message = message }

  deinit { _ = unsafe sd_bus_message_unref(message) }

  /// Returns the first argument; nil if there is none, or if it is damaged or exceeds the limits.
  mutating func firstValue() -> DBusValue? {
    count = 0
    return unsafe sd_bus_message_rewind(message, 1) >= 0 ? value(level: 0) : nil
  }

  private mutating func value(level: Int) -> DBusValue? {
    var type: CChar = 0
    var contents: UnsafePointer<CChar>?
    guard unsafe sd_bus_message_peek_type(message, &type, &contents) > 0 else { return nil }
    count += 1
    guard count <= Self.mostValues, level <= Self.mostLevels else { return nil }
    switch UInt8(bitPattern: type) {
    case UInt8(ascii: "a"):
      let isDictionary =
        unsafe contents.map { unsafe $0.pointee == CChar(bitPattern: UInt8(ascii: "{")) } ?? false
      return unsafe inside(type, contents) { reader in
        isDictionary ? reader.dictionary(level: level + 1) : reader.list(level: level + 1)
      }
    case UInt8(ascii: "v"): return unsafe inside(type, contents) { $0.value(level: level + 1) }
    case UInt8(ascii: "r"): return unsafe inside(type, contents) { $0.list(level: level + 1) }
    default: return basic(type)
    }
  }

  private mutating func inside(
    _ type: CChar, _ contents: UnsafePointer<CChar>?, _ read: (inout DBusMessage) -> DBusValue?
  ) -> DBusValue? {
    guard unsafe sd_bus_message_enter_container(message, type, contents) > 0, let value = read(&self),
      unsafe sd_bus_message_exit_container(message) >= 0
    else { return nil }
    return value
  }

  private mutating func list(level: Int) -> DBusValue? {
    var elements: [DBusValue] = []
    while unsafe sd_bus_message_at_end(message, 0) == 0 {
      guard let element = value(level: level) else { return nil }
      elements.append(element)
    }
    return .list(elements)
  }

  private mutating func dictionary(level: Int) -> DBusValue? {
    var members: [DBusValue: DBusValue] = [:]
    while unsafe sd_bus_message_at_end(message, 0) == 0 {
      var type: CChar = 0
      var contents: UnsafePointer<CChar>?
      guard unsafe sd_bus_message_peek_type(message, &type, &contents) > 0,
        unsafe sd_bus_message_enter_container(message, type, contents) > 0,
        let key = value(level: level), let member = value(level: level),
        unsafe sd_bus_message_exit_container(message) >= 0
      else { return nil }
      members[key] = member
    }
    return .dictionary(members)
  }

  private func basic(_ type: CChar) -> DBusValue? {
    switch UInt8(bitPattern: type) {
    case UInt8(ascii: "b"): read(type, Int32(0)).map { .flag($0 != 0) }
    case UInt8(ascii: "y"): read(type, UInt8(0)).map { .unsigned(UInt64($0)) }
    case UInt8(ascii: "n"): read(type, Int16(0)).map { .integer(Int64($0)) }
    case UInt8(ascii: "q"): read(type, UInt16(0)).map { .unsigned(UInt64($0)) }
    case UInt8(ascii: "i"): read(type, Int32(0)).map { .integer(Int64($0)) }
    case UInt8(ascii: "u"): read(type, UInt32(0)).map { .unsigned(UInt64($0)) }
    case UInt8(ascii: "x"): read(type, Int64(0)).map { .integer($0) }
    case UInt8(ascii: "t"): read(type, UInt64(0)).map { .unsigned($0) }
    case UInt8(ascii: "d"): read(type, 0.0).map { .number($0) }
    case UInt8(ascii: "s"), UInt8(ascii: "o"), UInt8(ascii: "g"): text(type)
    default: nil
    }
  }

  private func read<Number: BitwiseCopyable>(_ type: CChar, _ zero: Number) -> Number? {
    var number = zero
    return unsafe sd_bus_message_read_basic(message, type, &number) > 0 ? number : nil
  }

  private func text(_ type: CChar) -> DBusValue? {
    var text: UnsafePointer<CChar>?
    guard unsafe sd_bus_message_read_basic(message, type, &text) > 0, let text = unsafe text else {
      return nil
    }
    return .text(unsafe String(cString: text))
  }
}

extension DBusMessage {
  /// Returns whether the message is the reply to a call.
  func answers(_ cookie: UInt64) -> Bool {
    var answered: UInt64 = 0
    return unsafe sd_bus_message_get_reply_cookie(message, &answered) >= 0 && answered == cookie
  }

  /// The error of an error reply; nil for a result.
  var refusal: DBusConnection.Failure? {
    guard let error = unsafe sd_bus_message_get_error(message), let name = unsafe error.pointee.name else {
      return nil
    }
    let text = unsafe error.pointee.message.map { unsafe String(cString: $0) }
    return .refused(name: unsafe String(cString: name), message: text ?? "")
  }
}
