import Sensors
import SensorsCAN
import Spatial
import TestSupport
import Testing

/// OBD-II: responses, multi-frame transport, and the conditions for requests.
@Suite struct OBDTests {
  private func time(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }

  private func answer(_ data: [UInt8], from identifier: UInt32 = 0x7E8) -> CANFrame {
    CANFrame(
      CANFrame.Identifier(identifier, isExtended: identifier > 0x7FF),
      data: data + [UInt8](repeating: 0xAA, count: 8 - data.count))
  }

  private func decoder(
    _ paths: String..., addressing: OBDAddressing = .standard
  ) throws -> CANDecoder {
    try CANDecoder(
      CANConfiguration(
        signals: paths.map { CANConfiguration.Signal(path: $0) }, diagnostics: addressing), database: nil)
  }

  // MARK: Answers

  /// A response of service 01, its path and value.
  @Test(
    arguments: [
      ([0x03, 0x41, 0x0D, 0x32], "Vehicle.Speed", 50.0),
      ([0x04, 0x41, 0x0C, 0x1A, 0xF8], "Vehicle.Powertrain.CombustionEngine.Speed", 1726),
      ([0x03, 0x41, 0x2F, 0x80], "Vehicle.Powertrain.FuelSystem.RelativeLevel", 12_800.0 / 255),
      ([0x04, 0x41, 0x1F, 0x01, 0x00], "Vehicle.OBD.RunTime", 256),
      ([0x04, 0x41, 0x31, 0x03, 0xE8], "Vehicle.OBD.DistanceSinceDTCClear", 1000),
      ([0x04, 0x41, 0x42, 0x36, 0xB0], "Vehicle.LowVoltageBattery.CurrentVoltage", 14),
      ([0x04, 0x41, 0x5E, 0x00, 0xC8], "Vehicle.OBD.FuelRate", 10),
      ([0x03, 0x41, 0x05, 0x7B], "Vehicle.Powertrain.CombustionEngine.ECT", 83),
      ([0x06, 0x41, 0xA6, 0x00, 0x01, 0x86, 0xA0], "Vehicle.TraveledDistance", 10_000),
    ] as [([UInt8], String, Double)])
  func parametersAreReadInTheirUnits(data: [UInt8], path: String, value: Double) throws {
    var decoder = try decoder(path)
    let readings = decoder.process(answer(data), at: time(1))
    #expect(readings.map(\.path) == [path] && readings[0].origin == .diagnostic)
    guard case .number(let number)? = readings.first?.value else {
      Issue.record("\(readings)")
      return
    }
    #expect(abs(number - value) < 1e-9)
    // A signal that was not requested is not reported.
    var other = try self.decoder(path == "Vehicle.Speed" ? "Vehicle.OBD.RunTime" : "Vehicle.Speed")
    #expect(other.process(answer(data), at: time(1)).isEmpty)
  }

  @Test func answersOf29BitsAreRead() throws {
    var decoder = try decoder("Vehicle.Speed", addressing: .extended)
    let frame = answer([0x03, 0x41, 0x0D, 0x32], from: 0x18DA_F110)
    #expect(decoder.filters.contains { $0.admits(frame.identifier) })
    #expect(decoder.process(frame, at: time(1)).first?.value == .number(50))
    #expect(decoder.process(answer([0x03, 0x41, 0x0D, 0x32]), at: time(2)).isEmpty)
  }

  @Test func otherFramesAreIgnored() throws {
    var decoder = try decoder("Vehicle.Speed")
    for data: [UInt8] in [
      [0x03, 0x7F, 0x01, 0x12], [0x01, 0x41], [0x02, 0x41, 0x0D], [0x00], [0x08, 0x41],
      [0x03, 0x41, 0xFE, 1],
    ] {
      #expect(decoder.process(answer(data), at: time(1)).isEmpty)
    }
    #expect(decoder.process(CANFrame(CANFrame.Identifier(0x7E8), data: []), at: time(1)).isEmpty)
  }

  // MARK: Long answers

  /// Returns the response of service 09, PID 02: the identification number of 17 characters in three frames.
  private func identification(_ text: String = "1FTFW1ET1EKE12345") -> [CANFrame] {
    let message: [UInt8] = [0x49, 0x02, 0x01] + Array(text.utf8)
    return [
      answer([0x10, UInt8(message.count)] + message.prefix(6)),
      answer([0x21] + message[6..<13]), answer([0x22] + message[13..<20]),
    ]
  }

  @Test func theIdentificationNumberIsReassembledWithFlowControl() throws {
    var decoder = try decoder("Vehicle.VehicleIdentification.VIN")
    let frames = identification()
    let first = decoder.decode(frames[0], at: time(0))
    let reply = try #require(first.reply)
    #expect(reply.identifier == CANFrame.Identifier(0x7E0) && reply.data == ISOTPReceiver.flowControl)
    #expect(decoder.decode(frames[1], at: time(0.1)).readings.isEmpty)
    let last = decoder.decode(frames[2], at: time(0.2))
    #expect(last.readings.first?.value == .text("1FTFW1ET1EKE12345"))
    #expect(last.answer == .identification("1FTFW1ET1EKE12345"))
  }

