internal import Glibc
internal import Platform
public import Sensors
public import Spatial
internal import TestSupport

/// An iiod on a free loopback port whose sensors follow a function of time, at real pace.
///
/// It speaks the network protocol of libiio 0.24, so that the real library captures from it without privileges. As with
/// real hardware, a chip delivers nothing until a client opens its buffer, and then whole blocks of the size that the client
/// requested. Values have the resolution and the noise of a common 16-bit chip.
public final class EmulatedIIOD: Sendable {
  /// A measurement of all sensors at one moment, in the axes of the device.
  public struct Reading: Sendable {
    /// Specific force in m/s²; a level device at rest measures +9.81 along z.
    public var specificForce: Vector3
    /// Rotation rate in rad/s.
    public var rotationRate: Vector3
    /// Magnetic field in µT.
    public var magneticField: Vector3
    /// Air pressure in Pa.
    public var pressure: Double

    /// A level device at rest that faces north.
    public init(
      specificForce: Vector3 = Vector3(0, 0, 9.81), rotationRate: Vector3 = .zero,
      magneticField: Vector3 = Vector3(0, 20, -44), pressure: Double = 101_325
    ) {
      (self.specificForce, self.rotationRate) = (specificForce, rotationRate)
      (self.magneticField, self.pressure) = (magneticField, pressure)
    }
  }

  /// A device of the context.
  public struct Chip: Sendable {
    public var name: String
    public var kinds: [SensorKind]
    /// Sampling frequencies in Hz that the driver offers.
    public var frequencies: [Double]
    /// True if the chip has a buffer. Attributes of a chip without a buffer are polled.
    public var isBuffered: Bool

    public init(
      _ name: String, _ kinds: [SensorKind], frequencies: [Double] = [12.5, 25, 50, 100, 200],
      isBuffered: Bool = true
    ) {
      (self.name, self.kinds) = (name, kinds)
      (self.frequencies, self.isBuffered) = (frequencies, isBuffered)
    }
  }

  /// An accelerometer and gyroscope, a magnetometer, and a barometer without a buffer.
  public static let allSensors = [
    Chip("imu", [.accelerometer, .gyroscope]), Chip("mag", [.magnetometer]),
    Chip("baro", [.barometer], isBuffered: false),
  ]

  /// Opening of a buffer by a client.
  public struct Capture: Sendable {
    public var chip: String
    public var kinds: Set<SensorKind>
    /// Sampling frequency in Hz.
    public var hertz: Double
    /// Samples in one block.
    public var blockSize: Int
    public var isOpen = true
  }

  public let port: Int
  public var uri: String { "ip:127.0.0.1:\(port)" }

  fileprivate struct State {
    var motion: @Sendable (Double) -> Reading
    /// Start of the motion's time, ns on the boot clock.
    var zero = Timestamp.now.nanoseconds
    var captures: [Capture] = []
    var polls = 0
    var frequencies: [Double]
    var clocks: [String]
    var descriptors: Set<Int32> = []
    var isStopped = false
  }

  fileprivate let chips: [Chip]
  fileprivate let state: Locked<State>
  private let listener: Int32

  /// Starts the server.
  /// - Parameter motion: the reading at a number of seconds since the start, or since `play`.
  public init(
    _ chips: [Chip] = allSensors, motion: @escaping @Sendable (Double) -> Reading = { _ in Reading() }
  ) throws {
    self.chips = chips
    state = Locked(
      State(
        motion: motion, frequencies: chips.map { $0.frequencies.first ?? 0 },
        clocks: chips.map { _ in "realtime" }))
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    self.listener = listener
    port = try LoopbackSocket.listen(listener)
    try DedicatedThread.start(name: "emulated-iiod") { [weak self] in
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        guard let self, self.admit(descriptor) else {
          close(descriptor)
          continue
        }
        let connection = IIODConnection(descriptor, self)
        if (try? DedicatedThread.start(name: "iiod-client") { connection.serve() }.detach()) == nil {
          self.remove(descriptor)
        }
      }
    }.detach()
  }

  deinit { stop() }

  /// Stops the server as a crash would: all connections close.
  public func stop() {
    let wasStopped = state.withLock { state in
      defer { state.isStopped = true }
      for descriptor in state.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
      return state.isStopped
    }
    guard !wasStopped else { return }
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  /// Replaces the motion; its time restarts at zero.
  public func play(_ motion: @escaping @Sendable (Double) -> Reading) {
    state.withLock { ($0.motion, $0.zero) = (motion, Timestamp.now.nanoseconds) }
  }

  /// Openings of buffers since the start, oldest first.
  public var captures: [Capture] { state.withLock(\.captures) }

  /// Number of reads of single attributes since the start, for example of a barometer without a buffer.
  public var pollCount: Int { state.withLock(\.polls) }

  /// True if a buffer with this kind of sensor is open. Then the sensor is powered.
  public func isCapturing(_ kind: SensorKind) -> Bool {
    captures.contains { $0.isOpen && $0.kinds.contains(kind) }
  }

  /// The sampling frequency in Hz of the open buffer with this kind of sensor; nil if none is open.
  public func frequency(of kind: SensorKind) -> Double? {
    captures.last { $0.isOpen && $0.kinds.contains(kind) }?.hertz
  }

  private func admit(_ descriptor: Int32) -> Bool {
    state.withLock { state in
      if !state.isStopped { state.descriptors.insert(descriptor) }
      return !state.isStopped
    }
  }

  fileprivate func remove(_ descriptor: Int32) {
    state.withLock { _ = $0.descriptors.remove(descriptor) }
    close(descriptor)
  }
}

