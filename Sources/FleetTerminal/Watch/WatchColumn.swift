internal import Bytes
package import Fleet
internal import FleetProgram
internal import Telemetry

/// A column of the live table.
package enum WatchColumn: Int, CaseIterable, Hashable, Sendable {
  case vehicle
  case state
  case age
  case position
  case within
  case speed
  case course
  case heading
  case attitude
  case region
  case battery
  case backlog
  case temperature
  case energy
  case version
  case event

  /// The name on the command line, also for `--sort`.
  var name: String { "\(self)" }

  /// The names on the command line.
  package static let names = allCases.map(\.name)

  var title: String {
    switch self {
    case .vehicle: "VEHICLE"
    case .state: "STATE"
    case .age: "HEARD"
    case .position: "POSITION"
    case .within: "WITHIN"
    case .speed: "SPEED"
    case .course: "COURSE"
    case .heading: "HEADING"
    case .attitude: "ROLL  PITCH     YAW"
    case .region: "REGION"
    case .battery: "BATTERY"
    case .backlog: "BACKLOG"
    case .temperature: "TEMP"
    case .energy: "ENERGY"
    case .version: "VERSION"
    case .event: "LAST EVENT"
    }
  }

  /// The description for new users.
  package var explanation: String {
    switch self {
    case .vehicle: "name, preceded by the fleet if several are shown"
    case .state: "online, asleep, offline; unknown before a first status"
    case .age: "time since its last message"
    case .position: "latitude and longitude in degrees"
    case .within: "accuracy plus bound; age of a last known one, as in ~3 h"
    case .speed: "speed over ground"
    case .course: "course, degrees from north"
    case .heading: "heading, degrees from north"
    case .attitude: "roll, pitch and yaw in degrees"
    case .region: "regions that it is in, as reported"
    case .battery: "remaining charge, otherwise volts; + while charging"
    case .backlog: "messages in the vehicle's queue"
    case .temperature: "temperature of the hottest part of its computer"
    case .energy: "joules since the start of the agent"
    case .version: "version of its agent"
    case .event: "latest event and its age"
    }
  }

  var alignment: TextAlignment {
    switch self {
    case .vehicle, .state, .region, .version, .event: .left
    default: .right
    }
  }

  /// The minimum width in terminal columns.
  var width: Int {
    switch self {
    case .vehicle: 10
    case .state: 9
    case .age: 6
    case .position: 21
    case .within: 7
    case .speed: 9
    case .course: 6
    case .heading: 7
    case .attitude: 22
    case .region: 12
    case .battery, .backlog: 8
    case .temperature: 6
    case .energy: 8
    case .version: 9
    case .event: 12
    }
  }

  /// The columns by priority: a narrow terminal shows the first ones by default.
  static let byPriority: [WatchColumn] = [
    .vehicle, .state, .position, .age, .speed, .course, .heading, .event, .region, .attitude, .within,
  ]

  static let gap = 2

  /// Parses a list such as `battery,backlog`. The column of the vehicle's name is put first if it is not in
  /// the list.
  /// - Throws: `FleetError` with all columns and the nearest match for an unknown one.
  package static func columns(parsing list: String) throws(FleetError) -> [WatchColumn] {
    var columns: [WatchColumn] = []
    for part in list.split(separator: ",", omittingEmptySubsequences: false) {
      var name = part[...]
      while name.first == " " { name.removeFirst() }
      while name.last == " " { name.removeLast() }
      guard let column = allCases.first(where: { $0.name == name }) else {
        let meant = Spelling.nearest(to: String(name), among: names).map { "did you mean \($0)? " } ?? ""
        throw .usage(
          "show", "column \"\(name.prefix(40))\"",
          "\(meant)--columns accepts a comma-separated list of \(names.joined(separator: ", "))")
      }
      if !columns.contains(column) { columns.append(column) }
    }
    return columns.contains(.vehicle) ? columns : [.vehicle] + columns
  }

  /// Returns the columns that fit in display order, with their widths.
  ///
  /// Remaining space is added to the vehicle's name up to the longest one, then to the last event and the
  /// regions.
  /// - Parameter chosen: the columns in display order, of which a narrow terminal shows the first; nil for
  ///   the default.
  package static func layout(
    width: Int, longestName: Int, chosen: [WatchColumn]? = nil
  ) -> [(column: WatchColumn, width: Int)] {
    let nameWidth = min(max(longestName, 9), vehicle.width)
    var left = width
    var kept: Set<WatchColumn> = []
    for column in chosen ?? byPriority {
      let needed = (column == .vehicle ? nameWidth : column.width) + (kept.isEmpty ? 0 : gap)
      guard needed <= left || kept.isEmpty else { continue }
      kept.insert(column)
      left -= needed
    }
    let forName = max(0, min(left, min(longestName, 40) - nameWidth))
    left -= forName
    let forEvent = kept.contains(.event) ? min(left, 40) : 0
    return (chosen ?? allCases).filter(kept.contains).map { column in
      switch column {
      case .vehicle: (column, max(1, min(width, nameWidth + forName)))
      case .event: (column, column.width + forEvent)
      case .region: (column, column.width + (forEvent == 0 ? max(0, min(left, 28)) : 0))
      default: (column, column.width)
      }
    }
  }

  /// Returns the terminal width at which all chosen columns fit.
  static func widthNeeded(by chosen: [WatchColumn], longestName: Int) -> Int {
    chosen.reduce(max(longestName, vehicle.width) - vehicle.width) { $0 + $1.width + gap } + 40
  }
}
