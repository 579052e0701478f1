internal import CSystemd
internal import Glibc

/// A failed operation on D-Bus.
package struct SensorProxyError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The operation, such as "connect to".
  package var operation: String
  /// The bus or the name.
  package var object: String
  /// The `errno` value.
  package var code: Int32

  /// The cause, from which a remedy follows.
  package enum Kind: Hashable, Sendable {
    /// Another program has the name.
    case nameInUse
    /// The policy of the bus does not allow this user to own the name.
    case notPermitted
    /// No bus is running.
    case noBus
    case other
  }

  package var kind: Kind {
    switch code {
    case EEXIST: .nameInUse
    case EACCES, EPERM: .notPermitted
    case ENOENT, ECONNREFUSED: .noBus
    default: .other
    }
  }

  package var description: String {
    let reason =
      switch kind {
      case .nameInUse: "another program has this name; stop iio-sensor-proxy"
      case .notPermitted:
        "permission denied; the policy of the bus does not allow this user to own the name"
      case .noBus: "no bus is running"
      case .other: unsafe String(cString: strerror(code))
      }
    return "\(operation) \(object): \(reason)"
  }
}

/// A connection to a bus on which this process has a name. Not thread-safe.
@safe struct SensorBus: ~Copyable {
  private let bus: OpaquePointer

  /// Time limit in µs of an answer of the bus.
  private static let answerLimit: UInt64 = 5_000_000

  /// Connects to a bus and requests the name.
  /// - Parameter address: the address of another bus; nil for the system bus, or the one in
  ///   `DBUS_SYSTEM_BUS_ADDRESS`.
  init(address: String?, name: String) throws(SensorProxyError) {
    var opened: OpaquePointer?
    var code: Int32
    if let address {
      code = unsafe sd_bus_new(&opened)
      if code >= 0 { code = unsafe sd_bus_set_address(opened, address) }
      if code >= 0 { code = unsafe sd_bus_set_bus_client(opened, 1) }
      if code >= 0 { code = unsafe sd_bus_start(opened) }
    } else {
      code = unsafe sd_bus_open_system(&opened)
    }
    guard code >= 0, let bus = unsafe opened else {
      _ = unsafe sd_bus_unref(opened)
      throw SensorProxyError(operation: "connect to", object: address ?? "the system bus", code: -code)
    }
    // A bus that does not answer must not delay the end of the process for the 25 s of the default.
    unsafe sd_bus_set_method_call_timeout(bus, Self.answerLimit)
    code = unsafe sd_bus_request_name(bus, name, 0)
    guard code >= 0 else {
      _ = unsafe sd_bus_close_unref(bus)
      throw SensorProxyError(operation: "request the name", object: name, code: -code)
    }
    unsafe self.bus = bus
  }

  deinit { _ = unsafe sd_bus_flush_close_unref(bus) }

  var descriptor: Int32 { unsafe sd_bus_get_fd(bus) }

  /// Returns the next method call; nil if there is none yet.
  /// - Throws: `SensorProxyError` if the connection is lost.
  func nextCall() throws(SensorProxyError) -> SensorCall? {
    while true {
      var message: OpaquePointer?
      let code = unsafe sd_bus_process(bus, &message)
      guard code >= 0 else {
        throw SensorProxyError(operation: "read from", object: "the bus", code: -code)
      }
      if let message = unsafe message {
        if let call = unsafe SensorCall(adopting: message) { return call }
      } else if code == 0 {
        return nil
      }
    }
  }

  /// Creates a set of clients of this bus.
  func makeClients() throws(SensorProxyError) -> SensorClients { try unsafe SensorClients(of: bus) }

  /// Sends `PropertiesChanged`.
  /// - Parameter client: the receiver's unique name; nil for all programs.
  func announce(
    _ changed: [(name: String, value: SensorProxyValue)], of interface: SensorProxyInterface,
    to client: String?
  ) {
    var signal: OpaquePointer?
    guard
      unsafe sd_bus_message_new_signal(
        bus, &signal, interface.path, "org.freedesktop.DBus.Properties", "PropertiesChanged") >= 0,
      let signal = unsafe signal
    else { return }
    let message = unsafe SensorMessage(adopting: signal)
    message.append(interface.rawValue)
    message.append(changed)
    message.appendNothingInvalidated()
    message.send(to: client)
  }

  /// Writes everything that was sent.
  func flush() { _ = unsafe sd_bus_flush(bus) }
}

/// The clients that have claimed a sensor. A client that disconnects from the bus is removed.
@safe struct SensorClients: ~Copyable {
  private let track: OpaquePointer

  fileprivate init(of bus: OpaquePointer) throws(SensorProxyError) {
    var track: OpaquePointer?
    let code = unsafe sd_bus_track_new(bus, &track, nil, nil)
    guard code >= 0, let track = unsafe track else {
      throw SensorProxyError(operation: "observe", object: "clients", code: -code)
    }
    unsafe self.track = track
  }

