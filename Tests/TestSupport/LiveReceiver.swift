internal import Foundation
internal import Glibc
internal import Platform

/// A simulated receiver in real time behind a gpsd. It sends one epoch on each whole second of the wall clock to a pseudo-terminal while
/// gpsd has it open. Watching clients are detected in gpsd's log.
public final class LiveReceiver: Sendable {
  /// The receiver's output for one second.
  public struct Epoch: Sendable {
    /// Degrees, positive north and east.
    public var latitude, longitude: Double
    /// Ground speed in m/s, and course in degrees clockwise from north.
    public var speed, course: Double
    /// Altitude in m above the ellipsoid; the receiver assumes that it equals mean sea level.
    public var height = 100.0
    /// 95 % bounds of the position error in m and of the speed error in m/s; sent only with `Language.ubx`.
    public var accuracy = 4.0
    public var speedAccuracy = 0.2
    /// Horizontal dilution of precision.
    public var dilution = 0.9
    /// True if there is a fix. Without a fix the receiver continues to send epochs without a position, as in a tunnel.
    public var hasFix = true

    public init(latitude: Double, longitude: Double, speed: Double, course: Double) {
      (self.latitude, self.longitude) = (latitude, longitude)
      (self.speed, self.course) = (speed, course)
    }
  }

  /// Protocol of the receiver. NMEA contains no accuracy that gpsd reads.
  public enum Language: Sendable {
    case nmea
    case ubx
    /// GGA only: positions without speed and course. If they are dated (ZDA), gpsd derives a speed from them.
    case positions(isDated: Bool)
  }

  public let port: UInt16
  private let process: ChildProcess
  private let scratch: ScratchFolder
  private let terminal: Int32
  private let state: Locked<State>

  private struct State {
    var epochs: [Epoch]
    /// UTC second of the first epoch. The first epoch is repeated before it, the last one after the end.
    var start = 0
    var isStopped = false
    /// Start and end of each watch in UTC seconds; `open` has the start by client.
    var open: [String: Double] = [:]
    var watches: [(begin: Double, end: Double)] = []

    /// The last bytes received from gpsd.
    var heard: [UInt8] = []

    func epoch(at second: Int) -> Epoch { epochs[min(max(0, second - start), epochs.count - 1)] }
  }

  /// Starts gpsd and the receiver, which repeats the given epoch until `play`.
  /// - Throws: `SystemError` if there is no pseudo-terminal; `GPSDFixtureError` if gpsd does not listen.
  public init(at place: Epoch, language: Language = .nmea) throws {
    state = Locked(State(epochs: [place]))
    terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK)
    // Equivalents of unlockpt(3) and ptsname(3), which glibc hides: TIOCSPTLCK and TIOCGPTN.
    var (lock, number) = (Int32(0), Int32(0))
    guard terminal >= 0, ioctl(terminal, 0x4004_5431, &lock) == 0, ioctl(terminal, 0x8004_5430, &number) == 0
    else {
      throw SystemError(operation: "open", object: "pseudo-terminal", code: errno)
    }
    let path = "/dev/pts/\(number)"
    let line = open(path, O_RDWR | O_NOCTTY)
    var settings = termios()
    tcgetattr(line, &settings)
    cfmakeraw(&settings)
    tcsetattr(line, TCSANOW, &settings)
    // gpsd drops its privileges before it opens a receiver.
    chmod(path, 0o666)
    close(line)

