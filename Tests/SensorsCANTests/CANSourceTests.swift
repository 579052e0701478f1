import Foundation
import Platform
import Sensors
import Spatial
import TestSupport
import Testing

@testable import SensorsCAN

/// A CAN source on a socket pair that carries `struct can_frame` as the kernel does.
@Suite(.timeLimit(.minutes(2))) struct CANSourceTests {
  /// The remote end of a CAN bus.
  private final class Wire: Sendable {
    private let ends = Locked<(ours: Int32, theirs: Int32)>((-1, -1))

    init() throws { try renew() }

    deinit { ends.withLock { _ = (close($0.ours), close($0.theirs)) } }

    private func renew() throws {
      var pair: [Int32] = [-1, -1]
      try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &pair) == 0)
      let (ours, theirs) = (pair[0], pair[1])
      ends.withLock { $0 = (ours, theirs) }
    }

    /// Returns the source's socket, once until the wire is cut and plugged in again.
    func open() throws(SourceError) -> CANSocket {
      let descriptor = ends.withLock { ends in
        defer { ends.theirs = -1 }
        return ends.theirs
      }
      guard descriptor >= 0 else { throw CANSocket.down("can0") }
      return CANSocket(adopting: descriptor, interface: "can0")
    }

    func send(_ identifier: UInt32, _ data: [UInt8], kind: CANFrame.Kind = .data) {
      let frame = CANFrame(
        CANFrame.Identifier(identifier, isExtended: identifier > 0x7FF), data: data, kind: kind)
      var bytes = frame.kernelBytes
      if kind == .error { bytes[3] |= 0x20 }
      let descriptor = ends.withLock { $0.ours }
      #expect(write(descriptor, bytes, bytes.count) == bytes.count)
    }

    /// Returns a frame that the source has sent; nil if none arrives in time.
    func receive(seconds: Double) -> CANFrame? {
      let descriptor = ends.withLock { $0.ours }
      guard waitUntilReadable([descriptor], seconds: seconds) != nil else { return nil }
      var bytes = [UInt8](repeating: 0, count: 72)
      let count = read(descriptor, &bytes, bytes.count)
      return count > 0 ? CANFrame(kernel: Array(bytes.prefix(count))) : nil
    }

    func cut() {
      ends.withLock { ends in
        _ = close(ends.ours)
        ends.ours = -1
      }
    }

    func plugIn() throws { try renew() }
  }

  private func source(
    _ wire: Wire, _ paths: [String] = ["Vehicle.Speed"], j1939: Bool = false, obd: OBDAddressing? = nil
  ) throws -> (source: CANSource, recorder: EventRecorder) {
    let configuration = CANConfiguration(
      signals: paths.map { CANConfiguration.Signal(path: $0) }, isJ1939: j1939, diagnostics: obd)
    let source = try CANSource(CANBus(interface: "can0", configuration: configuration)) {
      _ throws(SourceError) in try wire.open()
    }
    let recorder = EventRecorder()
    try source.start(recorder.receive)
    return (source, recorder)
  }

  private static let speed: [UInt8] = [0xFF, 0x00, 0x32, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]

  @Test func framesBecomeReadingsAndNoneIsSent() throws {
    let wire = try Wire()
    let (source, recorder) = try source(wire, j1939: true)
    defer { source.stop() }
    let before = Timestamp.now
    wire.send(0x18FE_F100, Self.speed)
    wire.send(0x123, [1, 2, 3])
    #expect(waitUntil { !recorder.vehicle.isEmpty })
    let reading = try #require(recorder.vehicle.first)
    #expect(reading.path == "Vehicle.Speed" && reading.value == .number(50) && reading.origin == .broadcast)
    #expect((before...Timestamp.now).contains(reading.timestamp))
    #expect(recorder.statuses.map(\.state) == [.active(rates: [:])])
    #expect(recorder.statuses.first?.source == "can:can0")
    #expect(wire.receive(seconds: 0.5) == nil)
  }

  @Test func aLostBusIsReportedAndResumed() throws {
    let wire = try Wire()
    let (source, recorder) = try source(wire, j1939: true)
    defer { source.stop() }
    #expect(waitUntil { recorder.statuses.count == 1 })
    wire.cut()
    #expect(waitUntil { recorder.statuses.count == 2 })
    guard case .unavailable(let reason) = recorder.statuses[1].state else {
      Issue.record("\(recorder.statuses)")
      return
    }
    #expect(reason.contains("ip link set can0 up"))
    try wire.plugIn()
    #expect(waitUntil { recorder.statuses.count == 3 })
    wire.send(0x18FE_F100, Self.speed)
    #expect(waitUntil { !recorder.vehicle.isEmpty })
  }

  /// A lost interface is silent like the bus of a parked vehicle: the ignition is reported as off.
  @Test func aLostInterfaceEndsTheIgnition() throws {
    let wire = try Wire()
    let (source, recorder) = try source(
      wire, ["Vehicle.Speed", "Vehicle.LowVoltageSystemState"], j1939: true)
    defer { source.stop() }
    func hasReported(_ state: String) -> Bool {
      recorder.vehicle.contains {
        $0.path == "Vehicle.LowVoltageSystemState" && $0.value == .text(state)
      }
    }
    wire.send(0x18FE_F100, Self.speed)
    #expect(waitUntil { hasReported("ON") })
    wire.cut()
    #expect(waitUntil(atMost: 60) { hasReported("OFF") }, "\(recorder.vehicle)")
  }

  @Test func busOffIsReportedWithARemedy() throws {
    let wire = try Wire()
    let (source, recorder) = try source(wire, j1939: true)
    defer { source.stop() }
    // An error frame with CAN_ERR_BUSOFF, then a data frame.
    wire.send(0x40, [UInt8](repeating: 0, count: 8), kind: .error)
    #expect(waitUntil { recorder.statuses.count == 2 })
    guard case .unavailable(let reason) = recorder.statuses[1].state else {
      Issue.record("\(recorder.statuses)")
      return
    }
    #expect(reason.contains("bit rate") && reason.contains("restart-ms"))
    wire.send(0x18FE_F100, Self.speed)
    #expect(waitUntil { recorder.statuses.count == 3 })
    #expect(recorder.statuses[2].state == .active(rates: [:]))
  }

  /// A simulated control unit: engine speed 800 1/min, vehicle speed 50 km/h.
  @Test func anAwakeBusIsAskedAndAnswers() throws {
    let wire = try Wire()
    let (source, recorder) = try source(
      wire, ["Vehicle.Speed", "Vehicle.VehicleIdentification.VIN"], obd: .standard)
    defer { source.stop() }
    #expect(wire.receive(seconds: 1) == nil, "a request was sent on a silent bus")
    // Another node sends: the bus is awake.
    wire.send(0x316, [1, 2, 3])
    var asked: Set<[UInt8]> = []
    let hasAll = waitUntil {
      wire.send(0x316, [1, 2, 3])
      guard let frame = wire.receive(seconds: 0.2) else { return false }
      switch Array(frame.data.prefix(3)) {
      case [2, 1, 0x0C]: wire.send(0x7E8, [4, 0x41, 0x0C, 0x0C, 0x80, 0, 0, 0])
      case [2, 1, 0x0D]: wire.send(0x7E8, [3, 0x41, 0x0D, 50, 0, 0, 0, 0])
      case [2, 9, 2]: wire.send(0x7E8, [0x10, 20, 0x49, 2, 1] + Array("1FT".utf8))
      case [0x30, 0, 0]:
        #expect(frame.identifier == CANFrame.Identifier(0x7E0))
        wire.send(0x7E8, [0x21] + Array("FW1ET1E".utf8))
        wire.send(0x7E8, [0x22] + Array("KE12345".utf8))
      default: break
      }
      asked.insert(Array(frame.data.prefix(3)))
      return Set(recorder.vehicle.map(\.path)).count == 2
    }
    #expect(hasAll, "\(asked)")
    #expect(recorder.vehicle.contains { $0.value == .number(50) && $0.origin == .diagnostic })
    #expect(recorder.vehicle.contains { $0.value == .text("1FTFW1ET1EKE12345") })
  }

  @Test func aMissingInterfaceIsReportedWithARemedy() throws {
    let configuration = CANConfiguration(
      signals: [CANConfiguration.Signal(path: "Vehicle.Speed")], isJ1939: true)
    let source = try CANSource(CANBus(interface: "nocan0", configuration: configuration))
    let recorder = EventRecorder()
    try source.start(recorder.receive)
    defer { source.stop() }
    #expect(waitUntil { !recorder.statuses.isEmpty })
    guard case .unavailable(let reason) = recorder.statuses[0].state else {
      Issue.record("\(recorder.statuses)")
      return
    }
    let isKnown =
      reason.contains("this kernel has no CAN") && reason.contains("modprobe can-raw")
      || reason.contains("no such interface") && reason.contains("can.interface")
    #expect(isKnown, "\(reason)")
    #expect(throws: SourceError.self) { try CANTraffic.listen(to: "nocan0", seconds: 0) }
  }

  @Test(arguments: [(EAFNOSUPPORT, "this kernel has no CAN"), (EPERM, "AF_CAN"), (EMFILE, "limits")])
  func socketErrorsAreReportedWithACause(code: Int32, says: String) {
    #expect("\(CANSocket.noCAN("can0", code: code))".contains(says))
  }

  @Test func framesHaveTheKernelsForm() {
    for frame in [
      CANFrame(CANFrame.Identifier(0x123), data: [1, 2, 3]),
      CANFrame(CANFrame.Identifier(0x1F33_4455, isExtended: true), data: []),
      CANFrame(CANFrame.Identifier(0x7DF), data: [UInt8](repeating: 7, count: 64)),
      CANFrame(CANFrame.Identifier(0x7DF), data: [], kind: .remoteRequest),
    ] {
      #expect(CANFrame(kernel: frame.kernelBytes) == frame)
    }
    #expect(
      CANFrame(CANFrame.Identifier(0x123), data: [9]).kernelBytes.prefix(9) == [0x23, 1, 0, 0, 1, 0, 0, 0, 9])
    // More data than fits, and a wrong size.
    #expect(CANFrame(kernel: [0x23, 1, 0, 0, 9] + [UInt8](repeating: 0, count: 11)) == nil)
    #expect(CANFrame(kernel: [1, 2, 3]) == nil)
  }

  /// Values in the form of CAN_RAW_FILTER. The error flag in a mask would admit error frames only.
  @Test func filtersHaveTheKernelsForm() {
    #expect(CANFilter(CANFrame.Identifier(0x123)).kernelValues == [0x123, 0xC000_07FF])
    #expect(J1939Identifier.filter(group: 65_265).kernelValues == [0x80FE_F100, 0xC3FF_FF00])
    #expect(OBDAddressing.standard.answers.kernelValues == [0x7E8, 0xC000_07F8])
    #expect(OBDAddressing.extended.answers.kernelValues == [0x98DA_F100, 0xDFFF_FF00])
  }

  @Test func interfacesAreListedByTheirHardware() throws {
    let directory = try TemporaryDirectory()
    for (name, type, flags) in [
      ("can1", "280", "0x40081"), ("can0", "280", "0x40080"), ("eth0", "1", "0x1003"),
    ] {
      mkdir(directory.file(name), 0o755)
      try directory.write("\(name)/type", type + "\n")
      try directory.write("\(name)/flags", flags + "\n")
    }
    #expect(
      CANInterface.all(in: directory.path)
        == [CANInterface(name: "can0", isUp: false), CANInterface(name: "can1", isUp: true)])
    #expect(CANInterface.all(in: directory.file("nothing")).isEmpty)
  }

  @Test func trafficIdentifiesTheProtocols() {
    var traffic = CANTraffic()
    #expect("\(traffic)" == "silent")
    traffic.observe(CANFrame(CANFrame.Identifier(4, isExtended: true), data: [], kind: .error))
    #expect("\(traffic)".contains("bit rate"))
    traffic.observe(CANFrame(CANFrame.Identifier(0x18FE_F100, isExtended: true), data: []))
    #expect(traffic.hasJ1939 && !traffic.hasDiagnostics)
    traffic.observe(CANFrame(CANFrame.Identifier(0x7E8), data: []))
    traffic.observe(CANFrame(CANFrame.Identifier(0x7E8), data: []))
    #expect(traffic.hasDiagnostics && traffic.frames == 3 && traffic.identifiers == 2)
    #expect("\(traffic)" == "3 frames of 2 identifiers in a second, SAE J1939, OBD-II, with errors")
  }
}

extension EventRecorder {
  fileprivate var vehicle: [VehicleReading] {
    events.flatMap { event -> [VehicleReading] in
      if case .vehicle(let block) = event { block } else { [] }
    }
  }
}
