internal import Glibc
package import Platform

/// The service `net.hadess.SensorProxy` on D-Bus, as iio-sensor-proxy offers it: orientation and compass for desktops
/// and other programs.
///
/// A program claims a sensor, and releases it or disconnects. The service reports the numbers of claims, so that the
/// sensor is powered only if a program uses it. Values are sent only to programs that have claimed the sensor; any
/// program can read them. One dedicated thread does all I/O, and waits without a time limit while it is connected.
/// Without a bus, and while another program has the name, the service retries after 1 s to 60 s.
///
/// The service requests its name when the first sensor is available: programs that find the name without sensors do not
/// claim those that appear later.
package final class SensorProxyService: Sendable {
  /// The name on the bus.
  package static let name = "net.hadess.SensorProxy"

  /// A change of the service's state.
  package enum Change: Hashable, Sendable {
    /// The service has its name on the bus.
    case connected
    /// The service has no connection, for a reason other than the last one.
    case disconnected(SensorProxyError)
    /// The numbers of claims have changed.
    case demand(SensorProxyDemand)
  }

  private let thread: ServiceThread
  private let state = Locked(SensorProxyState())

  /// Starts the thread, which connects to the bus when `update` has reported a sensor.
  /// - Parameters:
  ///   - address: the address of another bus; nil for the system bus, or the one in `DBUS_SYSTEM_BUS_ADDRESS`.
  ///   - changed: called from the service's thread.
  /// - Throws: `SystemError` if the process has no free descriptors or threads.
  package init(address: String? = nil, changed: @escaping @Sendable (Change) -> Void) throws(SystemError) {
    thread = try ServiceThread()
    // The connection belongs to the thread, because sd-bus is not thread-safe.
    try thread.start(name: "sensor-proxy") { [thread, state] heartbeat in
      var retry = SensorProxyRetry()
      while !thread.isStopping {
        heartbeat.beat()
        guard state.withLock({ $0.hasAccelerometer || $0.hasCompass }) else {
          _ = waitUntilReadable([thread.wake.descriptor])
          thread.wake.drain()
          continue
        }
        heartbeat.expectPause(seconds: 60)
        do throws(SensorProxyError) {
          var session = try SensorProxySession(address: address, state.withLock { $0 })
          changed(.connected)
          retry = SensorProxyRetry()
          try session.run(thread, heartbeat, state) { changed(.demand($0)) }
        } catch {
          if retry.isNew(error) { changed(.disconnected(error)) }
          retry.wait(thread, heartbeat)
        }
      }
    }
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

  /// Connects to the bus for a moment.
  /// - Throws: `SensorProxyError` if there is no bus, or the name is not available.
  package static func probe(address: String? = nil) throws(SensorProxyError) {
    _ = try SensorBus(address: address, name: name)
  }
}

/// The waits between attempts to connect.
private struct SensorProxyRetry {
  private static let (shortest, longest) = (1.0, 60.0)
  private var pause = shortest
  private var last: SensorProxyError?

  /// Returns whether the error differs from the last one.
  mutating func isNew(_ error: SensorProxyError) -> Bool {
    defer { last = error }
    return error != last
  }

  /// Waits until the next attempt is due or the thread is to stop.
  mutating func wait(_ thread: ServiceThread, _ heartbeat: Heartbeat) {
    let end = MonotonicTime.after(pause)
    while !thread.isStopping {
      heartbeat.beat()
      guard !end.hasPassed else { break }
      _ = thread.wake.wait(seconds: end.secondsRemaining)
    }
    pause = min(2 * pause, Self.longest)
  }
}

/// The connection of the service's thread.
private struct SensorProxySession: ~Copyable {
  private let bus: SensorBus
  private let accelerometer: SensorClients
  private let compass: SensorClients
  private var published = PublishedSensors()
  private var demand = SensorProxyDemand()

  /// - Parameter state: the values for programs that ask as soon as the name appears.
  init(address: String?, _ state: SensorProxyState) throws(SensorProxyError) {
    published.update(state)
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
