internal import CSystemd
internal import Glibc
internal import Platform

/// A connection to the D-Bus system bus for a few calls.
@safe struct DBusConnection: ~Copyable {
  /// An argument of a call.
  enum Argument {
    case unsigned(UInt32)
    case flag(Bool)
  }

  /// The reason why a call failed.
  enum Failure: Error, Hashable {
    /// An error reply: a name such as "org.freedesktop.DBus.Error.AccessDenied", and a message.
    case refused(name: String, message: String)
    /// No reply within the time limit.
    case silent
    /// The reply is no longer required.
    case abandoned
    /// The bus is not usable.
    case broken(code: Int32)

    /// True if the service or object does not exist.
    var isAbsent: Bool { isNamed("ServiceUnknown", "NameHasNoOwner") || isNamed(prefix: "Spawn.") }
    /// True if this process has no permission for the call.
    var isForbidden: Bool { isNamed("AccessDenied", "Unauthorized", "InteractiveAuthorizationRequired") }

    private func isNamed(_ endings: String...) -> Bool {
      guard case .refused(let name, _) = self else { return false }
      return endings.contains { name.hasSuffix("." + $0) }
    }

    private func isNamed(prefix: String) -> Bool {
      guard case .refused(let name, _) = self else { return false }
      return name.hasPrefix("org.freedesktop.DBus.Error." + prefix)
    }
  }

  /// A method of an object.
  struct Method {
    var service: String
    var path: String
    var interface: String
    var name: String
  }

  private let bus: OpaquePointer

  /// Opens a connection.
  ///
  /// - Parameter address: the address of another bus; nil for the system bus, or the one in
  ///   `DBUS_SYSTEM_BUS_ADDRESS`.
  /// - Throws: `Failure.broken` if there is no bus.
  init(address: String? = nil) throws(Failure) {
    var bus: OpaquePointer?
    var code: Int32
    if let address {
      code = unsafe sd_bus_new(&bus)
      if code >= 0 { code = unsafe sd_bus_set_address(bus, address) }
      if code >= 0 { code = unsafe sd_bus_set_bus_client(bus, 1) }
      if code >= 0 { code = unsafe sd_bus_start(bus) }
    } else {
      code = unsafe sd_bus_open_system(&bus)
    }
    guard code >= 0, let bus = unsafe bus else {
      _ = unsafe sd_bus_unref(bus)
      throw .broken(code: -code)
    }
    unsafe self.bus = bus
  }

  deinit { _ = unsafe sd_bus_close_unref(bus) }

  /// Calls a method and returns its first result.
  /// - Parameter seconds: the time limit.
  func call(
    _ method: Method, _ arguments: [Argument] = [], seconds: Double, _ wait: ScanWait
  ) throws(Failure) -> DBusValue {
    var request: OpaquePointer?
    var code = unsafe sd_bus_message_new_method_call(
      bus, &request, method.service, method.path, method.interface, method.name)
    guard code >= 0, let request = unsafe request else { throw .broken(code: -code) }
    defer { _ = unsafe sd_bus_message_unref(request) }
    for argument in arguments {
      switch argument {
      case .unsigned(var number):
        code = unsafe sd_bus_message_append_basic(request, CChar(bitPattern: UInt8(ascii: "u")), &number)
      case .flag(let flag):
        var number: Int32 = flag ? 1 : 0
        code = unsafe sd_bus_message_append_basic(request, CChar(bitPattern: UInt8(ascii: "b")), &number)
      }
      guard code >= 0 else { throw .broken(code: -code) }
    }
    var cookie: UInt64 = 0
    code = unsafe sd_bus_send(bus, request, &cookie)
    guard code >= 0 else { throw .broken(code: -code) }
    wait.expectPause(60)
    code = unsafe sd_bus_flush(bus)
    guard code >= 0 else { throw .broken(code: -code) }
    return try reply(to: cookie, until: .after(seconds), wait)
  }

  private func reply(
    to cookie: UInt64, until deadline: MonotonicTime, _ wait: ScanWait
  ) throws(Failure) -> DBusValue {
    while true {
      var received: OpaquePointer?
      let code = unsafe sd_bus_process(bus, &received)
      guard code >= 0 else { throw .broken(code: -code) }
      if let received = unsafe received {
        var message = unsafe DBusMessage(adopting: received)
        if let reply = try message.reply(to: cookie) { return reply }
      } else if code == 0 {
        switch wait.wait(for: unsafe sd_bus_get_fd(bus), until: deadline) {
        case .ready: continue
        case .timedOut: throw .silent
        case .abandoned: throw .abandoned
        }
      }
    }
  }
}

extension DBusMessage {
  /// Returns the first result of a call; nil if this message is not its reply.
  fileprivate mutating func reply(to cookie: UInt64) throws(DBusConnection.Failure) -> DBusValue? {
    guard answers(cookie) else { return nil }
    if let refusal { throw refusal }
    return firstValue() ?? .list([])
  }
}
