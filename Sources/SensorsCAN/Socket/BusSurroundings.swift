internal import Platform
internal import Spatial

/// Signs that the vehicle is active, obtained without requests: the number of frames that are not answers to
/// this device, and the vehicle's voltage.
struct BusSurroundings: Sendable {
  private let interface: String
  private let voltageFile: String?
  /// Voltage in V; nil if not measured.
  private(set) var voltage: Double?
  private var counted: Int?
  /// Number of answers to this device and of its own frames since the last check. Virtual interfaces count
  /// own frames as received, too.
  private var ours = 0
  private var lastTraffic: Timestamp?
  private var due: Timestamp?

  /// Interval in s between checks.
  static let interval = 2.0
  /// Time in s for which a frame of another unit shows that the bus is active.
  private static let freshness = 5.0

  init(interface: String, voltageFile: String?) {
    self.interface = interface
    self.voltageFile = voltageFile
  }

  func isBusAwake(at now: Timestamp) -> Bool {
    lastTraffic.map { now.seconds(since: $0) <= Self.freshness } ?? false
  }

  /// Records a frame that passed the filters.
  mutating func observe(isAnswer: Bool, at time: Timestamp) {
    if isAnswer { ours += 1 } else { lastTraffic = time }
  }

  /// Records a sent frame.
  mutating func observeSent() { ours += 1 }

  /// Reads the interface's frame counter and the voltage, at most once per `interval`.
  mutating func look(at now: Timestamp) {
    guard due.map({ now >= $0 }) ?? true else { return }
    due = now.advanced(bySeconds: Self.interval)
    if let count = number("/sys/class/net/\(interface)/statistics/rx_packets") {
      if let counted, count - counted > ours { lastTraffic = now }
      (counted, ours) = (count, 0)
    }
    voltage = voltageFile.flatMap(number).map { Self.volts($0) }
  }

  /// Returns the number in a file of the kernel; nil if the file is missing or contains no number.
  private func number(_ path: String) -> Int? {
    guard let bytes = try? AtomicFile.contents(of: path, limit: 64) else { return nil }
    let text = String(decoding: bytes.prefix { (0x30...0x39).contains($0) }, as: UTF8.self)
    return Int(text)
  }

  /// Converts from mV, or from µV for numbers of 1,000,000 and more, because no supply has 1,000 V.
  private static func volts(_ number: Int) -> Double {
    Double(number) * (number >= 1_000_000 ? 1e-6 : 1e-3)
  }
}
