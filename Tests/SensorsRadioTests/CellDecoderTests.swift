import Sensors
import Simulation
import TestSupport
import Testing

@testable import SensorsRadio

/// Decoding of cells that ModemManager reports.
@Suite struct CellDecoderTests {
  private func cell(_ type: UInt64, _ members: [String: DBusValue]) -> DBusValue {
    var all: [DBusValue: DBusValue] = [.text("cell-type"): .unsigned(type)]
    for (name, value) in members { all[.text(name)] = value }
    return .dictionary(all)
  }

  private func lte(_ members: [String: DBusValue] = [:]) -> DBusValue {
    cell(
      5,
      [
        "serving": .flag(true), "operator-id": .text("26201"), "tac": .text("BF2A"), "ci": .text("1A2D003"),
        "rsrp": .number(-95.5), "timing-advance": .unsigned(10),
      ].merging(members) { $1 })
  }

  private func told(_ cells: DBusValue..., unit: Modem.TimingAdvance = .steps) -> [BeaconSighting] {
    CellDecoder.sightings(.list(cells), unit: unit)
  }

  @Test func servingAndNeighbouringCellsAreReported() throws {
    let gsm = cell(
      2,
      ["operator-id": .text("310260"), "lac": .text("1F4"), "ci": .text("2B67"), "rx-level": .unsigned(40)])
    let umts = cell(
      3, ["operator-id": .text("26202"), "lac": .text("3E9"), "ci": .text("51F2A1"), "rscp": .integer(-101)])
    let nr = cell(
      6,
      [
        "operator-id": .text("26203"), "ci": .text("F0000000A"), "rsrp": .number(-80),
        "timing-advance": .unsigned(3),
      ])
    let cells = told(lte(), gsm, umts, nr)
    try #require(cells.count == 4)
    #expect(cells.map(\.beacon.technology) == [.lte, .gsm, .umts, .nr])
    #expect(cells.map(\.signal) == [-95.5, -70, -101, -80])
    #expect(cells.map(\.isServing) == [true, false, false, false])
    #expect(cells[0].beacon == Beacon(.lte, country: 262, network: 1, cell: 0x1A2D003))
    #expect(cells[1].beacon == Beacon(.gsm, country: 310, network: 260, area: 0x1F4, cell: 0x2B67))
    #expect(cells[3].beacon == Beacon(.nr, country: 262, network: 3, cell: 0xF_0000_000A))
  }

  @Test func timingAdvanceIsADistance() throws {
    func distance(_ cell: DBusValue, _ unit: Modem.TimingAdvance = .steps) -> Double? {
      told(cell, unit: unit).first?.distance
    }
    #expect(try abs(#require(distance(lte())) - 781) < 1)
    #expect(try abs(#require(distance(lte(), .microseconds)) - 1499) < 1)
    let gsm = { (advance: UInt64) in
      self.cell(
        2,
        [
          "serving": .flag(true), "operator-id": .text("26201"), "lac": .text("1F4"), "ci": .text("2B67"),
          "timing-advance": .unsigned(advance),
        ])
    }
    #expect(try abs(#require(distance(gsm(2))) - 1107) < 1)
    #expect(distance(gsm(64)) == nil && distance(lte(["timing-advance": .unsigned(0xFFFF_FFFF)])) == nil)
    #expect(distance(lte(["timing-advance": .unsigned(1283)])) == nil)
    // A neighbour reports the timing advance of the serving cell.
    #expect(distance(lte(["serving": .flag(false)])) == nil)
    let nr = cell(
      6,
      [
        "serving": .flag(true), "operator-id": .text("26201"), "ci": .text("A"),
        "timing-advance": .unsigned(3),
      ])
    #expect(told(nr).count == 1 && distance(nr) == nil)
  }

  @Test func cellsWithoutAnIdentityAreLeftOut() {
    #expect(told(cell(5, ["physical-ci": .text("4F"), "rsrp": .number(-100)])).isEmpty)
    for (name, value) in [
      ("operator-id", "2620"), ("operator-id", "26a01"), ("operator-id", "00001"), ("operator-id", ""),
      ("ci", "FFFFFFF"), ("ci", "0"), ("ci", "xyz"), ("ci", "1FFFFFFFF"), ("ci", "FFFFFFFFFFFFFFFFFF"),
    ] {
      #expect(told(lte([name: .text(value)])).isEmpty, "\(name) \(value)")
    }
    #expect(told(lte(["cell-type": .unsigned(1)])).isEmpty && told(.text("cell")).isEmpty)
    #expect(told(lte(), lte()).count == 1)
    #expect(told(lte(["rsrp": .number(.nan)])).first?.signal == nil)
    #expect(told(lte(["rsrp": .number(-1.7e308)])).first?.signal == nil)
    let crowd = (1...100_000).map { lte(["ci": .text(String($0, radix: 16))]) }
    #expect(CellDecoder.sightings(.list(crowd), unit: .steps).count == CellDecoder.limit)
  }

