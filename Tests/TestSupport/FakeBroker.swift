internal import Glibc
internal import Platform

/// A TCP server that runs a script of MQTT packets, for behaviour that a conforming broker does not show. Each connection runs the script
/// on its own thread.
public final class FakeBroker: Sendable {
  public let port: Int
  private let listener: Int32
  private let state = Locked((connections: [Int32](), count: 0, ended: false))

  /// - Parameter script: is called with each connection and its number, counted from 0; the connection is closed when it returns.
  public init(_ script: @escaping @Sendable (FakeBrokerConnection, Int) -> Void) throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    port = try LoopbackSocket.listen(listener)
    let (listener, state) = (listener, state)
    _ = try DedicatedThread.start(name: "fake-broker") {
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        let number: Int? = state.withLock {
          guard !$0.ended else { return nil }
          $0.connections.append(descriptor)
          $0.count += 1
          return $0.count - 1
        }
        guard let number else { return }
        _ = try? DedicatedThread.start(name: "fake-broker-\(number)") {
          script(FakeBrokerConnection(descriptor: descriptor), number)
          state.withLock {
            $0.connections.removeAll { $0 == descriptor }
            shutdown(descriptor, Int32(SHUT_RDWR))
            close(descriptor)
          }
        }
      }
    }
  }

  deinit {
    state.withLock {
      $0.ended = true
      for descriptor in $0.connections { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  /// Number of accepted connections.
  public var connectionCount: Int { state.withLock { $0.count } }
}

/// A connection accepted by `FakeBroker`.
public struct FakeBrokerConnection: Sendable {
  let descriptor: Int32

  /// A received packet: the first byte, and everything after the length field.
  public struct Packet: Sendable {
    public var header: UInt8
    public var body: [UInt8]

    /// Packet type: CONNECT is 1, PUBLISH 3, SUBSCRIBE 8, PINGREQ 12, DISCONNECT 14.
    public var type: UInt8 { header >> 4 }

    /// Protocol level of a CONNECT packet: 4 for MQTT 3.1.1, 5 for MQTT 5.
    public var protocolLevel: UInt8 { body.count > 6 ? body[6] : 0 }

    /// Topic of a PUBLISH packet.
    public var topic: String { String(decoding: body.dropFirst(2).prefix(topicLength), as: UTF8.self) }

    /// Packet identifier (two bytes) of a PUBLISH packet with a QoS above 0.
    public var identifier: [UInt8] { Array(body.dropFirst(2 + topicLength).prefix(2)) }

    /// QoS of a PUBLISH packet, 0...2.
    public var qos: UInt8 { (header >> 1) & 3 }

    /// Payload of a PUBLISH packet of MQTT 3.1.1, or of MQTT 5 without properties.
    public func payload(version311: Bool = false) -> String {
      let start = 2 + topicLength + (qos > 0 ? 2 : 0) + (version311 ? 0 : 1)
      return String(decoding: body.dropFirst(start), as: UTF8.self)
    }

    private var topicLength: Int { body.count > 1 ? Int(body[0]) << 8 | Int(body[1]) : 0 }
  }

  /// Returns the next packet; nil if the client has closed the connection.
  public func read() -> Packet? {
    guard let header = bytes(1)?.first else { return nil }
    var length = 0
    var shift = 0
    while let byte = bytes(1)?.first {
      length |= Int(byte & 0x7F) << shift
      shift += 7
      if byte & 0x80 == 0 {
        guard let body = bytes(length) else { return nil }
        return Packet(header: header, body: body)
      }
    }
    return nil
  }

  /// Sends raw bytes.
  public func send(_ bytes: [UInt8]) {
    _ = LoopbackSocket.sendAll(descriptor, bytes[...])
  }

  /// Sends CONNACK.
  /// - Parameter properties: encoded properties of MQTT 5 without their length; nil sends the two bytes of MQTT 3.1.1.
  public func sendConnectAnswer(_ reason: UInt8, properties: [UInt8]? = []) {
    guard let properties else { return send([0x20, 2, 0, reason]) }
    send([0x20, UInt8(3 + properties.count), 0, reason, UInt8(properties.count)] + properties)
  }

  /// Sends PUBACK for a PUBLISH with QoS 1.
  public func acknowledge(_ packet: Packet, reason: UInt8 = 0) {
    send(reason == 0 ? [0x40, 2] + packet.identifier : [0x40, 4] + packet.identifier + [reason, 0])
  }

  /// Returns true if more data arrives, or the client disconnects, within the timeout.
  public func hasMore(milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, milliseconds) > 0
  }

  /// Waits until the client closes the connection.
  public func waitForEnd() { while read() != nil {} }

  private func bytes(_ count: Int) -> [UInt8]? {
    var result = [UInt8](repeating: 0, count: count)
    var have = 0
    while have < count {
      let n = result[have...].withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      guard n > 0 else { return nil }
      have += n
    }
    return result
  }
}
