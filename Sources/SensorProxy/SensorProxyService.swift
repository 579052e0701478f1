internal import Glibc
internal import Platform

/// The service `net.hadess.SensorProxy` on D-Bus, as iio-sensor-proxy offers it: orientation and compass for desktops
/// and other programs.
///
/// A program claims a sensor, and releases it or disconnects. The service reports the numbers of claims, so that the
/// sensor is powered only if a program uses it. Values are sent only to programs that have claimed the sensor; any
/// program can read them. One dedicated thread does all I/O. If the bus closes the connection, the service stops.
package final class SensorProxyService: Sendable {
  /// The name on the bus.
  package static let name = "net.hadess.SensorProxy"

  private let thread: ServiceThread
  private let state = Locked(SensorProxyState())

  /// Connects to the bus and starts the thread.
  /// - Parameters:
  ///   - address: the address of another bus; nil for the system bus, or the one in `DBUS_SYSTEM_BUS_ADDRESS`.
  ///   - demandChanged: called from the service's thread when the claims have changed.
  /// - Throws: `SensorProxyError` if there is no bus, or the name is not available.
  package init(
    address: String? = nil, demandChanged: @escaping @Sendable (SensorProxyDemand) -> Void
  ) throws(SensorProxyError) {
    do throws(SystemError) {
      thread = try ServiceThread()
    } catch {
      throw SensorProxyError(operation: error.operation, object: error.object, code: error.code)
    }
    let outcome = Locked<SensorProxyError?>(nil)
    let ready: EventDescriptor
    do throws(SystemError) {
      ready = try EventDescriptor()
      // The connection belongs to the thread, because sd-bus is not thread-safe.
      try thread.start(name: "sensor-proxy") { [thread, state] heartbeat in
        do throws(SensorProxyError) {
          var session = try SensorProxySession(address: address)
          ready.signal()
          try session.run(thread, heartbeat, state, demandChanged)
        } catch {
          outcome.withLock { $0 = error }
          ready.signal()
        }
      }
    } catch {
      throw SensorProxyError(operation: error.operation, object: error.object, code: error.code)
    }
    _ = ready.wait(seconds: 60)
    if let error = outcome.withLock({ $0 }) { throw error }
  }

  /// Sets the values. Clients receive the changed ones.
  package func update(_ state: SensorProxyState) {
    let isChanged = self.state.withLock { current in
      defer { current = state }
      return current != state
    }
    if isChanged { thread.wake.signal() }
  }

  /// Releases the name and disconnects.
  package func stop() { thread.stop() }
}

/// The connection of the service's thread.
private struct SensorProxySession: ~Copyable {
  private let bus: SensorBus
  private let accelerometer: SensorClients
  private let compass: SensorClients
  private var published = PublishedSensors()
  private var demand = SensorProxyDemand()

  init(address: String?) throws(SensorProxyError) {
    let bus = try SensorBus(address: address, name: SensorProxyService.name)
    let accelerometer = try bus.makeClients()
    let compass = try bus.makeClients()
    self.bus = bus
    self.accelerometer = accelerometer
    self.compass = compass
  }

  mutating func run(
    _ thread: ServiceThread, _ heartbeat: Heartbeat, _ state: Locked<SensorProxyState>,
    _ demandChanged: (SensorProxyDemand) -> Void
  ) throws(SensorProxyError) {
    defer { if demand != SensorProxyDemand() { demandChanged(SensorProxyDemand()) } }
    while !thread.isStopping {
      heartbeat.beat()
      // Sending may have received further calls, which the descriptor does not show.
      var isIdle = false
      while !isIdle {
        isIdle = true
        while let call = try bus.nextCall() {
          answer(call)
          isIdle = false
        }
        publish(state.withLock { $0 })
        let current = SensorProxyDemand(accelerometer: accelerometer.count, compass: compass.count)
        if current != demand {
          demand = current
          demandChanged(current)
        }
        bus.flush()
      }
      if waitUntilReadable([bus.descriptor, thread.wake.descriptor], seconds: nil) == thread.wake.descriptor {
        thread.wake.drain()
      }
    }
  }

