package import ArgumentParser
package import Fleet
package import FleetConsole
internal import FleetControl
internal import JSON
internal import MQTT
internal import Platform
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The options of `odograph beacons build`.
package struct BeaconsBuildOptions: ParsableArguments {
  @OptionGroup(title: "Selection") package var part: RecordingArguments

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The map to write (default: standard output).", valueName: "file"),
    completion: .file())
  package var output: String?
  @Flag(help: "Replace the file that is there already.") var force = false
  @Option(help: ArgumentHelp("Vehicles that must agree on a transmitter.", valueName: "count"))
  var vehicles = 1
  @Option(help: ArgumentHelp("How often they must have heard it.", valueName: "count"))
  var sightings = 2
  @Flag(name: [.customShort("q"), .customLong("quiet")], help: "No progress, no closing line.")
  var isQuiet = false
  @OptionGroup(title: "Outside service") var geolocate: GeolocateArguments

  package init() {}
}

/// The options of `odograph beacons serve`.
package struct BeaconsServeOptions: ParsableArguments {
  @Argument(help: "The map, as odograph beacons build writes it.", completion: .file())
  package var map: String
  @OptionGroup(title: "Vehicles") package var vehicles: VehicleArguments
  @OptionGroup var time: TimeLimitArguments
  @Flag(name: [.customShort("q"), .customLong("quiet")], help: "Say nothing of what is sent.")
  var isQuiet = false

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  package init() {}
}

