internal import Glibc
internal import LocalProtocols
public import Platform
public import Spatial
public import VehicleData

/// A region event with which an `odographd` starts or notifies this program.
///
/// The agent monitors the regions, so that the program need not run. The key `regions.notify` of the agent names a socket that
/// systemd listens to (a `.socket` unit). The first event starts the program, which receives this and each later event
/// from `events`. The corresponding behaviour of Core Location is the launch of a terminated application by
/// `startMonitoring(for:)`.
public struct RegionLaunch: Hashable, Sendable {
  public var kind: RegionEvent.Kind
  /// The region's identifier.
  public var identifier: String
  /// Name of the region; nil if it has none.
  public var name: String?
  public var time: UTCTime
  /// Position of the crossing, or of the vehicle for a dwell; nil if privacy withholds it.
  public var coordinate: Coordinate?
  /// Horizontal accuracy in m (68 %); nil if unknown.
  public var horizontalAccuracy: Double?
  /// Probability of the event, 0 ... 1.
  public var confidence: Double
  /// True if the event happened while the agent was not running.
  public var isLate: Bool

  init(_ line: RegionLine) {
    (kind, identifier, name, time) = (line.kind, line.identifier, line.name, line.time)
    (coordinate, horizontalAccuracy) = (line.coordinate, line.horizontalAccuracy)
    (confidence, isLate) = (line.confidence, line.isLate)
  }

  /// The region events at the sockets that systemd has passed to this program (`LISTEN_FDS`). The sequence ends immediately if
  /// there are none. Iterate over one sequence only, because sequences would share the events.
  /// - Parameter capacity: the maximum number of queued events; the oldest are dropped first.
  /// - Throws: `SystemError` if the process has no free descriptors or threads.
  public static func events(capacity: Int = 256) throws(SystemError) -> AsyncSamples<RegionLaunch> {
    let thread = try ServiceThread()
    let (sockets, failure) = (PassedSockets.all, Locked<SystemError?>(nil))
    let events = AsyncSamples<RegionLaunch>(capacity: capacity) { outlet in
      guard !sockets.isEmpty else {
        outlet.finish()
        return Subscription {}
      }
      do throws(SystemError) {
        try thread.start(name: "region events") { [thread] heartbeat in
          var receiver = RegionReceiver(sockets, outlet)
          while !thread.isStopping {
            heartbeat.beat()
            receiver.work(thread.wake)
          }
          receiver.close()
        }
      } catch {
        failure.withLock { $0 = error }
        outlet.finish()
      }
      return Subscription { thread.stop() }
    }
    if let error = failure.withLock({ $0 }) { throw error }
    return events
  }
}

/// The listening sockets that a service manager has passed, by the protocol of sd_listen_fds(3).
private enum PassedSockets {
  /// Empty if the variables belong to another process.
  static var all: [Int32] {
    guard number("LISTEN_PID") == Int(getpid()), let count = number("LISTEN_FDS"), (1...64).contains(count)
    else { return [] }
    let descriptors = (3..<3 + Int32(count)).filter { descriptor in
      fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
    }
    // A connection that ended must not block the thread.
    for descriptor in descriptors { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }
    return descriptors
  }

  private static func number(_ name: String) -> Int? {
    guard let value = unsafe getenv(name) else { return nil }
    return Int(unsafe String(cString: value))
  }
}

/// Reads the agent's connections. The listening sockets remain open, because they belong to the service manager.
private struct RegionReceiver {
  private let sockets: [Int32]
  private let outlet: SampleOutlet<RegionLaunch>
  private var connections: [(descriptor: Int32, line: [UInt8])] = []

  /// Maximum numbers of connections, and of bytes in a line.
  private static let (connectionLimit, lineLimit) = (16, 65_536)

  init(_ sockets: [Int32], _ outlet: SampleOutlet<RegionLaunch>) {
    (self.sockets, self.outlet) = (sockets, outlet)
  }

  /// Waits for events, and passes them on.
  mutating func work(_ wake: EventDescriptor) {
    let isFull = connections.count >= Self.connectionLimit
    let descriptors = [wake.descriptor] + connections.map(\.descriptor) + (isFull ? [] : sockets)
    var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    guard unsafe poll(&entries, nfds_t(entries.count), -1) > 0 else { return }
    if entries[0].revents != 0 { wake.drain() }
    let ready = entries[1...].map { $0.revents != 0 }
    let open = connections.count
    for index in connections.indices.reversed() where ready[index] && !read(index) {
      Glibc.close(connections.remove(at: index).descriptor)
    }
    for (socket, isReady) in zip(sockets, ready.dropFirst(open)) where isReady {
      let descriptor = accept(socket, nil, nil)
      if descriptor >= 0 {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        connections.append((descriptor, []))
      } else if errno == EMFILE || errno == ENFILE {
        // The connection remains ready, so that the next turn would not wait.
        _ = wake.wait(seconds: 1)
      }
    }
  }

  mutating func close() {
    for connection in connections { Glibc.close(connection.descriptor) }
    connections = []
  }

  /// Returns whether the connection remains open.
  private mutating func read(_ index: Int) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = unsafe recv(connections[index].descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
    for byte in buffer[..<count] {
      guard byte == UInt8(ascii: "\n") else {
        connections[index].line.append(byte)
        continue
      }
      if let line = RegionLine(connections[index].line) { outlet.push(RegionLaunch(line)) }
      connections[index].line = []
    }
    return connections[index].line.count <= Self.lineLimit
  }
}