  deinit { _ = unsafe sd_bus_track_unref(track) }

  var count: Int { Int(unsafe sd_bus_track_count(track)) }

  /// The unique names of the clients.
  var names: [String] {
    var names: [String] = []
    var name = unsafe sd_bus_track_first(track)
    while let found = unsafe name {
      names.append(unsafe String(cString: found))
      unsafe name = unsafe sd_bus_track_next(track)
    }
    return names
  }

  func add(_ name: String) { _ = unsafe sd_bus_track_add_name(track, name) }

  func remove(_ name: String) { _ = unsafe sd_bus_track_remove_name(track, name) }
}

/// A received method call.
@safe struct SensorCall: ~Copyable {
  private let message: OpaquePointer
  let path: String
  let interface: String
  let member: String
  let sender: String

  /// Adopts a message; nil unless it is a method call. The message is released in any case.
  init?(adopting message: OpaquePointer) {
    let text = { (pointer: UnsafePointer<CChar>?) in
      unsafe pointer.map { unsafe String(cString: $0) } ?? ""
    }
    path = unsafe text(sd_bus_message_get_path(message))
    interface = unsafe text(sd_bus_message_get_interface(message))
    member = unsafe text(sd_bus_message_get_member(message))
    sender = unsafe text(sd_bus_message_get_sender(message))
    unsafe self.message = message
    guard unsafe sd_bus_message_is_method_call(message, nil, nil) > 0 else { return nil }
  }

  deinit { _ = unsafe sd_bus_message_unref(message) }

  /// Returns the next argument; nil unless it is a text.
  func text() -> String? {
    var text: UnsafePointer<CChar>?
    guard unsafe sd_bus_message_read_basic(message, CChar(bitPattern: UInt8(ascii: "s")), &text) > 0,
      let text = unsafe text
    else { return nil }
    return unsafe String(cString: text)
  }

  /// Answers the call.
  func reply(_ body: (borrowing SensorMessage) -> Void = { _ in }) {
    var reply: OpaquePointer?
    guard unsafe sd_bus_message_new_method_return(message, &reply) >= 0, let reply = unsafe reply else {
      return
    }
    let answer = unsafe SensorMessage(adopting: reply)
    body(answer)
    answer.send(to: nil)
  }

  /// Refuses the call: there is no such object, method or property, or it is read-only.
  func refuse(_ code: Int32) {
    var reply: OpaquePointer?
    guard unsafe sd_bus_message_new_method_errno(message, &reply, code, nil) >= 0, let reply = unsafe reply
    else { return }
    unsafe SensorMessage(adopting: reply).send(to: nil)
  }
}

/// A builder of a message. Errors of its calls are those of a lack of memory, and let `send` fail.
@safe struct SensorMessage: ~Copyable {
  private let message: OpaquePointer

  init(adopting message: OpaquePointer) { unsafe self.message = message }

  deinit { _ = unsafe sd_bus_message_unref(message) }

  func append(_ text: String) {
    _ = unsafe text.withCString { unsafe sd_bus_message_append_basic(message, Self.type("s"), $0) }
  }

  /// Appends a value with its type.
  func append(_ value: SensorProxyValue) {
    switch value {
    case .flag(let flag):
      var number: Int32 = flag ? 1 : 0
      inside("v", "b") { unsafe sd_bus_message_append_basic(message, Self.type("b"), &number) }
    case .number(var number):
      inside("v", "d") { unsafe sd_bus_message_append_basic(message, Self.type("d"), &number) }
    case .text(let text):
      inside("v", "s") {
        append(text)
        return 0
      }
    }
  }

  /// Appends a dictionary of values with their types.
  func append(_ properties: [(name: String, value: SensorProxyValue)]) {
    inside("a", "{sv}") {
      for (name, value) in properties {
        inside("e", "sv") {
          append(name)
          append(value)
          return 0
        }
      }
      return 0
    }
  }

  func appendNothingInvalidated() { inside("a", "s") { 0 } }

  /// - Parameter client: the receiver's unique name; nil for the caller, or for all in the case of a signal.
  func send(to client: String?) {
    if let client { guard unsafe sd_bus_message_set_destination(message, client) >= 0 else { return } }
    _ = unsafe sd_bus_send(nil, message, nil)
  }

  private func inside(_ kind: Unicode.Scalar, _ contents: String, _ body: () -> Int32) {
    _ = unsafe sd_bus_message_open_container(message, Self.type(kind), contents)
    _ = body()
    _ = unsafe sd_bus_message_close_container(message)
  }

  private static func type(_ letter: Unicode.Scalar) -> CChar { CChar(bitPattern: UInt8(ascii: letter)) }
}
