internal import Fleet
internal import FleetCommand
internal import JSON
internal import Platform
internal import Sensors
internal import Telemetry

/// The result of queries to a geolocation service, with a summary.
struct GeolocateResult {
  var beacons: [FleetBeacon]
  var summary: String
  /// The reason for which the service must not be queried again before an operator has checked it; nil if
  /// there is none.
  var fault: String?
}

extension BeaconsCommand {
  /// The maximum number of queries in a run: they need about 60 MB of memory.
  private static let mostQuestions = 20_000

  /// Queries a geolocation service for the beacons of a recording that are not in the map.
  /// - Parameters:
  ///   - map: the map that `builder` created from the same `selection` of the recording.
  ///   - monitor: stops the queries if a signal arrives.
  static func geolocate(
    _ service: GeolocateService, _ map: [FleetBeacon], _ builder: BeaconMapBuilder,
    _ recording: any Recording,
    _ selection: RecordingSelection, _ monitor: WorkMonitor
  ) throws(FleetError) -> GeolocateResult {
    let day = Int(SystemClock.realtime / 86_400_000_000_000)
    var run = try GeolocateRun(
      service: service.address.host, cache: try GeolocateCache(path: service.cache, day: day), map: map,
      limits: service.limits, day: day)
    let questions = try questions(
      recording, selection, monitor, isTold: { !builder.disputed.contains($0) },
      isUnknown: { run.isUnknown($0) })
    guard let client = GeolocateClient(service.address, shouldContinue: { monitor.shouldContinue() }) else {
      throw FleetError(
        operation: "ask", object: service.address.host, cause: "libcurl cannot be used", kind: .unavailable)
    }
    monitor.awaited = service.address.host
    for (index, question) in questions.enumerated() {
      let shouldContinue = try run.process(
        question, ask: client.ask, now: { Double(SystemClock.monotonic) * 1e-9 },
        waits: { monitor.waits(seconds: $0) })
      guard shouldContinue else { break }
      monitor.show { "\(index + 1) of \(questions.count) places" }
    }
    monitor.clear()
    let found = run.found
    return GeolocateResult(beacons: found, summary: run.summary(found.count), fault: run.fault)
  }

  /// Returns the queries in the recording's order. Each contains a beacon that is in no earlier query.
  private static func questions(
    _ recording: any Recording, _ selection: RecordingSelection, _ monitor: WorkMonitor,
    isTold: (Beacon) -> Bool, isUnknown: (Beacon) -> Bool
  ) throws(FleetError) -> [GeolocateQuestion] {
    var questions: [GeolocateQuestion] = []
    var covered: Set<Beacon> = []
    try recording.readMessages(selection) { message throws(FleetError) in
      guard message.vehicle != nil, let json = try? JSONValue(parsing: message.payload),
        let scans = try? ScanMessage(json: json)
      else { return true }
      for scan in scans.scans where BeaconMapBuilder.isDated(scan, received: message.received) {
        guard
          let question = GeolocateQuestion(
            scan, isTold: isTold, isUnknown: { isUnknown($0) && !covered.contains($0) })
        else { continue }
        covered.formUnion(question.unknown)
        questions.append(question)
      }
      return monitor.shouldContinue() && questions.count < mostQuestions
    }
    return questions
  }
}