  @Test func aReplyOf29BitsGoesBackToItsSender() {
    let addressing = OBDAddressing.extended
    #expect(
      addressing.unit(answering: CANFrame.Identifier(0x18DA_F110, isExtended: true))
        == CANFrame.Identifier(0x18DA_10F1, isExtended: true))
  }

  @Test func multiFrameMessagesOutOfOrderAreDropped() {
    func read(_ frames: [CANFrame], step: Double = 0.01) -> [[UInt8]] {
      var receiver = ISOTPReceiver()
      return frames.enumerated().compactMap { number, frame in
        if case .message(let message) = receiver.process(frame, at: time(Double(number) * step)) {
          message
        } else {
          nil
        }
      }
    }
    let frames = identification()
    #expect(read(frames).map(\.count) == [20])
    #expect(read([frames[1], frames[2]]).isEmpty)
    #expect(read([frames[0], frames[2]]).isEmpty)
    #expect(read([frames[0], frames[1], frames[1]]).isEmpty)
    #expect(read(frames, step: 1.1).isEmpty)
    // First frames whose message would fit into a single frame, and a short one.
    #expect(read([answer([0x10, 0x05, 1, 2, 3, 4, 5, 6])]).isEmpty)
    #expect(
      read([CANFrame(CANFrame.Identifier(0x7E8), data: [0x10, 0x14, 0x49])] + frames.dropFirst()).isEmpty)
    // Sequence numbers wrap after 15. The longest possible message is accepted.
    let length = 4095
    let first = CANFrame(CANFrame.Identifier(0x7E8), data: [0x1F, 0xFF, 0, 0, 0, 0, 0, 0])
    let rest = (1...(length - 6 + 6) / 7).map { answer([0x20 | UInt8($0 % 16), 1, 2, 3, 4, 5, 6, 7]) }
    #expect(read([first] + rest).map(\.count) == [length])
  }

  @Test func hostileFramesAreBounded() {
    var random = SplitMix.announced()
    var receiver = ISOTPReceiver()
    var messages = 0
    for step in 0..<50_000 {
      let frame = CANFrame(
        CANFrame.Identifier(0x7E8 + UInt32(random.next() % 64)),
        data: (0..<Int(random.next() % 9)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
      if case .message(let message) = receiver.process(frame, at: time(Double(step) * 0.001)) {
        messages += 1
        #expect(message.count <= 4095)
        _ = OBDAnswer(message)
      }
    }
    #expect(messages > 100)
  }

  // MARK: Requests

  private static let paths: Set<String> = [
    "Vehicle.Speed", "Vehicle.Powertrain.CombustionEngine.Speed", "Vehicle.LowVoltageBattery.CurrentVoltage",
  ]

  /// Runs a requester against a vehicle for some seconds, at 10 Hz.
  /// - Returns: the time and parameter of each request.
  private func run(
    _ requester: inout OBDRequester, from start: Double = 0, seconds: Double, isBusAwake: Bool = false,
    voltage: Double? = nil, engineSpeed: Double? = nil, speed: Double = 0
  ) -> [(time: Double, identifier: UInt8)] {
    var sent: [(Double, UInt8)] = []
    for tick in 0..<Int(seconds * 10) {
      let now = start + Double(tick) / 10
      guard let frame = requester.advance(to: time(now), isBusAwake: isBusAwake, voltage: voltage) else {
        continue
      }
      sent.append((now, frame.data[2]))
      guard let engineSpeed else { continue }
      let answers: [UInt8: [UInt8]] = [
        0x0C: [UInt8(Int(engineSpeed * 4) >> 8), UInt8(Int(engineSpeed * 4) & 0xFF)], 0x0D: [UInt8(speed)],
        0x42: [0x2E, 0xE0],
      ]
      if let data = answers[frame.data[2]], let answer = OBDAnswer([0x41, frame.data[2]] + data) {
        requester.observe(answer, at: time(now + 0.05))
      }
    }
    return sent
  }

  @Test func noRequestsOnASilentBus() {
    var requester = OBDRequester(.standard, paths: Self.paths)
    #expect(run(&requester, seconds: 3600).isEmpty)
    #expect(requester.nextDeadline == nil)
    // A battery at rest (12.6 V) does not indicate a running engine.
    #expect(run(&requester, from: 3600, seconds: 600, voltage: 12.6).isEmpty)
  }

  @Test func aRunningEngineIsAskedForEachParameterAtItsInterval() {
    var requester = OBDRequester(.standard, paths: Self.paths)
    let sent = run(&requester, seconds: 60, isBusAwake: true, engineSpeed: 800)
    #expect((200...300).contains(sent.count { $0.identifier == 0x0D }))
    #expect((50...62).contains(sent.count { $0.identifier == 0x0C }))
    #expect((5...8).contains(sent.count { $0.identifier == 0x42 }))
  }

  /// The voltage is that of a lithium battery at rest. Requests without an answer would discharge it.
  @Test func unansweredRequestsBecomeRareAtALastingVoltage() throws {
    var requester = OBDRequester(.standard, paths: Self.paths)
    let day = run(&requester, seconds: 86_400, voltage: 13.3)
    #expect(day.prefix { $0.time < 60 }.count >= 9)
    #expect(day.count { $0.time >= 3600 } <= 2 * 23 * 12 + 2)
    // The engine starts.
    let drive = run(&requester, from: 86_400, seconds: 600, voltage: 14.1, engineSpeed: 800)
    #expect(try #require(drive.first).time < 86_401 && drive.count > 2000)
    // Parked, the battery rests at 12.6 V. The next engine start is noticed immediately.
    _ = run(&requester, from: 87_000, seconds: 600, voltage: 12.6)
    #expect(run(&requester, from: 87_600, seconds: 10, voltage: 13.6, engineSpeed: 800).count > 30)
    _ = run(&requester, from: 87_610, seconds: 390, voltage: 12.6)
    // The vehicle answers a probe at the lasting voltage.
    _ = run(&requester, from: 88_000, seconds: 3600, voltage: 13.3)
    let charging = run(&requester, from: 91_600, seconds: 900, voltage: 13.3, engineSpeed: 800)
    #expect(charging.count > 2000)
  }

  @Test func aChargingVoltageStartsRequests() {
    var requester = OBDRequester(.standard, paths: Self.paths)
    #expect(run(&requester, seconds: 10, voltage: 14.1, engineSpeed: 800).count > 30)
    // Requests stop 30 s after the engine has stopped.
    _ = run(&requester, from: 10, seconds: 40, voltage: 12.4, engineSpeed: 0)
    #expect(run(&requester, from: 50, seconds: 600, voltage: 12.4, engineSpeed: 0).isEmpty)
  }

  /// If the bus stays awake after the engine has stopped, requests become ever rarer, so that it can go to sleep.
  @Test func anAwakeBusWithoutAnEngineIsAskedRarely() {
    var requester = OBDRequester(.standard, paths: Self.paths)
    let sent = run(&requester, seconds: 3600, isBusAwake: true, engineSpeed: 0)
    #expect((8...40).contains(sent.count), "\(sent.count)")
    #expect(Set(sent.map(\.identifier)) == [0x0C, 0x42])
    let pauses = zip(sent.dropFirst(), sent).map { $0.time - $1.time }
    #expect(pauses.allSatisfy { $0 >= 4.9 } && (pauses.last ?? 0) >= 299)
  }

  /// A parked vehicle whose bus wakes every 30 s is not queried each time.
  @Test func aParkedBusThatWakesBrieflyIsNotQueried() {
    var requester = OBDRequester(.standard, paths: Self.paths)
    var count = 0
    for minute in 0..<120 {
      count += run(&requester, from: Double(minute) * 30, seconds: 6, isBusAwake: true, engineSpeed: 0).count
      count += run(&requester, from: Double(minute) * 30 + 6, seconds: 24).count
    }
    #expect(count <= 40, "\(count)")
  }

  @Test func aMovingVehicleWithoutAnEngineIsAskedToo() {
    var requester = OBDRequester(.standard, paths: Self.paths)
    requester.observeRunning(at: time(0))
    let sent = run(&requester, seconds: 60, engineSpeed: 0, speed: 30)
    #expect(sent.count { $0.identifier == 0x0D } > 150)
  }

  @Test func aParameterThatIsNeverAnsweredIsAskedOnceAMinute() {
    var requester = OBDRequester(.standard, paths: ["Vehicle.Speed", "Vehicle.TraveledDistance"])
    let sent = run(&requester, seconds: 300, voltage: 14, engineSpeed: 800)
    #expect(sent.count { $0.identifier == 0xA6 } <= 9)
    #expect(sent.count { $0.identifier == 0x0D } > 900)
  }

  @Test func requestsArePaddedAndAddressedToAll() throws {
    for (addressing, identifier) in [
      (OBDAddressing.standard, CANFrame.Identifier(0x7DF)),
      (.extended, CANFrame.Identifier(0x18DB_33F1, isExtended: true)),
    ] {
      var requester = OBDRequester(addressing, paths: ["Vehicle.Speed"])
      let request = requester.advance(to: time(0), isBusAwake: false, voltage: 14)
      let frame = try #require(request)
      #expect(frame.identifier == identifier)
      #expect(frame.data == [0x02, 0x01, 0x0D, 0xCC, 0xCC, 0xCC, 0xCC, 0xCC])
    }
  }
}
