/// A D-Bus value of any type. A variant is represented by its content.
indirect enum DBusValue: Hashable, Sendable {
  case flag(Bool)
  case integer(Int64)
  case unsigned(UInt64)
  case number(Double)
  /// A string, an object path or a signature.
  case text(String)
  /// An array or a structure.
  case list([DBusValue])
  case dictionary([DBusValue: DBusValue])

  /// The member of a dictionary; nil if missing.
  subscript(_ key: String) -> DBusValue? { self[.text(key)] }

  subscript(_ key: DBusValue) -> DBusValue? {
    if case .dictionary(let members) = self { members[key] } else { nil }
  }

  var text: String? { if case .text(let text) = self { text } else { nil } }

  var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }

  var list: [DBusValue] { if case .list(let list) = self { list } else { [] } }

  /// A non-negative integer; nil for other values.
  var unsigned: UInt64? {
    switch self {
    case .unsigned(let number): number
    case .integer(let number): UInt64(exactly: number)
    default: nil
    }
  }

  /// A finite number; nil for other values.
  var number: Double? {
    switch self {
    case .number(let number): number.isFinite ? number : nil
    case .integer(let number): Double(number)
    case .unsigned(let number): Double(number)
    default: nil
    }
  }
}
