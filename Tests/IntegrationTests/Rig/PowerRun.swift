import Foundation
import Positioning
import Spatial
import Telemetry
import TestSupport

/// Power states of the rig's sensors, as requested by the kernel.
struct RigPowerLog {
  private var changes: [String: [(time: Double, isOn: Bool)]] = [:]

  /// - Parameter lines: Lines such as "1795233871055869056 accel power=full interval=10 …".
  init(_ lines: [String]) {
    for line in lines {
      let words = line.split(separator: " ")
      guard words.count > 2, let time = Double(words[0]), words[2].hasPrefix("power=") else { continue }
      changes[String(words[1]), default: []].append((time * 1e-9, words[2] != "power=off"))
    }
  }

  /// Seconds with power between two times (UTC in s).
  func seconds(_ sensor: String, from begin: Double, to end: Double) -> Double {
    var (sum, onSince) = (0.0, Double?.none)
    for change in changes[sensor] ?? [] {
      if change.isOn {
        onSince = onSince ?? change.time
      } else if let since = onSince {
        sum += max(0, min(change.time, end) - max(since, begin))
        onSince = nil
      }
    }
    return sum + (onSince.map { max(0, end - max($0, begin)) } ?? 0)
  }
}

/// Power consumption of one run of the agent: measured externally, and according to its own ledger.
struct PowerRun: CustomStringConvertible {
  /// Shares of an interval.
  struct Shares {
    var elapsed = 0.0
    var watched = 0.0
    var watches = 0
    var powered: [String: Double] = [:]

    var receiver: Double { watched / elapsed }
    var gyroscope: Double { (powered["gyro"] ?? 0) / elapsed }
    var magnetometer: Double { (powered["magn"] ?? 0) / elapsed }

    init() {}

    init(_ receiver: LiveReceiver, _ log: RigPowerLog, from begin: Double, to end: Double) {
      elapsed = end - begin
      (watched, watches) = receiver.watched(from: begin, to: end)
      for sensor in ["accel", "gyro", "magn"] {
        powered[sensor] = log.seconds(sensor, from: begin, to: end)
      }
    }
  }

  let name: String
  let messages: [PrintedMessage]
  /// Start of the recording, UTC in s.
  let start: Double
  var whole = Shares()
  var afterSettling = Shares()
  var wakeupsPerSecond = 0.0

  init(name: String, messages: [PrintedMessage], start: Double) {
    (self.name, self.messages, self.start) = (name, messages, start)
  }

  private var energy: EnergyReport? {
    messages.last { $0.kind == "status" }.flatMap { try? StatusMessage(json: $0.payload) }?.energy
  }

  /// Active seconds according to the ledger.
  func booked(_ component: EnergyComponent) -> Double { energy?.accounts[component]?.seconds ?? 0 }

  /// Active seconds as measured by gpsd and the rig.
  func measured(_ component: EnergyComponent) -> Double {
    switch component {
    case .receiver: whole.watched
    case .accelerometer: whole.powered["accel"] ?? 0
    case .gyroscope: whole.powered["gyro"] ?? 0
    case .magnetometer: whole.powered["magn"] ?? 0
    case .barometer, .processor, .radio, .wifi, .cellular: 0
    }
  }

  var comparison: [(name: String, booked: Double, measured: Double)] {
    [EnergyComponent.receiver, .accelerometer, .gyroscope, .magnetometer].map {
      ("\(name) \($0)", booked($0), measured($0))
    }
  }

  /// Largest error in m of a subscriber that extrapolates the last published position, speed and course, at each second of the recording.
  /// Infinite without a location.
  func largestError(along drive: DriveRecording) -> Double {
    // Excludes the retained location of an earlier run.
    let told = messages.filter { $0.kind == "location" }.compactMap { try? LocationMessage(json: $0.payload) }
      .filter { $0.time.secondsSince1970 >= start }
    guard !told.isEmpty else { return .infinity }
    var largest = 0.0
    for (second, truth) in drive.epochs.enumerated() {
      let now = start + Double(second)
      guard let last = told.last(where: { $0.time.secondsSince1970 <= now })
      else { continue }
      let way = (last.location.speed ?? 0) * (now - last.time.secondsSince1970)
      let shown = last.location.coordinate.destination(distance: way, bearing: last.location.course ?? 0)
      largest = max(
        largest, shown.distance(to: Coordinate(latitude: truth.latitude, longitude: truth.longitude)))
    }
    return largest
  }

  var description: String {
    func percent(_ share: Double) -> String { String(format: "%.1f %%", share * 100) }
    func line(_ title: String, _ shares: Shares) -> String {
      "\(title) \(String(format: "%.1f", shares.elapsed)) s: receiver watched \(percent(shares.receiver)) in "
        + "\(shares.watches) watches, gyroscope \(percent(shares.gyroscope)), magnetometer "
        + percent(shares.magnetometer)
    }
    let ledger = comparison.map { String(format: "%@ %.2f/%.2f s", $0.name, $0.booked, $0.measured) }
    return "\(name): \(line("whole", whole)); \(line("settled", afterSettling)); "
      + String(format: "%.2f wakeups/s; ledger/rig: ", wakeupsPerSecond) + ledger.joined(separator: ", ")
      + "; \(messages.count { $0.kind == "location" }) locations"
  }
}
