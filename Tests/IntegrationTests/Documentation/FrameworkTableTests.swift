import Foundation
import Settings
import Telemetry
import TestSupport
import Testing

/// The articles that cover Core Location and Core Motion item by item name existing symbols, messages, options and tests.
@Suite struct FrameworkTableTests {
  private struct Reference {
    var symbols: SourceIndex
    var tests: SourceIndex
    var wire: WireMembers
    var programs: [String: ProgramHelp]
    let keys = Set(ConfigurationKey.all.map(\.path))

    init() throws {
      let root = ContractScript.repository
      symbols = try SourceIndex(
        .publicSymbols,
        in: ["Spatial", "Sensors", "VehicleData", "Motion", "Positioning", "LiveSensors", "Telemetry"].map {
          "\(root)/Sources/\($0)"
        })
      tests = try SourceIndex(.tests, in: ["\(root)/Tests"])
      programs = [:]
      for name in ["odograph", "odographd"] {
        let child = try ChildProcess(BuiltProduct.path(name), ["--experimental-dump-help"])
        _ = child.waitForExit()
        programs[name] = try JSONDecoder().decode(ProgramHelp.self, from: Data(child.output.utf8))
      }
      wire = try WireMembers()
    }

    func faults(in table: FrameworkTable) -> [String] {
      table.faults + table.rows.flatMap { row in faults(in: row).map { "\(row.place): \($0)" } }
    }

    private func faults(in row: FrameworkTable.Row) -> [String] {
      if let reason = row.cells[FrameworkTable.declined[0]] {
        return FrameworkCell.isReason(reason) ? [] : ["no reason that can be weighed"]
      }
      var faults: [String] = []
      var (reasons, libraryReasons) = (0, 0)
      for column in FrameworkTable.offered {
        switch FrameworkCell(row.cells[column] ?? "") {
        case .malformed: faults.append("column \(column) has neither names nor a reason")
        case .none:
          if FrameworkTable.library.contains(column) { libraryReasons += 1 } else { reasons += 1 }
          if column == "test" { faults.append("no test holds it") }
        case .names(let names):
          for name in names where !isThere(name, column) { faults.append("no \(name) (\(column))") }
        }
      }
      if libraryReasons > 1 { faults.append("no form in the libraries") }
      if reasons > 1 { faults.append("offered nowhere but in the library") }
      return faults
    }

    private func isThere(_ name: String, _ column: String) -> Bool {
      switch column {
      case "pull", "push":
        return symbols.names.contains(String(name.prefix { $0 != "(" }).replacing("/", with: "."))
      case "wire": return wire.contains(name)
      case "test": return tests.names.contains(name)
      default:
        let words = name.split(separator: " ").map(String.init)
        guard let program = programs[words[0]] else { return keys.contains(name) }
        return program.fault(in: Array(words.dropFirst())) == nil
      }
    }
  }

  @Test(
    .timeLimit(.minutes(2)),
    arguments: [
      ("Positioning/Documentation.docc/CoreLocation.md", 60), ("Motion/Documentation.docc/CoreMotion.md", 50),
    ])
  func articlesNameExistingItems(article: String, leastRows: Int) throws {
    let text = try String(contentsOfFile: "\(ContractScript.repository)/Sources/\(article)", encoding: .utf8)
    let table = FrameworkTable(text, name: article)
    #expect(table.rows.count >= leastRows)
    let faults = try Reference().faults(in: table)
    #expect(faults.isEmpty, "\(faults.joined(separator: "\n"))")
  }

  /// Each fault in a table of one row is found, without other findings.
  @Test(.timeLimit(.minutes(2))) func eachFaultIsFound() throws {
    let good = [
      "`speed`", "``Location/speed``", "``LocationUpdate/location``", "`location.speed`",
      "`odograph watch --sort`, `iio.rate`",
      "`LocationManagerTests.desiredAccuracyIsNoFilter`",
    ]
    let changes: [(column: Int, text: String, fault: String)] = [
      (1, "`Location.spede`", "no Location.spede (pull)"), (1, "", "column pull has neither"),
      (1, "`DesiredAccuracy.metres`", "no DesiredAccuracy.metres (pull)"),
      (2, "`LiveLocation.spede`", "no LiveLocation.spede (push)"), (2, "", "column push has neither"),
      (3, "`location.spede`", "no location.spede (wire)"), (3, "", "column wire has neither"),
      (3, "none: later", "column wire has neither"), (3, "–", "column wire has neither"),
      (3, "`command/dance`", "no command/dance (wire)"), (3, "`place`", "no place (wire)"),
      (4, "`odograph dance`", "no odograph dance (command line)"),
      (4, "`odograph command dance`", "no odograph command dance (command line)"),
      (4, "`odograph watch --dance`", "no odograph watch --dance (command line)"),
      (4, "`iio.pace`", "no iio.pace (command line)"), (4, "", "column command line has neither"),
      (5, "", "column test has neither"), (5, "none: nobody has written one yet", "no test holds it"),
      (5, "`LocationManagerTests.testDescription`", "no LocationManagerTests.testDescription (test)"),
      (5, "`desiredAccuracyIsNoFilter`", "no desiredAccuracyIsNoFilter (test)"),
    ]
    let reference = try Reference()
    func faults(_ cells: [String]) -> [String] {
      let head = "| Core Location | \(FrameworkTable.offered.joined(separator: " | ")) |\n"
      let rule = "| --- | --- | --- | --- | --- | --- |\n"
      return reference.faults(
        in: FrameworkTable(head + rule + "| \(cells.joined(separator: " | ")) |", name: "table"))
    }
    #expect(faults(good).isEmpty)
    for change in changes {
      var cells = good
      cells[change.column] = change.text
      let found = faults(cells)
      #expect(found.count == 1 && found[0].hasPrefix("table:3: \(change.fault)"), "\(change) \(found)")
    }
    var reasons = good
    reasons[3] = "none: it is only a number of the library"
    #expect(faults(reasons).isEmpty)
    reasons[4] = "none: it cannot be set or seen"
    #expect(faults(reasons) == ["table:3: offered nowhere but in the library"])
    reasons = good
    reasons[1] = "none: it comes when there is one"
    #expect(faults(reasons).isEmpty)
    reasons[2] = "none: it does not come without a call"
    #expect(faults(reasons) == ["table:3: no form in the libraries"])
    #expect(faults(good.dropLast()) == ["table:3: 5 cells in place of 6"])
    #expect(
      FrameworkTable("| Core Location | somewhere |\n| --- | --- |\n", name: "table").faults
        == ["table:1: no such table"])
    let declined = FrameworkTable(
      "| Core Location | why it is not here |\n| --- | --- |\n| `floor` | no use |\n", name: "table")
    #expect(reference.faults(in: declined) == ["table:3: no reason that can be weighed"])
  }
}
