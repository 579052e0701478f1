import Foundation
import Sensors
import Simulation
import Spatial

/// The recording in `Config/examples/drive`: the first 6.5 minutes of the simulated drive through invented streets, as recorded by a
/// receiver behind gpsd and an inertial sensor. It passes a tunnel, and then the region of `regions.geojson`.
struct ExampleDrive {
  /// Reports of gpsd, one per line.
  private(set) var positions = ""
  /// Input of `replay.sensors`.
  private(set) var sensors = "t,ax,ay,az,gx,gy,gz,mx,my,mz\n"

  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Config/examples/drive")

  private var scans: [Int64: InertialScan] = [:]

  init() throws {
    var configuration = SimulatedDrive.Configuration()
    configuration.seed = 13
    configuration.startTime = UTCTime(rfc3339: "2026-11-21T08:00:00Z")
    configuration.duration = 390
    (configuration.rates.accelerometer, configuration.rates.gyroscope) = (20, 20)
    (configuration.rates.magnetometer, configuration.rates.barometer) = (20, 0)
    configuration.rates.thermometer = 0
    configuration.receiver.coldStart = 0
    var drive = try SimulatedDrive(configuration)
    while let event = drive.next() {
      switch event {
      case .inertial(let scans): for scan in scans { add(scan) }
      case .position(let fixes): for fix in fixes { add(fix) }
      case .barometer, .vehicle, .radio, .status: break
      }
    }
    for (_, scan) in scans.sorted(by: { $0.key < $1.key }) { write(scan) }
  }

  /// Merges the samples of the three sensors with the same time stamp into one row.
  private mutating func add(_ scan: InertialScan) {
    var whole = scans[scan.timestamp.nanoseconds] ?? scan
    whole.specificForce = scan.specificForce ?? whole.specificForce
    whole.rotationRate = scan.rotationRate ?? whole.rotationRate
    whole.magneticField = scan.magneticField ?? whole.magneticField
    scans[scan.timestamp.nanoseconds] = whole
  }

  private mutating func write(_ scan: InertialScan) {
    func row(_ vector: Vector3?, _ format: String) -> String {
      guard let vector else { return ",," }
      return [vector.x, vector.y, vector.z].map { String(format: format, $0) }.joined(separator: ",")
    }
    sensors +=
      [
        String(format: "%.2f", scan.timestamp.seconds), row(scan.specificForce, "%.3f"),
        row(scan.rotationRate, "%.4f"), row(scan.magneticField, "%.2f"),
      ].joined(separator: ",") + "\n"
  }

  private mutating func add(_ fix: PositionFix) {
    var members = [#""class":"TPV""#, #""device":"/dev/ttyACM0""#, "\"mode\":\(fix.mode?.rawValue ?? 0)"]
    if let time = fix.time { members.append("\"time\":\"\(time.rfc3339)\"") }
    for (name, value, digits) in [
      ("lat", fix.coordinate?.latitude, 7), ("lon", fix.coordinate?.longitude, 7),
      ("altHAE", fix.altitudeEllipsoidal, 1), ("altMSL", fix.altitudeMeanSeaLevel, 1),
      ("speed", fix.speed, 2), ("track", fix.course, 1), ("climb", fix.climb, 2),
      ("eph", fix.horizontalError, 1), ("epv", fix.verticalError, 1), ("eps", fix.speedError, 2),
      ("epd", fix.courseError, 1),
    ] {
      if let value { members.append("\"\(name)\":" + String(format: "%.\(digits)f", value)) }
    }
    positions += "{" + members.joined(separator: ",") + "}\n"
  }

  func write() throws {
    try Data(positions.utf8).write(to: Self.folder.appending(path: "gnss.json"))
    try Data(sensors.utf8).write(to: Self.folder.appending(path: "imu.csv"))
  }
}
