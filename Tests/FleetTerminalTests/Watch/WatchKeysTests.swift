import Fleet
import FleetFixtures
import FleetProgram
import FleetTerminal
import Testing

@Suite struct WatchKeysTests {
  private func roster(_ count: Int = 3) -> Roster {
    var roster = Roster()
    for number in 1...count {
      roster.receive(
        "location", locationJSON(48 + Double(number), at: 0, speed: 40 - Double(number)), at: 0,
        vehicle: "van-\(number)")
    }
    return roster
  }

  /// Returns the screens before and after each of the keys.
  private func screens(_ columns: Int, _ rows: Int, _ keys: [Key]) -> [String] {
    var view = WatchView(size: TerminalSize(columns: columns, rows: rows), title: "b")
    let roster = roster()
    return [nil].appending(keys).map { key in
      if let key { _ = view.handle(key) }
      let snapshot = view.snapshot(of: roster, at: moment(1))
      return view.frame(of: snapshot, at: moment(1), rates: .init(), trouble: nil).lines
        .joined(separator: "\n")
    }
  }

  /// Each key has a visible effect, also on a small screen, and the same key reverts it.
  @Test(arguments: [(40, 10), (80, 12), (60, 24), (80, 24), (120, 40), (20, 12)])
  func everyKeyHasAnEffect(columns: Int, rows: Int) {
    let keys: [Key] = [
      .enter, .enter, .character("m"), .character("m"), .character("?"), .character("x"), .tab,
      .character("/"), .escape, .enter, .character("m"), .enter, .character("s"), .character("r"),
    ]
    let shown = screens(columns, rows, keys)
    for (place, key) in keys.enumerated() where columns >= 40 {
      #expect(shown[place] != shown[place + 1], "\(key) at \(columns)x\(rows):\n\(shown[place + 1])")
    }
    #expect(shown[0] == shown[4])
    #expect(shown[1].contains("position  49."), "\(shown[1])")
    #expect(!shown[2].contains("position"))
  }

  @Test func theFirstKeysAreAlwaysShown() {
    for columns in 14...130 {
      for key in [Key.down, .enter, .character("m"), .character("9"), .character("4")] {
        let last = screens(columns, 10, [key])[1].split(separator: "\n").last ?? ""
        #expect(last.contains("? keys  q quit"), "\(columns): \(last)")
      }
    }
  }

  /// Without the table, the footer contains the index of the vehicle, also after sorting.
  @Test func theIndexIsShownWithoutATable() {
    let shown = screens(60, 10, [.enter, .character("r"), .down, .up, .up])
    for (place, text) in zip(1..., ["1 of 3", "3 of 3", "3 of 3", "2 of 3", "1 of 3"]) {
      #expect(shown[place].split(separator: "\n").last?.contains(text) == true, "\(shown[place])")
    }
  }

  @Test func allKeysAreShownUntilAKeyIsPressed() {
    for (columns, rows) in [(40, 10), (80, 24), (60, 24), (120, 40)] {
      let shown = screens(columns, rows, [.character("?"), .character("q")])
      for part in ["any other key closes", "quit", "Esc", "1…9", "PgDn", "J K", "+ -", "0  "] {
        #expect(shown[1].contains(part), "\(part) at \(columns)x\(rows):\n\(shown[1])")
      }
      #expect(!shown[1].contains("…\n") && shown[2] == shown[0])
    }
  }

  /// The number of a key is that of the column, for every width.
  @Test func digitsSortByTheShownColumns() {
    var criteria: Set<VehicleOrder.Criterion> = []
    for columns in [30, 40, 60, 80, 100, 124, 160, 200] {
      let roster = roster()
      for number in 1...9 {
        var view = WatchView(size: TerminalSize(columns: columns, rows: 10), title: "b")
        _ = view.snapshot(of: roster, at: moment(1))
        let key = Key.character(Character("\(number)"))
        _ = view.handle(key)
        let snapshot = view.snapshot(of: roster, at: moment(1))
        let lines = view.frame(of: snapshot, at: moment(1), rates: .init(), trouble: nil).lines
        let layout = WatchColumn.layout(width: columns, longestName: snapshot.longestName)
        guard number <= layout.count else {
          #expect(lines[9].contains("only \(layout.count) columns") && view.order == VehicleOrder())
          continue
        }
        #expect(view.order.criterion.column == layout[number - 1].column)
        #expect(view.order.isReversed == (number == 1))
        #expect(lines[1].contains(view.order.mark), "\(lines[1])")
        _ = view.handle(key)
        #expect(view.order.isReversed == (number != 1))
        criteria.insert(view.order.criterion)
      }
    }
    #expect(criteria.count == 11, "\(criteria)")
  }

  /// `s` selects the next shown column; the footer names the criterion if it has no column.
  @Test func sortingByTheNextColumn() {
    var view = WatchView(size: .usual, title: "b")
    let roster = roster()
    _ = view.snapshot(of: roster, at: moment(1))
    var names: [String] = []
    for _ in 0..<8 {
      _ = view.handle(.character("s"))
      let snapshot = view.snapshot(of: roster, at: moment(1))
      let lines = view.frame(of: snapshot, at: moment(1), rates: .init(), trouble: nil).lines
      names.append(view.order.criterion.name)
      #expect(lines[23].contains("by missing ▼") == (view.order.criterion == .missing), "\(lines[23])")
    }
    #expect(names == ["state", "age", "position", "speed", "course", "heading", "missing", "vehicle"])
    view.order = VehicleOrder(criterion: .column(.within), isReversed: true)
    let snapshot = view.snapshot(of: roster, at: moment(1))
    let last = view.frame(of: snapshot, at: moment(1), rates: .init(), trouble: nil).lines[23]
    #expect(last.contains("by within ▲"))
  }
}

extension [Key?] {
  fileprivate func appending(_ keys: [Key]) -> [Key?] { self + keys.map(Optional.some) }
}
