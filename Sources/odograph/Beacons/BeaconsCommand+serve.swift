internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import FleetStore
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

extension BeaconsCommand {
  /// Answers vehicles' requests for parts of a map until a signal arrives. Reloads the map's file after a
  /// change.
  ///
  /// - Throws: `FleetError` for an unreadable map, and for a broker that is unreachable or rejects a request.
  static func serve(_ options: Beacons.Serve) throws(FleetError) -> ExitStatus {
    let limit = try options.time.limit()
    var service = try PieceService(options)
    defer { service.operation.close() }
    try service.operation.open()
    let deadline = limit.map { MonotonicTime.after($0) } ?? .distantFuture
    while !deadline.hasPassed {
      let look = MonotonicTime.after(PieceService.lookInterval)
      if let event = try service.operation.next(until: min(deadline, look)) {
        if let status = service.process(event) { return status }
      }
      service.renewMap(at: .now)
      service.answer()
    }
    return .done
  }
}

/// A server of map parts to vehicles over a broker.
private struct PieceService {
  let operation: ManagementOperation
  private let options: Beacons.Serve
  private let targets: VehicleTargets
  private var server: PieceServer
  private var requests = PieceRequests()
  /// The number of published map parts that the broker has not acknowledged.
  private var underWay = 0
  private var isFull = false
  /// The modification time of the map's file when it was last read; nil if unknown.
  private var written: UTCTime?
  /// The time of the last check for a change of the map's file.
  private var lastLook: MonotonicTime

  /// The interval in ns between two checks of the map's file for changes.
  static let lookInterval = 10.0
  /// The seconds for which the broker stores a map part for a disconnected vehicle.
  private static let expiry: UInt32 = 86_400
  /// The maximum number of unacknowledged map parts, together up to 8 MB.
  private static let window = 128

  init(_ options: Beacons.Serve) throws(FleetError) {
    self.options = options
    // The modification time is determined before the file is read: a change during the read causes another
    // read.
    written = AtomicFile.modificationTime(of: options.map)
    lastLook = .now
    let map = try FleetMapFile.read(options.map)
    server = PieceServer(map)
    targets = options.vehicles.targets(options.broker)
    operation = try ManagementOperation(
      options.broker.configuration(), root: targets.root,
      filters: try targets.filters([TopicScheme.beaconsWanted]))
    if !options.isQuiet { StandardError.report("serving \(map.count) beacons in \(server.cellCount) cells") }
  }

  /// Handles an event.
  ///
  /// - Returns: the exit status after a signal; nil otherwise.
  mutating func process(_ event: ManagementOperation.Event) -> ExitStatus? {
    switch event {
    case .interrupted(let signal): return ExitStatus(signal: signal)
    case .disconnected(let reason): StandardError.report("the broker is unreachable: \(reason)")
    case .message(let message): take(message)
    case .published(_, let reason):
      underWay -= 1
      if let reason, reason.isError {
        StandardError.report("the broker refuses a piece: \(reason); check its access list for this user")
      }
    case .answered, .connected: break
    }
    return nil
  }

  /// Reloads the map if its file has changed. If the new file is unreadable, the previous map remains in use.
  mutating func renewMap(at now: MonotonicTime) {
    guard now.seconds(since: lastLook) >= Self.lookInterval else { return }
    lastLook = now
    let modified = AtomicFile.modificationTime(of: options.map)
    guard let modified, modified != written else { return }
    written = modified
    do throws(FleetError) {
      let map = try FleetMapFile.read(options.map)
      server.renew(map)
      requests.askAgain()
      if !options.isQuiet {
        StandardError.report("the map has changed: serving \(map.count) beacons in \(server.cellCount) cells")
      }
    } catch { StandardError.report("\(error); the previous map remains in use") }
  }

  private mutating func take(_ message: MQTTMessage) {
    guard let address = TopicAddress(topic: message.topic, root: targets.root),
      address.path == TopicScheme.beaconsWanted, !message.payload.isEmpty
    else { return }
    let key = VehicleKey(fleet: address.fleet, vehicle: address.vehicle)
    let wanted: BeaconsWantedMessage
    do throws(JSONError) {
      wanted = try BeaconsWantedMessage(json: JSONValue(parsing: message.payload))
    } catch {
      StandardError.report("\(key): invalid \(TopicScheme.beaconsWanted): \(error)")
      return
    }
    for refusal in wanted.refused where !message.retain {
      StandardError.report("\(key) rejected the map of cell \(refusal.cell): \(refusal.reason)")
    }
    guard !requests.append(wanted, from: key), !isFull else { return }
    isFull = true
    StandardError.report(
      "\(key) and others are not answered: there is no room for more vehicles; name fewer with --fleet")
  }

  /// Answers waiting vehicles until `window` map parts are unacknowledged.
  mutating func answer() {
    while underWay < Self.window, let (vehicle, wanted) = requests.next() {
      for (cell, payloads) in server.answer(wanted, from: vehicle, at: MonotonicTime.now.seconds) {
        for payload in payloads {
          underWay += 1
          operation.client.publish(
            MQTTMessage(
              topic: vehicle.topic(root: targets.root, TopicScheme.beaconsPiece), payload: payload,
              qos: .atLeastOnce,
              properties: MQTTMessageProperties(
                contentType: Publication.contentType, messageExpiryInterval: Self.expiry)))
        }
        if !options.isQuiet {
          StandardError.report(
            "\(vehicle): cell \(cell), \(payloads.count) piece\(payloads.count == 1 ? "" : "s"), \(payloads.reduce(0) { $0 + $1.count }) bytes"
          )
        }
      }
    }
  }
}
