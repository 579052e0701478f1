internal import Glibc
internal import JSON
internal import LiveSensors
internal import Logging
internal import MQTT
internal import Motion
internal import Pipeline
internal import Platform
internal import Positioning
internal import Sensors
internal import SensorsCAN
internal import SensorsGPSD
internal import SensorsIIO
internal import Settings
internal import Spatial
internal import Telemetry

/// Checks the machine and network requirements of a configuration, and reports problems with remedies.
package struct EnvironmentCheck {
  private let configuration: AgentConfiguration
  /// Origin of the configuration; nil if unknown.
  private let layers: ConfigurationLayers?
  /// Kinds of sensors found by `run`; nil before it.
  private var present: Set<SensorKind>?

  /// - Parameter layers: origin of the configuration, used to find settings without effect.
  package init(_ configuration: AgentConfiguration, layers: ConfigurationLayers? = nil) {
    self.configuration = configuration
    self.layers = layers
  }

  /// Performs all checks, each within a few seconds. No sensor is powered. The only published message is
  /// empty and not retained, on the topic of `status`, and subscribers ignore it.
  /// - Parameter sources: earlier results of `sources()`; nil checks the sources now.
  package mutating func run(sources: [Finding]? = nil) -> [Finding] {
    var sources = sources ?? self.sources()
    let sensors = sensors(&sources)
    var findings = [
      Finding(
        .ok, "configuration",
        "vehicle \(configuration.fleet)/\(configuration.vehicle), preset \(configuration.preset.rawValue)")
    ]
    // In steps: one sum of all takes older compilers too long.
    findings += layers?.findings() ?? []
    findings += remoteSettings()
    findings += RegionFile.findings(configuration.regions)
    findings += clock()
    findings += location()
    findings += Self.tripFindings(configuration.pipeline)
    findings += sources + sensors
    findings += store()
    findings += configuration.beacons.findings(hasRadio: !configuration.radio.isEmpty)
    for service in configuration.local { findings += service.findings() }
    findings += configuration.local.limitFindings(openFiles: ProgramLimit.openFiles)
    if configuration.hasSensorProxy { findings.append(SensorProxyHost.finding()) }
    findings += broker()
    return findings
  }

  /// Estimates energy, bytes and position errors of a day with this configuration, by simulating it. After
  /// `run`, the estimate uses the inertial sensors that were found.
  ///
  /// - Parameter drivingHours: hours between departure and parking, 0 ... 24.
  package func estimate(drivingHours: Double) -> [String] {
    do {
      return try DayEstimate(configuration, present: present, drivingHours: drivingHours).lines
    } catch { return ["no estimate: \(error)"] }
  }

  /// Returns the output of `odographd check --json`: an object with `findings` (empty without checks) and
  /// either `estimate` or `estimateProblem`. Members may be added; existing ones retain their names and
  /// meanings.
  package func json(_ findings: [Finding], drivingHours: Double) -> [UInt8] {
    JSONWriter.object { json in
      json.field("ok", !findings.contains { $0.severity == .problem })
      json.key("findings")
      json.openArray()
      for finding in findings { finding.write(to: &json) }
      json.closeArray()
      do {
        let estimate = try DayEstimate(configuration, present: present, drivingHours: drivingHours)
        json.field("estimate") { estimate.write(to: &$0) }
      } catch { json.field("estimateProblem", "\(error)") }
    }
  }

  /// Returns a warning for each stored remote setting that this configuration does not permit. Changes no file.
  private func remoteSettings() -> [Finding] {
    let (remote, store) = (configuration.remote, configuration.store.path)
    guard remote.isEnabled, let layers else { return [] }
    let folder = RemoteFolder(
      path: remote.path, store: StateStore(path: store, outbox: nil),
      log: Logger(label: "check") { _ in SwiftLogNoOpLogHandler() })
    let manager = try? RemoteManager(layers: layers, memory: folder.memory(now: .now), at: .now)
    return (manager?.refused ?? []).map {
      Finding(
        .warning, $0.key, "the stored remote setting is not in effect: \($0.reason)",
        remedy: "correct this configuration, or withdraw the setting (odograph config set --unset \($0.key))")
    }
  }

  private func clock() -> [Finding] {
    let now = UTCTime.now
    guard now >= TimeBase.earliestSaneTime else {
      return [
        Finding(
          .warning, "clock", "is at \(now.rfc3339), which is impossible",
          remedy: "set it (chrony, timedatectl); until then times come from the receiver, and TLS cannot work"
        )
      ]
    }
    guard UTCTime.isSynchronizationReadable else {
      return [
        Finding(
          .warning, "clock", "is at \(now.rfc3339); whether it is synchronized may not be read",
          remedy:
            "permit the system call adjtimex (systemd: no ProtectClock=yes); until then times come from the receiver"
        )
      ]
    }
    return [Finding(.ok, "clock", now.rfc3339)]
  }

  /// Checks whether locations are enabled on this machine (`location.enabled`), and the permission to open
  /// the devices.
  private func location() -> [Finding] {
    let services = ServiceAvailability(
      isLocationEnabled: configuration.pipeline.location.isEnabled,
      deniedNodes: DevicePermissions().denied(for: configuration))
    let denied = (services.deniedNodes ?? [:]).keys.sorted().map {
      Finding(
        .problem, "permission", "\($0) may not be read",
        remedy: "give the agent's user the right by a udev rule, or a group; or set iio.enabled = false")
    }
    guard services.isLocationEnabled else {
      return denied + [
        Finding(.warning, "location", "is switched off", remedy: "set location.enabled = true to be located")
      ]
    }
    return denied + [Finding(.ok, "location", services.authorizationStatus.rawValue)]
  }

  /// Checks the sources of sensor data: recording, simulation, or gpsd and IIO devices.
  package func sources() -> [Finding] {
    switch configuration.input {
    case .simulation: return [Finding(.ok, "input", "simulation")]
    case .replay:
      do {
        guard case .recorded(var recording) = try SensorFeed(unpaced) else { return [] }
        for kind in recording.kinds { recording.setDemand(.rate(hertz: 1, latency: .zero), for: kind) }
        _ = try recording.next()
        var kinds = recording.kinds.sorted().map(\.rawValue)
        if case .replay(let replay) = configuration.input, replay.can != nil {
          kinds.append("the vehicle's bus")
        }
        return [Finding(.ok, "replay", "\(recording.name) holds \(kinds.joined(separator: ", "))")]
      } catch {
        return [Finding(.problem, "replay", "\(error)")]
      }
    case .hardware:
      let findings =
        (configuration.gpsd.map(gpsd) ?? []) + iio() + (configuration.can?.bus.map(can) ?? [])
        + RadioCheck(configuration.radio).findings()
      return findings.isEmpty
        ? [Finding(.problem, "input", "gpsd and iio are both off", remedy: "enable one, or set input.mode")]
        : findings
    }
  }

  /// Returns findings about missing required sensors, and about enabled outputs that the available sensors
  /// cannot serve.
  ///
  /// Each cause is reported once: if there is no inertial sensor at all, the affected outputs are part of the
  /// warning about the IIO context.
  private mutating func sensors(_ sources: inout [Finding]) -> [Finding] {
    guard let feed = try? SensorFeed(unpaced) else { return [] }
    let present = RequiredSensors(configuration).present(in: feed)
    self.present = present
    let check = CapabilityCheck(required: configuration.requiredSensors, present: present)
    var findings: [Finding] = []
    if let complaint = check.complaint { findings.append(Finding(.problem, "sensors.required", complaint)) }
    let availability = ServiceAvailability(
      deniedNodes: configuration.input == .hardware ? DevicePermissions().denied(for: configuration) : [:])
    let hasNone = present.isDisjoint(with: [.accelerometer, .gyroscope, .magnetometer])
    let context =
      hasNone ? sources.firstIndex { $0.severity == .warning && $0.subject.hasPrefix("iio ") } : nil
    let mqtt = configuration.mqtt
    let wouldRest = !present.contains(.accelerometer) && mqtt.resting.policy != mqtt.client.linkPolicy
    for limitation in MotionCapabilities.limitations(
      configuration.pipeline, sensors: present, availability
    ).combined(sensors: present) {
      let what = limitation.isUnavailable ? "unavailable" : "degraded"
      guard let context, limitation.reason.hasPrefix("no inertial sensor") else {
        findings.append(Finding(.warning, limitation.output, "\(what): \(limitation.reason)"))
        continue
      }
      let link = wouldRest ? ", disconnection at rest (mqtt.link)" : ""
      sources[context].message += "; unavailable without inertial sensors: \(limitation.output)\(link)"
    }
    if wouldRest, context == nil {
      findings.append(
        Finding(
          .warning, "mqtt.link", "stays connected at rest: only an accelerometer detects rest",
          remedy: "attach one, or set mqtt.link = \"bursts\" or \"always\""))
    }
    findings += Self.restFindings(configuration.pipeline.location, present: present)
    guard findings.isEmpty, context == nil else { return findings }
    let kinds = present.sorted().map(\.rawValue).joined(separator: ", ")
    return [
      Finding(.ok, "sensors", kinds.isEmpty ? "none required" : "\(kinds) are sufficient for all outputs")
    ]
  }

  /// Warns about trips of a person, which have no vehicle.
  static func tripFindings(_ pipeline: PipelineConfiguration) -> [Finding] {
    guard pipeline.trips.isEnabled, pipeline.location.isEnabled, pipeline.location.activity == .pedestrian
    else { return [] }
    return [
      Finding(
        .warning, "trips.enabled", "trips are those of vehicles: a walk is published as a driven trip",
        remedy: "set trips.enabled = false, or location.activity = \"automotive\" in a vehicle")
    ]
  }

  /// Warns about an accuracy at which the receiver is expected to sleep at rest, without an accelerometer.
  static func restFindings(
    _ location: PipelineConfiguration.Location, present: Set<SensorKind>
  ) -> [Finding] {
    guard location.isEnabled, !present.contains(.accelerometer),
      let accuracy = location.desiredAccuracy.meters, accuracy >= PowerPlanner.restfulAccuracy
    else { return [] }
    return [
      Finding(
        .warning, "location.desired_accuracy",
        "without an accelerometer, motion and rest are not detected: the receiver does not sleep at rest, is always on "
          + "near regions, and searches for a tenth of the time where it has no reception",
        remedy: "attach an accelerometer, and set iio.enabled = true")
    ]
  }

  private var unpaced: AgentConfiguration {
    var copy = configuration
    copy.speed = nil
    return copy
  }

  private func gpsd(_ gpsd: AgentConfiguration.GPSD) -> [Finding] {
    do {
      let probe = try GPSDProbe.run(gpsd.address)
      let name = "gpsd \(probe.version.release) at \(probe.address)"
      guard !probe.devices.isEmpty else {
        return [
          Finding(
            .warning, "gpsd", "\(name) has no receiver",
            remedy: "name it in /etc/default/gpsd (DEVICES) or run gpsdctl add DEVICE")
        ]
      }
      let paths = probe.devices.map(\.path).joined(separator: ", ")
      if let wanted = gpsd.device, !probe.devices.contains(where: { $0.path == wanted }) {
        return [
          Finding(.problem, "gpsd", "\(name) has no \(wanted)", remedy: "set gpsd.device to one of: \(paths)")
        ]
      }
      let isChosen = gpsd.device == nil && probe.devices.count > 1
      let found = Finding(
        .ok, "gpsd", "\(name) with \(paths)\(isChosen ? ", of which one is used" : "")",
        remedy: isChosen ? "set gpsd.device to select it" : nil)
      guard gpsd.assists, configuration.radio.isEmpty else { return [found] }
      return [
        found,
        Finding(
          .warning, "gpsd", "no radio is configured: gpsd.assist has no effect",
          remedy: "name a wireless interface in radio.wifi, or set radio.modem"),
      ]
    } catch {
      return [
        Finding(
          .problem, "gpsd", "\(error)",
          remedy: "start gpsd, or set gpsd.host and gpsd.port, or gpsd.enabled = false")
      ]
    }
  }

  private func iio() -> [Finding] {
    var inventories: [IIOInventory] = []
    let findings = configuration.iio.flatMap { context -> [Finding] in
      do {
        let inventory = try IIOProbe.inventory(context)
        inventories.append(inventory)
        let missing = [SensorKind.accelerometer, .gyroscope, .magnetometer].filter {
          !inventory.kinds.contains($0)
        }
        let subject = "iio \(context.uri)"
        guard missing.count < 3 else {
          return [
            Finding(
              .warning, subject, "no inertial sensor",
              remedy: "load its driver, or set iio.contexts")
          ]
        }
        let found = inventory.devices.map(\.title).joined(separator: ", ")
        if let problem = inventory.devices.lazy.flatMap(\.sensors).compactMap(\.problem).first {
          return [
            Finding(
              .warning, subject, problem,
              remedy: "check the chip's wiring and driver, or name another device in [iio]")
          ]
        }
        let assignments = inventory.assignments(context, wanted: context.kinds.intersection([.accelerometer]))
        let ranges = assignments.compactMap { $0.device.sensor(.accelerometer)?.rangeProblem }.map {
          Finding(.warning, subject, $0, remedy: "see \"Range of the accelerometer\" in hardware.md")
        }
        guard missing.isEmpty else {
          let names = missing.map(\.rawValue).joined(separator: " and no ")
          return ranges + [
            Finding(.warning, subject, "\(found); no \(names)", remedy: "outputs that require it are omitted")
          ]
        }
        return ranges + [Finding(.ok, subject, found)]
      } catch {
        return [
          Finding(
            .warning, "iio \(context.uri)", "\(error)",
            remedy: "or set iio.enabled = false")
        ]
      }
    }
    return findings
      + MountingCheck(configuration.iio).problems(in: inventories).map {
        Finding(.warning, MountingCheck.key, $0, remedy: MountingCheck.remedy)
      }
  }

  /// Checks the configured signals of the CAN bus, and whether it has traffic. Nothing is sent.
  private func can(_ bus: CANBus) -> [Finding] {
    let subject = "can \(bus.interface)"
    do throws(SourceError) {
      let decoder = try CANDecoder(bus.configuration)
      let traffic = try CANTraffic.listen(to: bus.interface)
      guard traffic.frames > 0 else {
        return [
          Finding(
            .warning, subject, "\(traffic)",
            remedy: "switch the ignition on; if it stays so, check the wiring and the bit rate")
        ]
      }
      let told = bus.configuration.signals.map(\.path).filter { decoder.paths.contains($0) }
      return [Finding(.ok, subject, "\(traffic); can tell \(told.joined(separator: ", "))")] + speed(told)
        + mistyped(bus.configuration) + skipped(decoder)
    } catch {
      let isSetting = error.place != bus.interface
      return [
        Finding(
          .problem, isSetting ? error.place : subject, error.problem,
          remedy: isSetting ? error.remedy : "\(error.remedy); or leave can.interface out")
      ]
    }
  }

  /// Reports statements of the DBC file that could not be read.
  private func skipped(_ decoder: CANDecoder) -> [Finding] {
    guard let first = decoder.skipped.first?.error else { return [] }
    return [
      Finding(
        .warning, "can.dbc",
        "\(decoder.skipped.count) statements skipped; the first: \(first.place): \(first.problem)",
        remedy: "no configured signal needs them; \(first.remedy)")
    ]
  }

  /// Returns a warning for each configured path that is unknown but resembles a known VSS path. The signal is
  /// published, but navigation and trips do not use it.
  private func mistyped(_ bus: CANConfiguration) -> [Finding] {
    bus.signals.filter { $0.source != nil && VehicleSignal.known[$0.path] == nil }.compactMap { signal in
      VehicleSignal.path(near: signal.path).map {
        Finding(
          .warning, "can.signals", "\(signal.path) is not a signal that navigation and trips use",
          remedy: "did you mean \($0)?")
      }
    }
  }

  /// Checks the speed signal: without it, navigation in a tunnel is the same as on a vehicle without a bus.
  private func speed(_ told: [String]) -> [Finding] {
    guard let path = configuration.pipeline.vehicle?.speedPath, !told.contains(path) else { return [] }
    return [
      Finding(
        .warning, "can.speed",
        "navigation receives no wheel speed: \(path) is not among the received signals",
        remedy: "name it in can.signals, or set can.speed = \"none\"")
    ]
  }

  /// Checks that the folders of queue, state and remote management are writable and do not belong to another
  /// vehicle. Otherwise the agent does not start.
  private func store() -> [Finding] {
    let (path, state, remote) = (configuration.store.path, configuration.state, configuration.remote)
    let folder = StateFolder.of(path)
    func finding(_ subject: String, _ path: String, _ key: String, _ fault: SystemError?) -> Finding {
      guard let fault else { return Finding(.ok, subject, path) }
      return Finding(
        .problem, subject, "\(fault.object): \(SystemError.message(for: fault.code))",
        remedy: "create it for the agent's user, or \(StateFolder.remedy(key))")
    }
    let fault = StateFolder.fault(folder)
    var findings = [finding("store", path, "store.path", fault)]
    if fault == nil, let (file, user) = StateFolder.unusableFile(beside: path) {
      findings = [
        Finding(
          .problem, "store", "\(file): not usable for the user \(user)", remedy: "chown -R \(user): \(folder)"
        )
      ]
    }
    if fault == nil {
      findings += Self.space(in: folder, free: SystemProbe(store: path).read().storage?.free)
    }
    let stateFault = state.folder == folder ? fault : StateFolder.fault(state.folder)
    if state.folder != folder {
      findings.append(finding("state", state.folder, state.key, stateFault))
    }
    if let foreign = StateClaim.fault(
      ofFolder: state.folder, key: state.key, vehicle: configuration.vehicleName)
    {
      findings.append(Finding(.problem, "state", "\(foreign)"))
    }
    if remote.isEnabled {
      let after = stateFault == nil ? state.folder : nil
      findings.append(
        finding("remote", remote.path, "remote.path", StateFolder.fault(remote.path, after: after)))
    }
    return findings + files(except: [folder, state.folder])
  }

  /// Checks the free space of the queue's folder.
  /// - Parameter free: free space in bytes; nil if unknown.
  package static func space(in folder: String, free: Int64?) -> [Finding] {
    guard let free, free < leastSpace else { return [] }
    return [
      Finding(
        .warning, "store",
        "\(folder) has only \(free / 1024) kB free; without space, messages are in memory only",
        remedy: "free space there, or set store.path to another disk")
    ]
  }

  /// Free space in bytes below which the queue of a day without a link may not fit.
  private static let leastSpace: Int64 = 10 << 20

  /// Checks the folders of optional files, without which the agent works.
  /// - Parameter checked: folders that have already been checked.
  private func files(except checked: Set<String>) -> [Finding] {
    let operation = configuration.operation
    let files: [(key: String, path: String?)] = [
      ("recorder.path", configuration.recorder?.path),
      ("calibration.path", configuration.input == .hardware ? configuration.calibrationPath : nil),
      ("control.socket", operation.controlSocket), ("metrics.file", operation.metricsFile),
    ]
    return files.compactMap { key, path in
      guard let path, !checked.contains(StateFolder.of(path)) else { return nil }
      let folder = StateFolder.of(path)
      let isRecorder = key == "recorder.path"
      if isRecorder, access(path, W_OK) == 0 { return nil }
      let fault = access(folder, W_OK | X_OK) == 0 ? nil : SystemError.message(for: errno)
      let remedy = "create it for the agent's user, or set \(key)"
      return fault.map {
        Finding(
          .warning, key, "\(folder): \($0)",
          remedy: isRecorder ? remedy + " or recorder.enabled = false" : remedy)
      }
    }
  }

  private func broker() -> [Finding] {
    do {
      var settings = configuration.mqtt.client
      settings.useSourcesOfCredentials()
      // An empty message to the topic of `status` tests the permission to publish; subscribers ignore it.
      let topics = try? TopicScheme(
        root: configuration.topicRoot, fleet: configuration.fleet, vehicle: configuration.vehicle)
      let message = topics.map { MQTTMessage(topic: $0.topic(.status), payload: [], qos: .atLeastOnce) }
      return try BrokerProbe.run(settings, timeout: 5, publishing: message).enumerated().map {
        index, finding in
        let broker = "\(settings.brokers[index])"
        switch finding {
        case .accepting(let properties): return Self.accepted(broker, properties)
        case .rejecting(_, let reason):
          return Finding(
            .problem, "broker",
            "\(broker) accepts the connection but rejects \(message?.topic ?? "messages"): \(reason)",
            remedy:
              "let \(settings.userName ?? settings.clientID) publish to \(topics?.topic(path: "#") ?? "it") in the "
              + "broker's access list (the test's client identifier ends in -check)")
        case .refused(let why):
          return Finding(
            .problem, "broker", "\(broker) refuses us: \(why)",
            remedy: "check mqtt.user, mqtt.password_file and the broker's rules")
        case .unreachable(let why):
          // Errors of TLS and files are not network errors, because the broker may be reachable.
          let isOfNetwork = why.phase < .tls && !why.isOfSettings
          return Finding(
            .problem, "broker", isOfNetwork ? "\(broker) cannot be reached: \(why)" : "\(why)",
            remedy: configuration.remedy(of: why))
        }
      }
    } catch {
      return [Finding(.problem, "broker", "\(error)", remedy: "correct the mqtt keys")]
    }
  }
}

extension EnvironmentCheck {
  /// Packet sizes in bytes of usual messages, and of the largest.
  private static let packetSizes = (usual: 512, largest: 16_384)

  private static func accepted(_ broker: String, _ properties: MQTTServerProperties) -> Finding {
    guard let limit = properties.maximumPacketSize, limit < packetSizes.largest else {
      return Finding(.ok, "broker", "\(broker) accepts the login (permissions to publish are not tested)")
    }
    return Finding(
      limit < packetSizes.usual ? .problem : .warning, "broker",
      "\(broker) accepts the login, but no packet above \(limit) bytes: "
        + (limit < packetSizes.usual ? "no message fits" : "status and tracks may not fit"),
      remedy:
        "raise the broker's maximum packet size to \(packetSizes.largest) bytes (mosquitto: max_packet_size)")
  }
}

extension DevicePermissions {
  /// Returns the required device nodes that the agent's user may not read.
  func denied(for configuration: AgentConfiguration) -> [String: SensorKind?] {
    configuration.input == .hardware ? denied(for: configuration.iio) : [:]
  }
}
