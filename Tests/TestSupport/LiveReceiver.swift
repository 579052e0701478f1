internal import Foundation
internal import Glibc
internal import Platform

/// A receiver that lives in real time behind a real gpsd: one epoch on each whole second of the wall clock, on a
/// pseudo-terminal, for as long as gpsd has it open. gpsd's own log tells when somebody watched.
public final class LiveReceiver: Sendable {
  /// What the receiver says of one second.
  public struct Epoch: Sendable {
    /// Degrees.
    public var latitude, longitude: Double
    /// m/s over ground, and degrees clockwise from north.
    public var speed, course: Double
    /// m above the ellipsoid, which the receiver takes for the sea.
    public var height = 100.0
    /// m and m/s that hold place and speed in 95 % of cases; only `Language.ubx` says them.
    public var accuracy = 4.0
    public var speedAccuracy = 0.2
    /// The horizontal dilution of precision.
    public var dilution = 0.9
    /// Whether there is a fix; without one the receiver goes on saying that there is none, as in a tunnel.
    public var hasFix = true

    public init(latitude: Double, longitude: Double, speed: Double, course: Double) {
      (self.latitude, self.longitude) = (latitude, longitude)
      (self.speed, self.course) = (speed, course)
    }
  }

  /// What it speaks. NMEA states no accuracy that gpsd reads.
  public enum Language: Sendable {
    case nmea
    case ubx
    /// Positions without speed and course, in GGA. With their date, in ZDA, gpsd derives a speed from them.
    case positions(isDated: Bool)
  }

  public let port: UInt16
  private let process: ChildProcess
  private let scratch: ScratchFolder
  private let terminal: Int32
  private let state: Locked<State>

  private struct State {
    var epochs: [Epoch]
    /// The whole UTC second of the first epoch; before it that one is repeated, after the last that.
    var start = 0
    var isStopped = false
    /// Begin and end of each watch, UTC seconds, by client.
    var open: [String: Double] = [:]
    var watches: [(begin: Double, end: Double)] = []

    /// The last bytes that it was sent.
    var heard: [UInt8] = []

    func epoch(at second: Int) -> Epoch { epochs[min(max(0, second - start), epochs.count - 1)] }
  }

  /// Starts gpsd and the receiver; the receiver stands at the first epoch until `play`.
  /// - Throws: `SystemError` when there is no pseudo-terminal; `GPSDFixtureError` when gpsd does not listen.
  public init(at place: Epoch, language: Language = .nmea) throws {
    state = Locked(State(epochs: [place]))
    terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK)
    // What unlockpt(3) and ptsname(3) do, which glibc hides: TIOCSPTLCK and TIOCGPTN.
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
    // gpsd gives up its privileges before it opens a receiver.
    chmod(path, 0o666)
    close(line)

    let port: UInt16 = try FreePort.next()
    self.port = port
    scratch = try ScratchFolder()
    let log = scratch.path + "/gpsd.log"
    // gpsd writes to the system's log when it leads its session.
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

  /// Whether the receiver was sent these bytes in succession.
  public func hasHeard(_ bytes: [UInt8]) -> Bool { state.withLock { !$0.heard.ranges(of: bytes).isEmpty } }

  deinit { stop() }

  /// Ends gpsd and the receiver.
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

  /// Moves along the epochs, the first at the whole second `start` of UTC.
  public func play(_ epochs: [Epoch], from start: Int) {
    state.withLock { ($0.epochs, $0.start) = (epochs, start) }
  }

  /// Seconds between two moments (UTC seconds) in which somebody watched, and how often that began.
  public func watched(from begin: Double, to end: Double) -> (seconds: Double, times: Int) {
    state.withLock { state in
      let all = state.watches + state.open.values.map { ($0, end) }
      let cut = all.map { max(0, min($0.1, end) - max($0.0, begin)) }
      return (cut.reduce(0, +), cut.count { $0 > 0 })
    }
  }

  /// Whether somebody has watched, and nobody does now.
  public var isUnwatched: Bool { state.withLock { $0.open.isEmpty && !$0.watches.isEmpty } }

  private static func read(from terminal: Int32) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = bytes.withUnsafeMutableBytes { Glibc.read(terminal, $0.baseAddress, $0.count) }
    return Array(bytes.prefix(max(0, count)))
  }

  private static func send(_ bytes: [UInt8], to terminal: Int32) {
    // Nobody has it open: it has no power and says nothing.
    var entry = pollfd(fd: terminal, events: 0, revents: 0)
    guard poll(&entry, 1, 0) >= 0, entry.revents & Int16(POLLHUP) == 0 else { return }
    _ = bytes.withUnsafeBytes { write(terminal, $0.baseAddress, $0.count) }
  }
}

/// Reads gpsd's growing log for clients that begin and cease to watch.
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
