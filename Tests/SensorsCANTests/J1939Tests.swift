import Sensors
import SensorsCAN
import Spatial
import Testing

/// SAE J1939: parameter groups, values that are not available, and the transport protocol.
@Suite struct J1939Tests {
  private func decoder(_ paths: String...) throws -> CANDecoder {
    try CANDecoder(
      CANConfiguration(signals: paths.map { CANConfiguration.Signal(path: $0) }, isJ1939: true), database: nil
    )
  }

  private func frame(_ identifier: UInt32, _ data: [UInt8]) -> CANFrame {
    CANFrame(CANFrame.Identifier(identifier, isExtended: true), data: data)
  }

  private func time(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }

  /// DBC files name the null address as the sender of messages that any node may send.
  @Test func aMessageOfTheNullAddressMatchesAnySource() throws {
    let file = """
      BO_ 2566844926 CCVS: 8 E
       SG_ Speed : 8|16@1+ (0.00390625,0) [0|250] "km/h" E
      """
    for (isJ1939, isRead) in [(true, true), (false, false)] {
      var decoder = try CANDecoder(
        CANConfiguration(
          database: "v.dbc", signals: [CANConfiguration.Signal(path: "Vehicle.Speed", source: "Speed")],
          isJ1939: isJ1939), database: try DBCDatabase(parsing: Array(file.utf8), name: "v.dbc"))
      let truck = frame(0x0CFE_F131, [0xFF, 0x00, 0x32, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
      let readings = decoder.process(truck, at: time(1))
      #expect(readings.map(\.value) == (isRead ? [.number(50)] : []))
      #expect(decoder.filters.contains { $0.admits(truck.identifier) } == isRead)
    }
  }

  @Test(
    arguments: [
      // Priority 6, CCVS1 from 00; priority 0, EEC1 to all from 00; PDU1 to 17 from FE.
      (0x18FE_F100, 65_265, 0x00, nil), (0x0CF0_0400, 61_444, 0x00, nil), (0x18EA_17FE, 0xEA00, 0xFE, 0x17),
      (0x18EC_FF31, 0xEC00, 0x31, nil), (0x0CFE_6CEE, 65_132, 0xEE, nil),
    ] as [(UInt32, UInt32, UInt8, UInt8?)])
  func identifiersNameGroupAndSource(raw: UInt32, group: UInt32, source: UInt8, destination: UInt8?) throws {
    let identifier = try #require(J1939Identifier(CANFrame.Identifier(raw, isExtended: true)))
    #expect(identifier.group == group && identifier.source == source && identifier.destination == destination)
    #expect(J1939Identifier.filter(group: group).admits(CANFrame.Identifier(raw, isExtended: true)))
    #expect(!J1939Identifier.filter(group: 65_266).admits(CANFrame.Identifier(raw, isExtended: true)))
  }

  /// A frame, the path that it serves and the value in the unit of VSS.
  @Test(
    arguments: [
      (0x18FE_F100, [0xFF, 0x00, 0x32, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], "Vehicle.Speed", 50.0),
      (0x0CFE_6CEE, [0, 0, 0, 0, 0, 0, 0x80, 0x32], "Vehicle.Speed", 50.5),
      (0x18FE_C1EE, [0x40, 0x0D, 0x03, 0x00, 0, 0, 0, 0], "Vehicle.TraveledDistance", 1000),
      (0x18FE_E000, [0, 0, 0, 0, 0x40, 0x1F, 0, 0], "Vehicle.TraveledDistance", 1000),
      (0x0CF0_0400, [0, 0, 0, 0x40, 0x1F, 0, 0, 0], "Vehicle.Powertrain.CombustionEngine.Speed", 1000),
      (0x18F0_0503, [0, 0, 0, 124, 0, 0, 0, 0], "Vehicle.Powertrain.Transmission.CurrentGear", -1),
      (0x18FE_FC17, [0, 125, 0, 0, 0, 0, 0, 0], "Vehicle.Powertrain.FuelSystem.RelativeLevel", 50),
      (0x18FE_F700, [0, 0, 0, 0, 0x18, 0x01, 0, 0], "Vehicle.LowVoltageBattery.CurrentVoltage", 14),
      (0x18FE_EE00, [130, 0, 0, 0, 0, 0, 0, 0], "Vehicle.Powertrain.CombustionEngine.ECT", 90),
      (0x18FE_F200, [200, 0, 0, 0, 0, 0, 0, 0], "Vehicle.OBD.FuelRate", 10),
    ] as [(UInt32, [UInt8], String, Double)])
  func groupsTellSignals(identifier: UInt32, data: [UInt8], path: String, value: Double) throws {
    var decoder = try decoder(path)
    let frame = frame(identifier, data)
    #expect(decoder.filters.contains { $0.admits(frame.identifier) })
    let readings = decoder.process(frame, at: time(1))
    #expect(readings.map(\.path) == [path])
    guard case .number(let number)? = readings.first?.value else {
      Issue.record("no number: \(readings)")
      return
    }
    #expect(abs(number - value) < 1e-9)
  }

  @Test(arguments: [[0xFF, 0xFF], [0x00, 0xFE], [0x00, 0xFB]] as [[UInt8]])
  func unavailableAndErrorValuesAreUnknown(bytes: [UInt8]) throws {
    var decoder = try decoder("Vehicle.Speed")
    let data = [0xFF] + bytes + [UInt8](repeating: 0xFF, count: 5)
    // A value that was never available is not reported as lost.
    #expect(decoder.process(frame(0x18FE_F100, data), at: time(0)).isEmpty)
    _ = decoder.process(frame(0x18FE_F100, [0xFF, 0, 1, 0, 0, 0, 0, 0]), at: time(0.5))
    let readings = decoder.process(frame(0x18FE_F100, data), at: time(1))
    #expect(readings.map(\.path) == ["Vehicle.Speed"] && readings[0].value == nil)
    // The largest valid value.
    #expect(
      decoder.process(frame(0x18FE_F100, [0xFF, 0xFF, 0xFA, 0, 0, 0, 0, 0]), at: time(2))[0].value
        == .number(64_255.0 / 256))
  }

  @Test func aShortFrameHasNoValues() throws {
    var decoder = try decoder("Vehicle.Speed")
    #expect(decoder.process(frame(0x18FE_F100, [0, 0]), at: time(1)).isEmpty)
    #expect(decoder.process(CANFrame(CANFrame.Identifier(0x100), data: [0, 0, 0, 0]), at: time(1)).isEmpty)
  }

  /// Sources in order of preference: wheel speed, tachograph, none.
  @Test func theBetterGroupIsUsedWhileItIsReceived() throws {
    var decoder = try decoder("Vehicle.Speed")
    let (wheels, tachograph) = (
      frame(0x18FE_F100, [0xFF, 0x00, 0x32, 0, 0, 0, 0, 0]),
      frame(0x0CFE_6CEE, [0, 0, 0, 0, 0, 0, 0x00, 0x33])
    )
    #expect(decoder.process(tachograph, at: time(0))[0].value == .number(51))
    #expect(decoder.process(wheels, at: time(1))[0].value == .number(50))
    #expect(decoder.process(tachograph, at: time(2)).isEmpty)
    #expect(decoder.process(tachograph, at: time(3.5))[0].value == .number(51))
  }

  // MARK: Transport protocol

  private static let vin = Array("1FTFW1ET1EKE12345*".utf8)

  /// Returns the frames of a broadcast (BAM) of the vehicle identification number: the announcement, then seven bytes
  /// each.
  private func broadcast(_ data: [UInt8] = vin, group: UInt32 = 65_260) -> [CANFrame] {
    let packets = (data.count + 6) / 7
    let announcement = frame(
      0x18EC_FF00,
      [
        32, UInt8(data.count & 0xFF), UInt8(data.count >> 8), UInt8(packets), 0xFF, UInt8(group & 0xFF),
        UInt8(group >> 8 & 0xFF), UInt8(group >> 16),
      ])
    return [announcement]
      + (0..<packets).map { number in
        let part = Array(data.dropFirst(7 * number).prefix(7))
        return frame(
          0x18EB_FF00, [UInt8(number + 1)] + part + [UInt8](repeating: 0xFF, count: 7 - part.count))
      }
  }

  private func read(_ frames: [CANFrame], step: Double = 0.1) throws -> [VehicleReading] {
    var decoder = try decoder("Vehicle.VehicleIdentification.VIN")
    return frames.enumerated().flatMap { number, frame in
      decoder.process(frame, at: time(Double(number) * step))
    }
  }

  @Test func theIdentificationComesInSeveralFrames() throws {
    let readings = try read(broadcast())
    #expect(readings.map(\.value) == [.text("1FTFW1ET1EKE12345")])
  }

  @Test func incompleteTransfersAreDropped() throws {
    var frames = broadcast()
    frames.remove(at: 2)
    #expect(try read(frames).isEmpty)
    frames = broadcast()
    frames.swapAt(1, 2)
    #expect(try read(frames).isEmpty)
    #expect(try read(broadcast(), step: 0.8).isEmpty)
    #expect(try read(broadcast(group: 65_259)).isEmpty)
    // A second announcement restarts the transfer.
    #expect(try read(broadcast().prefix(2) + broadcast()).count == 1)
    #expect(try read(broadcast(Array("1FTFW1ET1EKE1234?*".utf8))).isEmpty)
  }

  @Test func theIdentificationIsReadOnlyOnRequest() throws {
    var decoder = try decoder("Vehicle.Speed")
    #expect(!decoder.filters.contains { $0.admits(CANFrame.Identifier(0x18EC_FF00, isExtended: true)) })
    #expect(broadcast().flatMap { decoder.process($0, at: time(1)) }.isEmpty)
  }
}
