internal import Glibc
package import LocalProtocols
internal import Logging
package import Pipeline
package import Platform
package import Sensors
internal import Spatial

/// The server that provides positions to programs on this machine.
///
/// One thread serves all listeners and connections with `poll(2)`. It waits without a time limit: without connected
/// programs it never wakes up. The pipeline's thread only adds reports to a bounded queue.
package final class LocalServer: Sendable {
  /// State of a service, for `status` and metrics.
  package struct Report: Sendable, Hashable {
    /// Protocol and addresses.
    var name: String
    package var connections = 0
    /// Number of connections that request reports.
    var watching = 0
    /// Number of connections since the start that were accepted, and those that exceeded the maximum number.
    var accepted = 0
    package var refused = 0
    /// Number of reports and answers that were dropped for programs that did not read them.
    package var dropped = 0
    /// Number of connections that the server closed because the program did not read, or sent too much.
    package var disconnected = 0
  }

  private let thread: ServiceThread
  private enum Input: Sendable {
    case epoch(LocalEpoch)
    case samples(SensorEvent)
  }

  private let inputs = BoundedQueue<Input>(capacity: 32)
  private let state: Locked<[Report]>
  /// Kinds of sensors whose samples a program receives.
  private let sampleKinds = Locked<Set<SensorKind>>([])
  /// The data that the agent provides. It is not in the queue, which drops its oldest elements.
  private let sources = Locked(LocalSources())

  /// - Throws: `SystemError` if the process has no free descriptors.
  package init() throws(SystemError) {
    thread = try ServiceThread()
    state = Locked([])
  }

  /// The state of each service.
  package var reports: [Report] { state.withLock { $0 } }

  /// Starts the thread.
  /// - Parameters:
  ///   - services: the services with their sockets.
  ///   - demand: receives each change of the programs' requirements, on the server's thread.
  /// - Throws: `SystemError` if the kernel cannot create a thread.
  package func start(
    _ services: sending [LocalListeners], demand: @escaping @Sendable (LocalDemand) -> Void
  ) throws(SystemError) {
    state.withLock { $0 = services.map { Report(name: $0.service.name) } }
    let transfer = Locked<[LocalListeners]?>(services)
    try thread.start(name: "local") { [thread, inputs, state, sampleKinds, sources] heartbeat in
      guard
        let services = transfer.withLock({ services in
          defer { services = nil }
          return services
        })
      else { return }
      var loop = LocalServerLoop(services, wake: thread.wake) { new in
        sampleKinds.withLock { $0 = Set(new.samples.keys) }
        demand(new)
      }
      while !thread.isStopping {
        loop.wait()
        heartbeat.beat()
        loop.update(sources.withLock { $0 })
        while case .element(let input) = inputs.pop(until: .start) {
          switch input {
          case .epoch(let epoch): loop.send(epoch)
          case .samples(let event): loop.send(event)
          }
        }
        loop.flush()
        state.withLock { $0 = loop.reports }
      }
      loop.closeAll()
    }
  }

  /// Adds a report. Called by the pipeline's thread, never waits.
  package func publish(_ epoch: LocalEpoch) { push(.epoch(epoch)) }

  /// Adds samples of sensors, if a program requests them. Called by the pipeline's thread, never waits.
  package func publish(_ event: SensorEvent) {
    let kinds = sampleKinds.withLock { $0 }
    guard !kinds.isEmpty, kinds.contains(where: { event.count(of: $0) > 0 }) else { return }
    push(.samples(event))
  }

  /// Sets the data that the agent provides. Called by the pipeline's thread, never waits.
  package func publish(_ new: LocalSources) {
    let isChanged = sources.withLock { sources in
      defer { sources = new }
      return sources != new
    }
    if isChanged { thread.wake.signal() }
  }

  private func push(_ input: Input) {
    inputs.push(input)
    thread.wake.signal()
  }

  /// Closes all connections and sockets.
  package func stop() { thread.stop() }
}