// MARK: Description

extension EmulatedIIOD.Chip {
  struct Channel {
    var identifier: String
    var kind: SensorKind?
    var axis: Int
    /// Value of one step in SI units, or in the kernel's kPa and gauss.
    var scale: Double

    var bytes: Int { kind == nil ? 8 : 2 }
    var format: String { kind == nil ? "le:S64/64&gt;&gt;0" : "le:S16/16&gt;&gt;0" }
  }

  /// Channels in the order of the scan; the time stamp is the last one.
  var channels: [Channel] {
    var channels: [Channel] = []
    for kind in kinds {
      let (stem, scale): (String, Double) =
        switch kind {
        case .accelerometer: ("accel", 0.004_788_4)
        case .gyroscope: ("anglvel", 0.001_065_3)
        case .magnetometer: ("magn", 0.001_5)
        default: ("pressure", 0)
        }
      guard kind != .barometer else {
        channels.append(Channel(identifier: stem, kind: kind, axis: 0, scale: scale))
        continue
      }
      for (axis, name) in ["x", "y", "z"].enumerated() {
        channels.append(Channel(identifier: "\(stem)_\(name)", kind: kind, axis: axis, scale: scale))
      }
    }
    if isBuffered { channels.append(Channel(identifier: "timestamp", kind: nil, axis: 0, scale: 1)) }
    return channels
  }

  func xml(_ number: Int) -> String {
    var text = #"<device id="iio:device\#(number)" name="\#(name)">"#
    for (index, channel) in channels.enumerated() {
      text += #"<channel id="\#(channel.identifier)" type="input">"#
      if isBuffered {
        text += #"<scan-element index="\#(index)" format="\#(channel.format)"/>"#
      }
      if channel.kind == .barometer {
        text += #"<attribute name="input" filename="in_pressure_input"/>"#
      } else if channel.kind != nil {
        text += #"<attribute name="raw" filename="in_\#(channel.identifier)_raw"/>"#
        text += #"<attribute name="scale" filename="in_\#(channel.identifier.dropLast(2))_scale"/>"#
      }
      text += "</channel>"
    }
    if isBuffered {
      for name in ["sampling_frequency", "sampling_frequency_available", "current_timestamp_clock"] {
        text += #"<attribute name="\#(name)"/>"#
      }
    }
    return text + "</device>"
  }
}

extension EmulatedIIOD {
  fileprivate var description: String {
    #"<?xml version="1.0" encoding="utf-8"?><context name="network" description="emulated">"#
      + chips.enumerated().map { $1.xml($0) }.joined() + "</context>"
  }

  /// The value of one channel at a time of the boot clock, in the kernel's units, with noise.
  fileprivate func value(
    of channel: Chip.Channel, at nanoseconds: Int64, _ motion: (Double) -> Reading, zero: Int64
  ) -> Double {
    let reading = motion(Double(nanoseconds - zero) * 1e-9)
    var noise = SplitMix(seed: UInt64(bitPattern: nanoseconds) &* 31 &+ UInt64(channel.axis))
    let deviation = noise.normal()
    switch channel.kind {
    case .accelerometer: return reading.specificForce[channel.axis] + 0.01 * deviation
    case .gyroscope: return reading.rotationRate[channel.axis] + 0.002 * deviation
    case .magnetometer: return (reading.magneticField[channel.axis] + 0.2 * deviation) / 100
    default: return (reading.pressure + deviation) / 1000
    }
  }
}

// MARK: Connections

