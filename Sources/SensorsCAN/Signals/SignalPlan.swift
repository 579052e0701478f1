internal import Sensors

/// The provider of each requested signal: the configured DBC signal, or J1939, or OBD-II, or other signals.
struct SignalPlan {
  var bindings: [CANFrame.Identifier: [SignalBinding]] = [:]
  /// Bindings of J1939 messages from any sender, by parameter group.
  var groupBindings: [UInt32: [SignalBinding]] = [:]
  var parameters: [UInt32: [J1939Parameter]] = [:]
  var diagnostics: OBDAddressing?
  var diagnosticPaths: Set<String> = []
  /// Paths derived from other signals.
  var derived: Set<String> = []
  var filters: [CANFilter] = []
  var wanted: Set<String>
  var served: Set<String> = []

  static let broadcastFilters = [J1939Broadcast.connection, J1939Broadcast.transfer].map {
    J1939Identifier.filter(group: $0)
  }

  init(_ configuration: CANConfiguration, database: DBCDatabase?) throws(SourceError) {
    wanted = Set(configuration.signals.map(\.path))
    for signal in configuration.signals {
      guard let source = signal.source else { continue }
      guard let database, let file = configuration.database else {
        throw SourceError(
          place: "can.signals", problem: "\(signal.path) requires \(source), but no DBC file is configured",
          remedy: "set can.dbc")
      }
      guard served.insert(signal.path).inserted else {
        throw SourceError(
          place: "can.signals", problem: "\(signal.path) is named twice", remedy: "name each path once")
      }
      let binding = try SignalBinding(signal, source: source, in: database, file: file)
      if configuration.isJ1939, let group = J1939Identifier.groupOfAnySender(binding.message.identifier) {
        groupBindings[group, default: []].append(binding)
      } else {
        bindings[binding.message.identifier, default: []].append(binding)
      }
    }
    derived = wanted.intersection(DerivedSignals.paths).subtracting(served)
    // Speed and engine speed are read for derived signals even if they are not published themselves.
    var needed = wanted.subtracting(derived)
    if !derived.isEmpty { needed.formUnion([VehicleSignal.speed, VehicleSignal.engineSpeed]) }
    if configuration.isJ1939 { addGroups(needed) }
    if let addressing = configuration.diagnostics { addRequests(needed, addressing) }
    if !served.isDisjoint(with: [VehicleSignal.speed, VehicleSignal.engineSpeed]) {
      served.formUnion(derived)
    }
    try checkServed(configuration)
    filters += bindings.keys.sorted { $0.rawValue < $1.rawValue }.map { CANFilter($0) }
    filters += groupBindings.keys.sorted().map { J1939Identifier.filter(group: $0) }
  }

  private mutating func addGroups(_ needed: Set<String>) {
    for parameter in J1939Parameter.all
    where needed.contains(parameter.path) && !served.contains(parameter.path) {
      parameters[parameter.group, default: []].append(parameter)
    }
    served.formUnion(parameters.values.flatMap { $0.map(\.path) })
    filters += parameters.keys.sorted().map { J1939Identifier.filter(group: $0) }
    if needed.contains(VehicleSignal.identification), served.insert(VehicleSignal.identification).inserted {
      filters += Self.broadcastFilters
    }
  }

  private mutating func addRequests(_ needed: Set<String>, _ addressing: OBDAddressing) {
    diagnostics = addressing
    let known = Set(OBDParameter.all.map(\.path) + [VehicleSignal.identification])
    diagnosticPaths = needed.intersection(known).subtracting(served)
    served.formUnion(diagnosticPaths)
    filters.append(addressing.answers)
  }

  /// Checks that at least one configured signal has a provider, and that signals outside the specification
  /// have one. A missing provider would otherwise be noticed only when the signal is needed.
  private func checkServed(_ configuration: CANConfiguration) throws(SourceError) {
    if let signal = configuration.signals.first(where: { signal in
      VehicleSignal.known[signal.path] == nil && !served.contains(signal.path)
    }) {
      let remedy = "name its signal in can.dbc, as in \"\(signal.path) = MESSAGE.SIGNAL\""
      throw SourceError(
        place: "can.signals", problem: "neither J1939 nor OBD-II has \(signal.path)",
        remedy: VehicleSignal.path(near: signal.path).map { "did you mean \($0)? Otherwise \(remedy)" }
          ?? remedy)
    }
    guard served.isDisjoint(with: wanted) else { return }
    throw SourceError(
      place: "can.signals", problem: "no source provides any of the signals",
      remedy:
        "set can.j1939 or can.obd, or name signals of can.dbc, as in \"Vehicle.Speed = EngineData.Speed\"")
  }
}
