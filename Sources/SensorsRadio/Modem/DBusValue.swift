/// A value of D-Bus, whichever of its types it has. Variants stand for what is in them.
indirect enum DBusValue: Hashable, Sendable {
  case flag(Bool)
  case integer(Int64)
  case unsigned(UInt64)
  case number(Double)
  /// Also an object's path and a signature.
  case text(String)
  /// An array, or a structure.
  case list([DBusValue])
  case dictionary([DBusValue: DBusValue])

  /// A member of a dictionary; nil where there is none.
  subscript(_ key: String) -> DBusValue? { self[.text(key)] }

  subscript(_ key: DBusValue) -> DBusValue? {
    if case .dictionary(let members) = self { members[key] } else { nil }
  }

  var text: String? { if case .text(let text) = self { text } else { nil } }

  var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }

  var list: [DBusValue] { if case .list(let list) = self { list } else { [] } }

  /// A whole number that is not negative.
  var unsigned: UInt64? {
    switch self {
    case .unsigned(let number): number
    case .integer(let number): UInt64(exactly: number)
    default: nil
    }
  }

  /// Any finite number.
  var number: Double? {
    switch self {
    case .number(let number): number.isFinite ? number : nil
    case .integer(let number): Double(number)
    case .unsigned(let number): Double(number)
    default: nil
    }
  }
}
