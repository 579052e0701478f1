package import Fleet
internal import JSON
internal import Platform
internal import Sensors
internal import Spatial
internal import Telemetry

/// A geolocation service, with the cache and the limits of queries to it.
package struct GeolocateService {
  package var address: GeolocateAddress
  package var cache: String
  var limits = GeolocatePace.Limits()

  /// Creates a service.
  ///
  /// - Parameters:
  ///   - cache: the file with earlier answers.
  ///   - daily: the maximum number of queries per day.
  package init(address: GeolocateAddress, cache: String, daily: Int) {
    (self.address, self.cache) = (address, cache)
    limits.daily = daily
  }
}

/// The result of queries to a geolocation service, with a summary.
package struct GeolocateResult {
  package var beacons: [FleetBeacon]
  package var summary: String
  /// The reason for which the service must not be queried again before an operator has checked it; nil if
  /// there is none.
  package var fault: String?
}

/// The control of queries by the caller. All functions are called on the caller's thread.
package struct GeolocateControl {
  /// Returns whether to continue; called several times a second.
  package var shouldContinue: () -> Bool
  /// Waits for the given seconds. Returns true if the queries are to stop.
  package var waits: (Double) -> Bool
  /// Called before the first query.
  package var starts: () -> Void
  /// Called after each query, with its number and the total number of queries.
  package var advances: (Int, Int) -> Void

  package init(
    shouldContinue: @escaping () -> Bool, waits: @escaping (Double) -> Bool, starts: @escaping () -> Void,
    advances: @escaping (Int, Int) -> Void
  ) {
    (self.shouldContinue, self.waits, self.starts, self.advances) = (shouldContinue, waits, starts, advances)
  }
}

extension GeolocateService {
  /// The maximum number of queries in a run: they need about 60 MB of memory.
  private static let mostQuestions = 20_000

  /// Queries the service for the beacons of a recording that are not in the map.
  /// - Parameters:
  ///   - map: the map that `builder` created from the same `selection` of the recording.
  ///   - control: stops the queries, and receives their progress.
  package func complete(
    _ map: [FleetBeacon], _ builder: BeaconMapBuilder, _ recording: any Recording,
    _ selection: RecordingSelection, _ control: GeolocateControl
  ) throws(FleetError) -> GeolocateResult {
    let day = Int(UTCTime.now.nanoseconds / 86_400_000_000_000)
    var run = try GeolocateRun(
      service: address.host, cache: try GeolocateCache(path: cache, day: day), map: map, limits: limits,
      day: day)
    let questions = try Self.questions(
      recording, selection, control.shouldContinue, isTold: { !builder.disputed.contains($0) },
      isUnknown: { run.isUnknown($0) })
    guard let client = GeolocateClient(address, shouldContinue: control.shouldContinue) else {
      throw FleetError(
        operation: "ask", object: address.host, cause: "libcurl cannot be used", kind: .unavailable)
    }
    control.starts()
    for (index, question) in questions.enumerated() {
      let shouldContinue = try run.process(
        question, ask: client.ask, now: { MonotonicTime.now.seconds }, waits: control.waits)
      guard shouldContinue else { break }
      control.advances(index + 1, questions.count)
    }
    let found = run.found
    return GeolocateResult(beacons: found, summary: run.summary(found.count), fault: run.fault)
  }

  /// Returns the queries in the recording's order. Each contains a beacon that is in no earlier query.
  private static func questions(
    _ recording: any Recording, _ selection: RecordingSelection, _ shouldContinue: () -> Bool,
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
      return shouldContinue() && questions.count < mostQuestions
    }
    return questions
  }
}