/// The sockets of one service.
package struct LocalListeners {
  package let service: AgentConfiguration.LocalService
  package let sockets: [(socket: ListeningSocket, isUnix: Bool)]
  package let rules: AccessRules
  private let writer: NMEAWriter
  private let version: String

  /// Creates the sockets.
  /// - Parameter version: version of the program, which gpsd's clients receive.
  /// - Throws: `SystemError` naming the address, `ConfigurationError` naming an unknown user or group.
  package init(_ service: AgentConfiguration.LocalService, version: String) throws {
    (self.service, self.version) = (service, version)
    let table = service.dialect.table
    rules = AccessRules(service)
    if let name = rules.unknown.first {
      throw ConfigurationError(
        .invalidValue, place: "\(table).access",
        problem: "\(name) is neither a user nor a group of this machine")
    }
    var group: UInt32?
    if let name = service.group {
      group = AccountNames.group(name)
      if group == nil {
        throw ConfigurationError(
          .invalidValue, place: "\(table).socket_group", problem: "no group \(name) on this machine")
      }
    }
    var sockets: [(ListeningSocket, Bool)] = []
    for address in service.addresses { sockets.append((try .tcp(address), false)) }
    if let path = service.socket {
      sockets.append((try .unix(path, mode: service.mode, group: group), true))
    }
    self.sockets = sockets
    writer = service.dialect == .nmea ? NMEAWriter(sentences: service.sentences) : NMEAWriter()
  }

  /// The protocol of a new connection.
  package var dialect: LocalConnection.Dialect {
    switch service.dialect {
    case .nmea: .nmea
    case .gpsd:
      .gpsd(
        GPSDSession(
          .init(
            release: version, interval: service.interval, shortestInterval: service.interval, writer: writer))
      )
    }
  }

  /// True if the sentences contain the attitude.
  var usesAttitude: Bool { writer.usesAttitude }

  /// Returns a report in NMEA 0183.
  package func sentences(_ report: LocalReport) -> [UInt8] {
    var bytes: [UInt8] = []
    writer.encode(report, into: &bytes)
    return bytes
  }
}

/// The loop of the server's thread.
private struct LocalServerLoop {
  private struct Client {
    let descriptor: Int32
    let service: Int
    var connection: LocalConnection
    /// True if the program's demand was announced.
    var isAnnounced = false
  }

  private(set) var reports: [LocalServer.Report]
  /// Counts without those of the present connections.
  private var past: [LocalServer.Report]
  private let services: [LocalListeners]
  private let wake: EventDescriptor
  private let demand: (LocalDemand) -> Void
  private var clients: [Client] = []
  private var announced = LocalDemand()
  private var sources = LocalSources()
  /// Number of programs that have requested positions.
  private var arrivals = 0
  /// True while the process has no free descriptor for another connection.
  private var isExhausted = false

  /// Time in ms between attempts to accept connections while the process has no free descriptor.
  private static let retryInterval: Int32 = 1000
  /// Maximum number of connections accepted in one turn.
  private static let acceptLimit = 32
  /// Size in bytes of the kernel's buffer for a program's reports. Reports in it become old.
  private static let kernelBuffer: Int32 = 16_384

  init(_ services: [LocalListeners], wake: EventDescriptor, demand: @escaping (LocalDemand) -> Void) {
    (self.services, self.wake, self.demand) = (services, wake, demand)
    past = services.map { LocalServer.Report(name: $0.service.name) }
    reports = past
  }