    let port: UInt16 = try FreePort.next()
    self.port = port
    scratch = try ScratchFolder()
    let log = scratch.path + "/gpsd.log"
    // A session leader would make gpsd write to syslog; therefore it is a child of the shell.
    process = try ChildProcess("sh", ["-c", "gpsd -N -D 4 -S \(port) \(path); true"], output: log)
    guard waitUntil(atMost: 20, { GPSDFixture.isListening(port) }) else {
      throw GPSDFixtureError.didNotStart(process.output)
    }
    let (state, terminal) = (state, terminal)
    Thread.detachNewThread {
      var log = GPSDWatchLog(path: log)
      var lastSent = 0
      while !state.withLock({ $0.isStopped }) {
        let now = Date().timeIntervalSince1970
        log.read { event in
          state.withLock { state in
            switch event {
            case .began(let client): state.open[client] = state.open[client] ?? now
            case .ended(let client):
              if let begin = state.open.removeValue(forKey: client) { state.watches.append((begin, now)) }
            }
          }
        }
        if Int(now) > lastSent {
          lastSent = Int(now)
          let epoch = state.withLock { $0.epoch(at: lastSent) }
          let bytes =
            switch language {
            case .nmea: epoch.nmea(lastSent)
            case .ubx: epoch.ubx(lastSent)
            case .positions(let isDated): epoch.positions(lastSent, isDated: isDated)
            }
          Self.send(bytes, to: terminal)
        }
        let bytes = Self.read(from: terminal)
        if !bytes.isEmpty { state.withLock { $0.heard = ($0.heard + bytes).suffix(Self.mostHeard) } }
        usleep(10_000)
      }
    }
  }

  private static let mostHeard = 65_536

  /// True if the receiver was sent these consecutive bytes.
  public func hasHeard(_ bytes: [UInt8]) -> Bool { state.withLock { !$0.heard.ranges(of: bytes).isEmpty } }

  deinit { stop() }

  /// Stops gpsd and the receiver.
  public func stop() {
    let wasStopped = state.withLock { state in
      defer { state.isStopped = true }
      return state.isStopped
    }
    guard !wasStopped else { return }
    process.terminate()
    usleep(50_000)
    close(terminal)
  }

  /// Plays the epochs, one per second, the first at the UTC second `start`.
  public func play(_ epochs: [Epoch], from start: Int) {
    state.withLock { ($0.epochs, $0.start) = (epochs, start) }
  }

  /// Total duration in seconds and number of watches by clients in an interval (UTC seconds).
  public func watched(from begin: Double, to end: Double) -> (seconds: Double, times: Int) {
    state.withLock { state in
      let all = state.watches + state.open.values.map { ($0, end) }
      let cut = all.map { max(0, min($0.1, end) - max($0.0, begin)) }
      return (cut.reduce(0, +), cut.count { $0 > 0 })
    }
  }

  /// True if a client has watched and none watches now.
  public var isUnwatched: Bool { state.withLock { $0.open.isEmpty && !$0.watches.isEmpty } }

  private static func read(from terminal: Int32) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = bytes.withUnsafeMutableBytes { Glibc.read(terminal, $0.baseAddress, $0.count) }
    return Array(bytes.prefix(max(0, count)))
  }

  private static func send(_ bytes: [UInt8], to terminal: Int32) {
    // No process has the terminal open: the receiver is off and sends nothing.
    var entry = pollfd(fd: terminal, events: 0, revents: 0)
    guard poll(&entry, 1, 0) >= 0, entry.revents & Int16(POLLHUP) == 0 else { return }
    _ = bytes.withUnsafeBytes { write(terminal, $0.baseAddress, $0.count) }
  }
}

/// Follows gpsd's log and finds clients that start and stop watching.
private struct GPSDWatchLog {
  enum Event {
    case began(client: String)
    case ended(client: String)
  }

  private let path: String
  private var handle: FileHandle?
  private var rest = Data()

  init(path: String) { self.path = path }

  mutating func read(_ body: (Event) -> Void) {
    handle = handle ?? FileHandle(forReadingAtPath: path)
    guard let new = try? handle?.readToEnd(), !new.isEmpty else { return }
    rest.append(new)
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: rest[..<end], as: UTF8.self)
      rest.removeSubrange(...end)
      // gpsd:CLIENT: <= client(0): ?WATCH={"enable":true,…
      if line.contains("?WATCH={\"enable\":true"), let client = Self.number(after: "client(", in: line) {
        body(.began(client: client))
      }
      // gpsd:INFO: detaching 127.0.0.1 (sub 0, fd 5) in detach_client
      if line.contains("detaching "), let client = Self.number(after: "(sub ", in: line) {
        body(.ended(client: client))
      }
    }
  }

  private static func number(after mark: String, in line: String) -> String? {
    line.range(of: mark).map { String(line[$0.upperBound...].prefix { $0.isNumber }) }
  }
}
