import Foundation

/// The tables of an article that covers a framework item by item. A table with the columns pull, push, wire, command line and test lists
/// supported items; a table with a single column next to the item gives the reason why it is not supported.
struct FrameworkTable {
  struct Row {
    /// File and line of the row.
    var place: String
    var item: String
    /// Cell texts by column name.
    var cells: [String: String]
  }

  private(set) var rows: [Row] = []
  private(set) var faults: [String] = []

  static let offered = ["pull", "push", "wire", "command line", "test"]
  /// Columns of the library interfaces.
  static let library = ["pull", "push"]
  static let declined = ["why it is not here"]

  init(_ text: String, name: String) {
    var columns: [String]?
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let place = "\(name):\(index + 1)"
      guard line.hasPrefix("|") else {
        columns = nil
        continue
      }
      let cells = line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
        .map { $0.trimmingCharacters(in: .whitespaces) }
      if cells.allSatisfy({ $0.allSatisfy { $0 == "-" } && !$0.isEmpty }) { continue }
      guard let names = columns else {
        columns = Array(cells.dropFirst())
        if columns != Self.offered, columns != Self.declined { faults.append("\(place): no such table") }
        continue
      }
      guard cells.count == names.count + 1, !cells[0].isEmpty else {
        faults.append("\(place): \(cells.count) cells in place of \(names.count + 1)")
        continue
      }
      rows.append(
        Row(
          place: place, item: cells[0],
          cells: Dictionary(uniqueKeysWithValues: zip(names, cells.dropFirst()))))
    }
  }
}

/// Content of a cell: names, or a reason for their absence.
enum FrameworkCell: Equatable {
  case names([String])
  case none(reason: String)
  case malformed

  /// Parses "`a`, `b`: remark" or "none: reason".
  init(_ text: String) {
    if text.hasPrefix("none: ") {
      let reason = text.dropFirst(6)
      self = Self.isReason(reason) ? .none(reason: String(reason)) : .malformed
      return
    }
    let list = /(`+)([^`]+)`+(?:, (?:`+[^`]+`+))*(: .+)?/
    guard let whole = text.wholeMatch(of: list) else {
      self = .malformed
      return
    }
    let names = whole.3.map { text.dropLast($0.count) } ?? text[...]
    self = .names(names.matches(of: /`+([^`]+)`+/).map { String($0.1) })
  }

  /// A reason has at least five words.
  static func isReason(_ text: some StringProtocol) -> Bool { text.split(separator: " ").count >= 5 }
}