/// Connection of a client.
private final class IIODConnection: Sendable {
  private let descriptor: Int32
  private let server: EmulatedIIOD

  /// The open buffer of a connection.
  private struct Stream {
    var device: Int
    var capture: Int
    var channels: [EmulatedIIOD.Chip.Channel]
    var mask: String
    var blockSize: Int
    var hertz: Double
    /// Start time in ns on the boot clock.
    var start: Int64
    /// Number of samples that were delivered or dropped.
    var position = 0

    var stride: Int {
      let size = channels.reduce(0) { ($0 + $1.bytes - 1) / $1.bytes * $1.bytes + $1.bytes }
      let alignment = channels.map(\.bytes).max() ?? 1
      return (size + alignment - 1) / alignment * alignment
    }

    func time(of sample: Int) -> Int64 { start + Int64(Double(sample) * 1e9 / hertz) }
  }

  /// Number of blocks that the kernel buffers for a slow client.
  private static let depth = 64

  init(_ descriptor: Int32, _ server: EmulatedIIOD) { (self.descriptor, self.server) = (descriptor, server) }

  func serve() {
    var (input, stream, timeout): ([UInt8], Stream?, Double) = ([], nil, 5)
    while let line = nextLine(&input) {
      let words = line.split(separator: " ").map(String.init)
      guard let command = words.first, command != "EXIT" else { break }
      let isAnswered =
        switch command {
        case "VERSION": send("0.24.emulate\n")
        case "PRINT": send("\(server.description.utf8.count)\n\(server.description)\n")
        case "TIMEOUT":
          {
            timeout = (words.last.flatMap(Double.init) ?? 5000) / 1000
            return send("0\n")
          }()
        case "SET": send("0\n")
        case "OPEN": open(words, &stream)
        case "CLOSE":
          {
            end(&stream)
            return send("0\n")
          }()
        case "READBUF": read(&stream, timeout)
        case "READ": send(answer(attribute(words)))
        case "WRITE": write(words, &input)
        case "GETTRIG": send("-2\n")
        default: send("-22\n")
        }
      guard isAnswered else { break }
    }
    end(&stream)
    server.remove(descriptor)
  }

  private func device(_ words: [String]) -> Int? {
    guard words.count > 1, let number = words[1].split(separator: "e").last.flatMap({ Int($0) }) else {
      return nil
    }
    return server.chips.indices.contains(number) ? number : nil
  }

  private func open(_ words: [String], _ stream: inout Stream?) -> Bool {
    guard let device = device(words), words.count > 3, let size = Int(words[2]), size > 0,
      let mask = UInt32(words[3], radix: 16), server.chips[device].isBuffered
    else { return send("-22\n") }
    end(&stream)
    let chip = server.chips[device]
    let channels = chip.channels.enumerated().filter { mask & 1 << $0.offset != 0 }.map(\.element)
    let (capture, hertz) = server.state.withLock { state in
      let hertz = state.frequencies[device]
      state.captures.append(
        EmulatedIIOD.Capture(
          chip: chip.name, kinds: Set(channels.compactMap(\.kind)), hertz: hertz, blockSize: size))
      return (state.captures.count - 1, hertz)
    }
    stream = Stream(
      device: device, capture: capture, channels: channels, mask: words[3], blockSize: size, hertz: hertz,
      start: Timestamp.now.nanoseconds)
    return send("0\n")
  }

  private func end(_ stream: inout Stream?) {
    if let capture = stream?.capture { server.state.withLock { $0.captures[capture].isOpen = false } }
    stream = nil
  }

  /// Waits in real time for the next block, and sends it. As in iiod, a block that does not fill before the timeout
  /// is dropped.
  private func read(_ stream: inout Stream?, _ timeout: Double) -> Bool {
    guard var current = stream else { return send("-9\n") }
    let now = Timestamp.now.nanoseconds
    let produced = Int(Double(now - current.start) * 1e-9 * current.hertz)
    let held = current.blockSize * Self.depth
    if produced - current.position > held { current.position = produced - held }
    let due = current.time(of: current.position + current.blockSize)
    let limit = now + Int64(timeout * 1e9)
    guard waitUntil(min(due, limit)) else { return false }
    guard due <= limit else {
      current.position = Int(Double(Timestamp.now.nanoseconds - current.start) * 1e-9 * current.hertz)
      stream = current
      return send("-110\n")
    }
    let (motion, zero, clock) = server.state.withLock { ($0.motion, $0.zero, $0.clocks[current.device]) }
    let offset =
      switch clock {
      case "boottime": Int64(0)
      case "monotonic": MonotonicTime.now.nanoseconds - Timestamp.now.nanoseconds
      default: UTCTime.now.nanoseconds - Timestamp.now.nanoseconds
      }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(current.stride * current.blockSize)
    for index in 0..<current.blockSize {
      let time = current.time(of: current.position + index + 1)
      let begin = bytes.count
      for channel in current.channels {
        while (bytes.count - begin) % channel.bytes != 0 { bytes.append(0) }
        if channel.kind == nil {
          withUnsafeBytes(of: (time + offset).littleEndian) { bytes.append(contentsOf: $0) }
        } else {
          let value = server.value(of: channel, at: time, motion, zero: zero)
          let raw = Int16(max(-32768, min(32767, (value / channel.scale).rounded())))
          withUnsafeBytes(of: raw.littleEndian) { bytes.append(contentsOf: $0) }
        }
      }
      while bytes.count - begin < current.stride { bytes.append(0) }
    }
    current.position += current.blockSize
    stream = current
    return send("\(bytes.count)\n\(current.mask)\n") && LoopbackSocket.sendAll(descriptor, bytes[...])
  }