  @Test func theServingCellComesAsALineToo() {
    func serving(_ text: String, _ technology: Beacon.Technology? = .lte) -> BeaconSighting? {
      CellDecoder.servingCell(.dictionary([.unsigned(1): .text(text)]), technology: technology)
    }
    #expect(
      serving("262,01,FFFE,1A2D003,BF2A")?.beacon == Beacon(.lte, country: 262, network: 1, cell: 0x1A2D003))
    #expect(serving("262,01,FFFE,1A2D003,BF2A")?.isServing == true)
    #expect(
      serving("310,260,1F4,2B67", .gsm)?.beacon
        == Beacon(.gsm, country: 310, network: 260, area: 0x1F4, cell: 0x2B67))
    for text in ["", "262,01,1F4", "262,01,1F4,0,0", ",,,,", "262,1,1F4,FFFFFFF,0", "-1,1,1,1,1"] {
      #expect(serving(text) == nil, "\(text)")
    }
    #expect(serving("262,01,1F4,2B67,0", nil) == nil)
    #expect(
      CellDecoder.servingCell(.dictionary([.unsigned(2): .text("262,01,1F4,2B67,0")]), technology: .gsm)
        == nil)
  }

  @Test func modemsAreFoundAmongObjects() throws {
    func modem(_ members: [String: DBusValue], location: Bool = true) -> DBusValue {
      func dictionary(_ members: [String: DBusValue]) -> DBusValue {
        .dictionary(Dictionary(uniqueKeysWithValues: members.map { (.text($0), $1) }))
      }
      let name = "org.freedesktop.ModemManager1.Modem"
      var interfaces = [name: dictionary(members)]
      if location { interfaces[name + ".Location"] = dictionary(["Enabled": .unsigned(1)]) }
      return dictionary(interfaces)
    }
    let port = { (type: UInt64) in DBusValue.list([.list([.text("cdc-wdm0"), .unsigned(type)])]) }
    let path = "/org/freedesktop/ModemManager1/Modem/"
    let objects: DBusValue = .dictionary([
      .text(path + "1"): modem([
        "State": .integer(8), "AccessTechnologies": .unsigned(1 << 14 | 1 << 15),
        "PrimaryPort": .text("cdc-wdm0"),
        "Ports": port(6), "Manufacturer": .text("Quectel"), "Model": .text("EG25-G"),
      ]),
      .text(path + "0"): modem(
        ["State": .integer(-1), "AccessTechnologies": .unsigned(1 << 5), "Ports": port(7)], location: false),
      .text(path + "2"): modem(["State": .integer(8), "AccessTechnologies": .unsigned(1 << 16)]),
      .text(path + "3"): modem(["State": .integer(8), "AccessTechnologies": .unsigned(1 << 17)]),
      .text("/org/freedesktop/ModemManager1/Bearer/0"): .dictionary([:]),
    ])
    let modems = Modem.all(in: objects)
    try #require(modems.count == 4)
    #expect(modems[0].path == path + "0" && !modems[0].isEnabled && modems[0].technology == .umts)
    #expect(modems[0].name == "modem" && !modems[0].canLocate && modems[0].timingAdvance == .steps)
    #expect(modems[1].name == "Quectel EG25-G" && modems[1].isEnabled && modems[1].technology == .lte)
    #expect(modems[1].canLocate && modems[1].locationSources == 1 && modems[1].timingAdvance == .microseconds)
    // LTE-M and NB-IoT.
    #expect(modems[2].technology == .lte && modems[3].technology == .lte)
    #expect(Modem.all(in: .list([])).isEmpty)
  }

  /// Arbitrary D-Bus values instead of cells.
  @Test func arbitraryValuesAreHandled() {
    var generator = SeededGenerator.announced()
    let words = [
      "cell-type", "operator-id", "ci", "lac", "serving", "rsrp", "rscp", "rx-level", "timing-advance",
      "26201",
    ]
    func value(_ depth: Int) -> DBusValue {
      switch Int.random(in: 0...(depth > 3 ? 4 : 6), using: &generator) {
      case 0: return .flag(Bool.random(using: &generator))
      case 1: return .integer(Int64.random(in: .min ... .max, using: &generator))
      case 2: return .unsigned(UInt64.random(in: 0...70, using: &generator))
      case 3: return .number(Double(bitPattern: UInt64.random(in: 0 ... .max, using: &generator)))
      case 4: return .text(words.randomElement(using: &generator) ?? "")
      case 5: return .list((0..<Int.random(in: 0...6, using: &generator)).map { _ in value(depth + 1) })
      default:
        var members: [DBusValue: DBusValue] = [:]
        for word in words where Bool.random(using: &generator) { members[.text(word)] = value(depth + 1) }
        return .dictionary(members)
      }
    }
    for _ in 0..<20_000 {
      let answer = value(0)
      for sighting in CellDecoder.sightings(answer, unit: .steps) {
        #expect(
          sighting.beacon.technology.isCell && sighting.signal.map { (-160 ... -20).contains($0) } ?? true)
        #expect(sighting.distance.map { (0...110_000).contains($0) } ?? true)
      }
      _ = CellDecoder.servingCell(answer, technology: .gsm)
      _ = Modem.all(in: answer)
    }
  }
}
