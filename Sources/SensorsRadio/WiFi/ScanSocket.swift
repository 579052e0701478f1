internal import CNetlink
internal import Glibc
internal import Platform
internal import Sensors
internal import Spatial

/// An nl80211 socket for one scan: it sends requests and receives the end of scans.
@safe struct ScanSocket: ~Copyable {
  /// The kernel's names of the family and of its multicast group for scans.
  private static let (familyName, groupName) = ("nl80211", "scan")

  let descriptor: Int32
  private let socket: OpaquePointer
  private let family: Int32
  private let place: String

  /// Opens a socket.
  ///
  /// - Parameter place: the interface, for error messages.
  /// - Throws: `SourceError` with the remedy, for a kernel without Wi-Fi or a service unit that denies
  ///   netlink.
  init(place: String) throws(SourceError) {
    guard let socket = unsafe nl_socket_alloc() else {
      throw SourceError(
        place: place, problem: "no memory for a socket", remedy: "the machine needs more memory")
    }
    var family: Int32 = 0
    do throws(SourceError) {
      family = try unsafe Self.connect(socket, place)
    } catch {
      unsafe nl_socket_free(socket)
      throw error
    }
    unsafe self.socket = socket
    self.family = family
    self.place = place
    descriptor = unsafe nl_socket_get_fd(socket)
  }

  deinit { unsafe nl_socket_free(socket) }

  private static func connect(_ socket: OpaquePointer, _ place: String) throws(SourceError) -> Int32 {
    let code = unsafe genl_connect(socket)
    guard code >= 0 else {
      throw SourceError(
        place: place, problem: "no netlink socket: \(message(code))",
        remedy: "let the unit open AF_NETLINK sockets (RestrictAddressFamilies=AF_NETLINK)")
    }
    let family = unsafe genl_ctrl_resolve(socket, familyName)
    let group = unsafe genl_ctrl_resolve_grp(socket, familyName, groupName)
    guard family >= 0, group >= 0, unsafe nl_socket_add_membership(socket, group) >= 0 else {
      throw SourceError(
        place: place, problem: "this kernel has no Wi-Fi (nl80211)",
        remedy: "load the radio's driver, or leave radio.wifi out")
    }
    unsafe nl_socket_disable_seq_check(socket)
    unsafe nl_socket_set_nonblocking(socket)
    return family
  }

  private static func message(_ code: Int32) -> String { unsafe String(cString: nl_geterror(code)) }

  /// Starts a passive scan: without network names, the radio sends no probe requests.
  func triggerScan(interface: UInt32) throws(SourceError) {
    try send(UInt8(NL80211_CMD_TRIGGER_SCAN.rawValue), flags: NLM_F_ACK, interface)
  }

  /// Aborts the running scan, which is then reported as aborted.
  func abortScan(interface: UInt32) throws(SourceError) {
    try send(UInt8(NL80211_CMD_ABORT_SCAN.rawValue), flags: 0, interface)
  }

  /// Requests the results of all scans, including those of other programs.
  func requestResults(interface: UInt32) throws(SourceError) {
    try send(UInt8(NL80211_CMD_GET_SCAN.rawValue), flags: NLM_F_DUMP, interface)
  }

  private func send(_ command: UInt8, flags: Int32, _ interface: UInt32) throws(SourceError) {
    let message = unsafe nlmsg_alloc()
    defer { unsafe nlmsg_free(message) }
    guard let message = unsafe message,
      unsafe genlmsg_put(message, UInt32(NL_AUTO_PORT), UInt32(NL_AUTO_SEQ), family, 0, flags, command, 0)
        != nil,
      unsafe nla_put_u32(message, Int32(NL80211_ATTR_IFINDEX.rawValue), interface) >= 0
    else {
      throw SourceError(
        place: place, problem: "no memory for a message", remedy: "the machine needs more memory")
    }
    let code = unsafe nl_send_auto(socket, message)
    guard code >= 0 else {
      throw SourceError(
        place: place, problem: "the kernel rejects a message: \(Self.message(code))",
        remedy: "restart the agent")
    }
  }

  /// Returns the messages of the next datagram; empty if there is none or it was lost.
  func receive(now: Timestamp) -> [NetlinkScan] {
    var sender = sockaddr_nl()
    var buffer: UnsafeMutablePointer<UInt8>?
    let count = unsafe nl_recv(socket, &sender, &buffer, nil)
    defer { unsafe free(buffer) }
    // Messages from other processes are ignored: only the kernel has port 0.
    guard count > 0, sender.nl_pid == 0, let bytes = unsafe buffer else { return [] }
    let datagram = unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    return NetlinkScan.decode(datagram, family: UInt16(truncatingIfNeeded: family), now: now)
  }
}
