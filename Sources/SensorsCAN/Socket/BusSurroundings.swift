internal import Platform
internal import Spatial

/// What says that somebody is awake without asking: frames that the interface has counted besides the answers to us, and the
/// vehicle's voltage.
struct BusSurroundings: Sendable {
  private let interface: String
  private let voltageFile: String?
  /// V; nil where nothing measures it.
  private(set) var voltage: Double?
  private var counted: Int?
  /// Answers to us, and what we have sent, which virtual interfaces count too.
  private var ours = 0
  private var lastTraffic: Timestamp?
  private var due: Timestamp?

  /// Seconds between two looks.
  static let interval = 2.0
  /// Seconds for which a frame of others says that the bus is awake.
  private static let freshness = 5.0

  init(interface: String, voltageFile: String?) {
    self.interface = interface
    self.voltageFile = voltageFile
  }

  func isBusAwake(at now: Timestamp) -> Bool {
    lastTraffic.map { now.seconds(since: $0) <= Self.freshness } ?? false
  }

  /// Learns of a frame that passed the filters.
  mutating func observe(isAnswer: Bool, at time: Timestamp) {
    if isAnswer { ours += 1 } else { lastTraffic = time }
  }

  /// Learns of a frame that was sent.
  mutating func observeSent() { ours += 1 }

  /// Looks at the counter and the voltage, if it is time.
  mutating func look(at now: Timestamp) {
    guard due.map({ now >= $0 }) ?? true else { return }
    due = now.advanced(bySeconds: Self.interval)
    if let count = number("/sys/class/net/\(interface)/statistics/rx_packets") {
      if let counted, count - counted > ours { lastTraffic = now }
      (counted, ours) = (count, 0)
    }
    voltage = voltageFile.flatMap(number).map { Self.volts($0) }
  }

  /// A file of the kernel that holds a number; nil where there is none.
  private func number(_ path: String) -> Int? {
    guard let bytes = try? AtomicFile.contents(of: path, limit: 64) else { return nil }
    let text = String(decoding: bytes.prefix { (0x30...0x39).contains($0) }, as: UTF8.self)
    return Int(text)
  }

  /// mV, or µV from 1,000,000 on: no vehicle has 1,000 V on the line that feeds us.
  private static func volts(_ number: Int) -> Double {
    Double(number) * (number >= 1_000_000 ? 1e-6 : 1e-3)
  }
}
