internal import Spatial

/// A column of the live table.
enum WatchColumn: Int, CaseIterable, Hashable, Sendable {
  case vehicle
  case state
  case age
  case position
  case within
  case speed
  case course
  case heading
  case attitude
  case event

  var title: String {
    switch self {
    case .vehicle: "VEHICLE"
    case .state: "STATE"
    case .age: "AGE"
    case .position: "POSITION"
    case .within: "WITHIN"
    case .speed: "SPEED"
    case .course: "COURSE"
    case .heading: "HEAD"
    case .attitude: "ROLL  PITCH     YAW"
    case .event: "LAST EVENT"
    }
  }

  var alignment: TextAlignment {
    switch self {
    case .vehicle, .state, .event: .left
    default: .right
    }
  }

  /// Columns of the terminal that it takes at least.
  var width: Int {
    switch self {
    case .vehicle: 10
    case .state: 9
    case .age: 6
    case .position: 21
    case .within: 7
    case .speed: 10
    case .course, .heading: 6
    case .attitude: 22
    case .event: 12
    }
  }

  /// Which columns a narrow terminal keeps: the first ones.
  static let byPriority: [WatchColumn] = [
    .vehicle, .state, .position, .age, .speed, .course, .heading, .event, .attitude, .within,
  ]

  static let gap = 2

  /// The columns that fit, in the order in which they stand, with their widths.
  ///
  /// What is left over goes to the vehicle's name as far as the longest name needs it, and then to the last event.
  static func layout(width: Int, longestName: Int) -> [(column: WatchColumn, width: Int)] {
    let nameWidth = min(max(longestName, 9), vehicle.width)
    var left = width
    var kept: Set<WatchColumn> = []
    for column in byPriority {
      let needed = (column == .vehicle ? nameWidth : column.width) + (kept.isEmpty ? 0 : gap)
      guard needed <= left || kept.isEmpty else { continue }
      kept.insert(column)
      left -= needed
    }
    let wanted = min(longestName, 40)
    let forName = max(0, min(left, wanted - nameWidth))
    return allCases.filter(kept.contains).map { column in
      switch column {
      case .vehicle: (column, max(1, min(width, nameWidth + forName)))
      case .event: (column, column.width + min(left - forName, 40))
      default: (column, column.width)
      }
    }
  }
}