  /// Sends changed values: the existence of a sensor to all programs, its values to those that have claimed it.
  private mutating func publish(_ state: SensorProxyState) {
    let before = published
    published.update(state)
    for interface in SensorProxyInterface.allCases {
      let changed = zip(interface.properties(before), interface.properties(published))
        .filter { $0.value != $1.value }.map { $1 }
      let general = changed.filter { $0.name.hasPrefix("Has") }
      if !general.isEmpty { bus.announce(general, of: interface, to: nil) }
      let values = changed.filter { !$0.name.hasPrefix("Has") }
      guard !values.isEmpty else { continue }
      let clients = interface == .compass ? compass.names : accelerometer.names
      for client in clients { bus.announce(values, of: interface, to: client) }
    }
  }

  private func answer(_ call: borrowing SensorCall) {
    guard let interface = SensorProxyInterface.allCases.first(where: { $0.path == call.path }) else {
      return answerIntrospection(call)
    }
    switch call.interface {
    case interface.rawValue: answerClaim(call, interface)
    case "org.freedesktop.DBus.Properties": answerProperties(call, interface)
    default: answerIntrospection(call)
    }
  }

  private func answerClaim(_ call: borrowing SensorCall, _ interface: SensorProxyInterface) {
    for sensor in interface.claims {
      let isClaim = call.member == "Claim" + sensor
      guard isClaim || call.member == "Release" + sensor else { continue }
      switch (sensor, isClaim) {
      case ("Accelerometer", true): accelerometer.add(call.sender)
      case ("Accelerometer", false): accelerometer.remove(call.sender)
      case ("Compass", true): compass.add(call.sender)
      case ("Compass", false): compass.remove(call.sender)
      default: break
      }
      return call.reply()
    }
    call.refuse(EBADR)
  }

  private func answerProperties(_ call: borrowing SensorCall, _ interface: SensorProxyInterface) {
    guard call.text() == interface.rawValue else { return call.refuse(EBADR) }
    let properties = interface.properties(published)
    switch call.member {
    case "GetAll": call.reply { $0.append(properties) }
    case "Get":
      let name = call.text()
      guard let property = properties.first(where: { $0.name == name }) else { return call.refuse(EBADR) }
      call.reply { $0.append(property.value) }
    case "Set": call.refuse(EROFS)
    default: call.refuse(EBADR)
    }
  }

  private func answerIntrospection(_ call: borrowing SensorCall) {
    guard call.interface == "org.freedesktop.DBus.Introspectable", call.member == "Introspect",
      let description = SensorProxyInterface.introspection(of: call.path, published)
    else { return call.refuse(EBADR) }
    call.reply { $0.append(description) }
  }
}

extension SensorProxyInterface {
  /// Returns the description of an object for tools such as `busctl`; nil if there is no such object.
  fileprivate static func introspection(of path: String, _ published: PublishedSensors) -> String? {
    let prefix = path == "/" ? path : path + "/"
    let children = allCases.filter { $0.path.hasPrefix(prefix) }.map { interface in
      interface.path.dropFirst(prefix.count).prefix { $0 != "/" }
    }
    let own = allCases.filter { $0.path == path }
    guard !own.isEmpty || !children.isEmpty else { return nil }
    var text = "<node>"
    for interface in own {
      text += "<interface name=\"\(interface.rawValue)\">"
      for sensor in interface.claims {
        text += "<method name=\"Claim\(sensor)\"/><method name=\"Release\(sensor)\"/>"
      }
      for (name, value) in interface.properties(published) {
        let type =
          switch value {
          case .flag: "b"
          case .number: "d"
          case .text: "s"
          }
        text += "<property name=\"\(name)\" type=\"\(type)\" access=\"read\"/>"
      }
      text += "</interface>"
    }
    for child in Set(children).sorted() { text += "<node name=\"\(child)\"/>" }
    return text + "</node>"
  }
}