  /// Waits for events, and processes them.
  mutating func wait() {
    var entries = [pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0)]
    let listeners = services.indices.flatMap { index in
      services[index].sockets.map { (service: index, socket: $0.socket, isUnix: $0.isUnix) }
    }
    if !isExhausted {
      entries += listeners.map { pollfd(fd: $0.socket.descriptor, events: Int16(POLLIN), revents: 0) }
    }
    let firstClient = entries.count
    for client in clients {
      // A program that does not read its answers is not read either.
      let isFull = client.connection.waiting.count > client.connection.limit / 2
      let events = (isFull ? 0 : POLLIN) | (client.connection.waiting.isEmpty ? 0 : POLLOUT)
      entries.append(pollfd(fd: client.descriptor, events: Int16(events), revents: 0))
    }
    let ready = poll(&entries, nfds_t(entries.count), isExhausted ? Self.retryInterval : -1)
    let couldNotAccept = isExhausted
    isExhausted = false
    guard ready > 0 else { return }
    if entries[0].revents != 0 { wake.drain() }
    for (index, entry) in entries[firstClient...].enumerated() where entry.revents != 0 {
      if entry.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 { read(from: index) }
    }
    guard !couldNotAccept else { return }
    for (entry, listener) in zip(entries[1...], listeners) where entry.revents != 0 {
      accept(listener.socket, service: listener.service, isUnix: listener.isUnix)
    }
  }

  /// Queues a report for all programs that watch. Each service encodes it once for each access.
  mutating func send(_ epoch: LocalEpoch) {
    var sentences: [Encoded: [UInt8]] = [:]
    for index in clients.indices {
      let encoded = Encoded(service: clients[index].service, access: clients[index].connection.access)
      guard let report = epoch.reports[encoded.access] else { continue }
      clients[index].connection.send(report, at: epoch.timestamp) {
        if let known = sentences[encoded] { return known }
        let bytes = services[encoded.service].sentences(report)
        sentences[encoded] = bytes
        return bytes
      }
    }
  }

  /// Queues samples for all programs that request them.
  mutating func send(_ event: SensorEvent) {
    let kinds = Set(AgentOffer.sampleKinds.filter { event.count(of: $0) > 0 })
    let lines = SampleLines.encode(event)
    for index in clients.indices { clients[index].connection.send(samples: lines, of: kinds) }
  }

  /// Notifies all programs of the data that the agent provides.
  mutating func update(_ new: LocalSources) {
    guard new != sources else { return }
    sources = new
    for index in clients.indices { clients[index].connection.update(new) }
  }

  private struct Encoded: Hashable {
    var service: Int
    var access: LocalAccess
  }

  private mutating func send(_ report: LocalReport, to index: Int, at timestamp: Timestamp) {
    let service = services[clients[index].service]
    clients[index].connection.send(report, at: timestamp) { service.sentences(report) }
  }

  /// Sends the queued output, closes connections that ended, and announces a changed demand.
  mutating func flush() {
    for index in clients.indices {
      if clients[index].connection.isUninformed {
        let now = UTCTime.now
        send(LocalReport(time: now), to: index, at: .now)
      }
      write(to: index)
    }
    clients.removeAll { client in
      guard let end = client.connection.end else { return false }
      close(client.descriptor)
      past[client.service].dropped += client.connection.dropped
      if end != .closed { past[client.service].disconnected += 1 }
      return true
    }
    reports = past
    for client in clients {
      reports[client.service].connections += 1
      if client.connection.isWatching { reports[client.service].watching += 1 }
      reports[client.service].dropped += client.connection.dropped
    }
    announceDemand()
  }

  private mutating func announceDemand() {
    for index in clients.indices {
      let isDemanding = clients[index].connection.isDemanding
      if isDemanding, !clients[index].isAnnounced { arrivals += 1 }
      clients[index].isAnnounced = isDemanding
    }
    let demanding = clients.filter(\.isAnnounced)
    var new = LocalDemand(
      Set(demanding.map(\.connection.access)),
      interval: demanding.map(\.connection.interval).min() ?? 1,
      attitude: demanding.contains(where: \.connection.usesAttitude), arrivals: arrivals)
    for client in clients { new.samples.merge(client.connection.samples) { $0.combined(with: $1) } }
    guard new != announced else { return }
    announced = new
    demand(new)
  }

  /// Closes all connections.
  mutating func closeAll() {
    for client in clients { close(client.descriptor) }
    clients = []
  }

  private mutating func write(to index: Int) {
    while clients[index].connection.end == nil, !clients[index].connection.waiting.isEmpty {
      let count = clients[index].connection.waiting.withUnsafeBytes {
        Glibc.send(
          clients[index].descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
      }
      if count > 0 {
        clients[index].connection.consume(count)
      } else if count < 0, errno == EINTR {
        continue
      } else {
        if errno != EAGAIN { clients[index].connection.close(.closed) }
        return
      }
    }
  }

  private mutating func read(from index: Int) {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(clients[index].descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    if count > 0 {
      clients[index].connection.receive(bytes[..<count])
    } else if count == 0 || errno != EAGAIN && errno != EINTR {
      clients[index].connection.close(.closed)
    }
  }

  private mutating func accept(_ socket: ListeningSocket, service: Int, isUnix: Bool) {
    for _ in 0..<Self.acceptLimit {
      let descriptor: Int32
      do throws(SystemError) {
        guard let next = try socket.accept() else { return }
        descriptor = next
      } catch {
        isExhausted = true
        return
      }
      let settings = services[service].service
      guard clients.count(where: { $0.service == service }) < settings.capacity else {
        refuse(descriptor, settings)
        past[service].refused += 1
        continue
      }
      var size = Self.kernelBuffer
      setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
      var on: Int32 = 1
      if !isUnix {
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, socklen_t(MemoryLayout<Int32>.size))
      }
      let access = services[service].rules.access(of: isUnix ? PeerCredentials(of: descriptor) : nil)
      clients.append(
        Client(
          descriptor: descriptor, service: service,
          connection: LocalConnection(
            services[service].dialect, access: access, interval: settings.interval,
            usesAttitude: services[service].usesAttitude)))
      clients[clients.count - 1].connection.update(sources)
      past[service].accepted += 1
    }
  }

  /// Sends the reason, and closes the connection.
  private func refuse(_ descriptor: Int32, _ settings: AgentConfiguration.LocalService) {
    let reason = "too many connections (\(settings.dialect.table).clients = \(settings.capacity))"
    let bytes: [UInt8]
    switch settings.dialect {
    case .nmea:
      let body = "GPTXT,01,01,00,\(reason)"
      let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
      bytes = Array("$\(body)*\(sum.count == 1 ? "0" : "")\(sum)\r\n".utf8)
    case .gpsd: bytes = Array("{\"class\":\"ERROR\",\"message\":\"\(reason)\"}\r\n".utf8)
    }
    _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    close(descriptor)
  }
}