/// Makes the fleet's map of beacons, and tells it to vehicles.
package enum BeaconsCommand {
  /// Makes a map of the scans in a recording.
  /// - Throws: `FleetError` for options that make no sense, a recording that is not there, an output that fails.
  package static func build(_ options: BeaconsBuildOptions) throws(FleetError) -> ExitStatus {
    guard (1...1_000_000).contains(options.vehicles), (1...65_535).contains(options.sightings) else {
      throw .usage(
        "require", "\(options.vehicles) vehicles and \(options.sightings) sightings",
        "--vehicles is 1 to 1000000, --sightings 1 to 65535")
    }
    var selection = try options.part.selection()
    selection.kinds = [MessageKind.scan.rawValue]
    let service = try options.geolocate.service(beside: options.output)
    let monitor = WorkMonitor(try CommandWaiter(), isQuiet: options.isQuiet)
    let recording = try RecordingAddress.open(options.part.place) { monitor.goesOn() }
    var output = try OutputFile(
      path: options.output, replaces: options.force, inputs: RecordingAddress.files(of: options.part.place)
    ) { monitor.goesOn() }
    var builder = BeaconMapBuilder()
    var unreadable = 0
    try recording.readMessages(selection) { message throws(FleetError) in
      guard let vehicle = message.vehicle, let json = try? JSONValue(parsing: message.payload),
        let scans = try? ScanMessage(json: json)
      else {
        unreadable += 1
        return true
      }
      builder.add(scans, from: vehicle, received: message.received)
      monitor.show { [builder] in "\(builder.counts.scans) scans" }
      return monitor.goesOn()
    }
    monitor.clear()
    if let ending = monitor.ending { return try ending.status() }
    var map = builder.map(.init(vehicles: options.vehicles, sightings: options.sightings))
    var lookup: GeolocateResult?
    if let service {
      let found = try geolocate(service, map, builder, recording, selection, monitor)
      if let ending = monitor.ending { return try ending.status() }
      map = (map + found.beacons).sorted { $0.place.beacon < $1.place.beacon }
      lookup = found
    }
    var text = FleetMapFile.head + "\n"
    for beacon in map { text += FleetMapFile.line(beacon) + "\n" }
    guard try output.write(Array(text.utf8), goesOn: { monitor.goesOn() }) else { return .done }
    try output.finish()
    if !options.isQuiet {
      StandardError.say(summary(map.filter { $0.service == nil }, builder.counts, unreadable: unreadable))
      if let lookup { StandardError.say(lookup.summary) }
    }
    if let service, let fault = lookup?.fault {
      throw FleetError(
        operation: "go on asking", object: service.address.host,
        cause: "\(fault); the map is written with what came before", exit: .unavailable)
    }
    return .done
  }

  /// What the map holds, and what of it would be told of vehicles.
  private static func summary(
    _ map: [FleetBeacon], _ counts: BeaconMapBuilder.Counts, unreadable: Int
  ) -> String {
    guard counts.scans > 0 else {
      return "no scans in it: vehicles tell them with beacons.share = true; the map is empty"
    }
    let cells = map.count { $0.place.beacon.technology.isCell }
    var text =
      "\(map.count - cells) access points and \(cells) cells from \(counts.scans) scans of \(counts.vehicles) vehicle"
      + "\(counts.vehicles == 1 ? "" : "s"); left out: \(counts.disputed) that travel or are disputed, \(counts.rare) heard too rarely"
    if counts.misdated > 0 { text += ", \(counts.misdated) scans of impossible times" }
    if unreadable > 0 { text += ", \(unreadable) messages that are no scans" }
    return text + "; the map names no vehicle and no time but the day on which each was last heard"
  }

  /// Answers vehicles that ask for parts of a map, until it is interrupted.
  /// - Throws: `FleetError` for a map that cannot be read, and a broker that cannot be reached or refuses.
  package static func serve(_ options: BeaconsServeOptions) throws(FleetError) -> ExitStatus {
    let limit = try options.time.limit()
    let map = try FleetMapFile.read(options.map)
    var server = PieceServer(map)
    let targets = options.vehicles.targets(options.broker)
    let exchange = try FleetExchange(
      options.broker.configuration(), filters: try targets.filters([TopicScheme.beaconsWanted]))
    defer { exchange.close() }
    try exchange.open()
    if !options.isQuiet { StandardError.say("serving \(map.count) beacons in \(server.cellCount) cells") }
    let deadline = limit.map { SystemClock.monotonic + Int64($0 * 1e9) } ?? .max
    while let event = try exchange.next(until: deadline) {
      switch event {
      case .interrupted(let status): return status
      case .disconnected(let reason): StandardError.say("the broker is away: \(reason)")
      case .message(let message): answer(message, &server, exchange, targets, options)
      case .published(_, let reason?) where reason.isError:
        StandardError.say("the broker refuses a piece: \(reason); check its access list for this user")
      case .published, .answered, .connected: break
      }
    }
    return .done
  }

  /// Seconds for which a piece waits for a vehicle that is away.
  private static let expiry: UInt32 = 86_400

  private static func answer(
    _ message: MQTTMessage, _ server: inout PieceServer, _ exchange: FleetExchange, _ targets: VehicleTargets,
    _ options: BeaconsServeOptions
  ) {
    guard let address = TopicAddress(topic: message.topic, root: targets.root),
      address.path == TopicScheme.beaconsWanted, !message.payload.isEmpty
    else { return }
    let key = VehicleKey(fleet: address.fleet, vehicle: address.vehicle)
    let wanted: BeaconsWantedMessage
    do throws(JSONError) {
      wanted = try BeaconsWantedMessage(json: JSONValue(parsing: message.payload))
    } catch {
      StandardError.say("\(key): \(TopicScheme.beaconsWanted) makes no sense: \(error)")
      return
    }
    for refusal in wanted.refused where !message.retain {
      StandardError.say("\(key) refused a piece of cell \(refusal.cell): \(refusal.reason)")
    }
    let now = Double(SystemClock.monotonic) * 1e-9
    for (cell, payloads) in server.answer(wanted, from: key, at: now) {
      for payload in payloads {
        exchange.publish(
          MQTTMessage(
            topic: key.topic(root: targets.root, TopicScheme.beaconsPiece), payload: payload,
            qos: .atLeastOnce,
            properties: MQTTMessageProperties(
              contentType: Publication.contentType, messageExpiryInterval: expiry)))
      }
      if !options.isQuiet {
        StandardError.say(
          "\(key): cell \(cell), \(payloads.count) piece\(payloads.count == 1 ? "" : "s"), \(payloads.reduce(0) { $0 + $1.count }) bytes"
        )
      }
    }
  }
}