  private func attribute(_ words: [String]) -> String? {
    guard let device = device(words), let name = words.last else { return nil }
    let chip = server.chips[device]
    if words.count == 5, let channel = chip.channels.first(where: { $0.identifier == words[3] }) {
      if name == "scale" { return "\(channel.scale)" }
      let (motion, zero) = server.state.withLock { state in
        state.polls += 1
        return (state.motion, state.zero)
      }
      let value = server.value(of: channel, at: Timestamp.now.nanoseconds, motion, zero: zero)
      return name == "raw" ? "\(Int((value / channel.scale).rounded()))" : "\(value)"
    }
    return server.state.withLock { state in
      switch name {
      case "sampling_frequency": "\(state.frequencies[device])"
      case "sampling_frequency_available": chip.frequencies.map { "\($0)" }.joined(separator: " ")
      case "current_timestamp_clock": state.clocks[device]
      case "buffer/enable": state.captures.contains { $0.isOpen && $0.chip == chip.name } ? "1" : "0"
      default: nil
      }
    }
  }

  private func answer(_ text: String?) -> String {
    text.map { "\($0.utf8.count + 1)\n\($0)\0\n" } ?? "-2\n"
  }

  private func write(_ words: [String], _ input: inout [UInt8]) -> Bool {
    guard let count = words.last.flatMap({ Int($0) }), let bytes = next(count, &input) else { return false }
    guard let device = device(words), words.count >= 4 else { return send("-22\n") }
    let text = String(decoding: bytes.prefix { $0 > 32 }, as: UTF8.self)
    let name = words[words.count - 2]
    let chip = server.chips[device]
    let isAccepted = server.state.withLock { state in
      switch name {
      case "sampling_frequency":
        guard let hertz = Double(text), hertz > 0 else { return false }
        state.frequencies[device] =
          chip.frequencies.first { $0 >= hertz - 1e-6 } ?? chip.frequencies.last ?? hertz
      case "current_timestamp_clock": state.clocks[device] = text
      default: return false
      }
      return true
    }
    return send(isAccepted ? "\(count)\n" : "-22\n")
  }

  // MARK: Bytes

  private func send(_ text: String) -> Bool { LoopbackSocket.sendAll(descriptor, Array(text.utf8)[...]) }

  /// Returns false if the client closes the connection first.
  private func waitUntil(_ time: Int64) -> Bool {
    while true {
      let left = time - Timestamp.now.nanoseconds
      guard left > 0 else { return true }
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = poll(&entry, 1, Int32(clamping: left / 1_000_000 + 1))
      // A client that closes its side or sends another request no longer waits.
      if ready > 0 {
        var byte: UInt8 = 0
        guard recv(descriptor, &byte, 1, Int32(MSG_PEEK)) > 0 else { return false }
        usleep(1000)
      }
    }
  }

  private func nextLine(_ input: inout [UInt8]) -> String? {
    while true {
      if let end = input.firstIndex(of: 10) {
        let line = String(decoding: input[..<end].filter { $0 != 13 }, as: UTF8.self)
        input.removeSubrange(...end)
        return line
      }
      guard receive(&input) else { return nil }
    }
  }

  private func next(_ count: Int, _ input: inout [UInt8]) -> [UInt8]? {
    while input.count < count { guard receive(&input) else { return nil } }
    defer { input.removeFirst(count) }
    return Array(input.prefix(count))
  }

  private func receive(_ input: inout [UInt8]) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    guard count > 0 else { return false }
    input += bytes.prefix(count)
    return true
  }
}
