internal import Glibc
internal import Platform
internal import Sensors
internal import Spatial

/// Scans with one wireless interface.
struct WiFiScanner: Sendable {
  let interface: String

  /// Seconds after which a scan is given up. 40 channels take five, and twenty where a connection goes on meanwhile.
  private static let timeLimit: Int64 = 30_000_000_000
  /// Seconds in which the kernel answers.
  private static let answerLimit: Int64 = 5_000_000_000

  /// One scan; nil when it was abandoned before the radio began. One that is abandoned later is broken off, and not complete.
  /// - Throws: `RadioError` with what helps, where nothing can be heard.
  func scan(_ wait: ScanWait) throws(RadioError) -> ScanResult? {
    let index = try index
    let socket = try ScanSocket(place: interface)
    guard wait.isWanted() else { return nil }
    let start = SystemClock.boottime
    try socket.triggerScan(interface: index)
    let code = try answer(socket)
    var notice: RadioError?
    let isOurs = code == 0
    var isEnded = true
    switch code {
    case 0, EBUSY: isEnded = try waitForEnd(socket, index, wait, isOurs: isOurs)
    case EPERM, EACCES: notice = forbidden
    default: throw refusal(code)
    }
    let duration = isOurs ? Double(SystemClock.boottime - start) * 1e-9 : 0
    var heard: StrongestBeacons?
    if isEnded {
      try socket.requestResults(interface: index)
      heard = try results(socket, wait)
    } else if isOurs {
      // Where the kernel does not take that, the scan ends by itself.
      try? socket.abortScan(interface: index)
    }
    guard isOurs || heard != nil else { return nil }
    var scan = RadioScan(
      timestamp: Timestamp(nanoseconds: SystemClock.boottime), sightings: heard?.strongest ?? [], kind: .wifi,
      duration: duration, isComplete: heard != nil)
    // Somebody else may say so under its address: what is heard open, too, stays.
    let open = Set(scan.sightings.map(\.beacon))
    scan.optedOut = heard.map { $0.optedOut.subtracting(open).sorted() } ?? []
    return ScanResult(scan: scan, notice: notice)
  }

  /// What scans of others have found.
  func known() throws(RadioError) -> [BeaconSighting] {
    let index = try index
    let socket = try ScanSocket(place: interface)
    try socket.requestResults(interface: index)
    var heard = StrongestBeacons()
    let end = SystemClock.monotonic + Self.answerLimit
    while waitUntilReadable([socket.descriptor], seconds: Double(end - SystemClock.monotonic) * 1e-9) != nil {
      if let code = Self.take(socket, &heard) { return try told(heard, code).strongest }
    }
    throw silent
  }

  private var index: UInt32 {
    get throws(RadioError) {
      let index = unsafe if_nametoindex(interface)
      guard index > 0 else { throw absent }
      guard let state = WirelessInterface(interface) else {
        throw RadioError(
          place: interface, problem: "is no wireless interface",
          remedy: "name another in radio.wifi (odographd sensors lists them)")
      }
      guard state.isUp else { throw down(state) }
      return index
    }
  }

  /// The kernel's answer to a request, as an `errno` value. It comes at once, and says whether a scan has begun.
  private func answer(_ socket: borrowing ScanSocket) throws(RadioError) -> Int32 {
    let end = SystemClock.monotonic + Self.answerLimit
    while waitUntilReadable([socket.descriptor], seconds: Double(end - SystemClock.monotonic) * 1e-9) != nil {
      for case .answer(let code) in socket.receive(now: now) { return code }
    }
    throw silent
  }

  /// Waits until a scan of the interface has ended; no when that was abandoned. A radio may be busy with something else than a
  /// scan, and then tells what it knows.
  private func waitForEnd(
    _ socket: borrowing ScanSocket, _ index: UInt32, _ wait: ScanWait, isOurs: Bool
  ) throws(RadioError) -> Bool {
    let end = SystemClock.monotonic + Self.timeLimit
    while true {
      switch wait.wait(for: socket.descriptor, until: end) {
      case .abandoned: return false
      case .timedOut:
        guard isOurs else { return true }
        throw silent
      case .ready:
        let messages = socket.receive(now: now)
        // One that was ended early has heard something, too.
        if messages.contains(.finished(interface: index)) || messages.contains(.aborted(interface: index)) {
          return true
        }
      }
    }
  }

  private func results(
    _ socket: borrowing ScanSocket, _ wait: ScanWait
  ) throws(RadioError) -> StrongestBeacons? {
    var heard = StrongestBeacons()
    let end = SystemClock.monotonic + Self.answerLimit
    while true {
      switch wait.wait(for: socket.descriptor, until: end) {
      case .abandoned: return nil
      case .timedOut: throw silent
      case .ready:
        if let code = Self.take(socket, &heard) { return try told(heard, code) }
      }
    }
  }

  /// Takes what the next datagram tells; returns how it ended once it has.
  private static func take(_ socket: borrowing ScanSocket, _ heard: inout StrongestBeacons) -> Int32? {
    for message in socket.receive(now: Timestamp(nanoseconds: SystemClock.boottime)) {
      switch message {
      case .heard(let sighting): heard.insert(sighting)
      case .optedOut(let beacon): heard.insert(optedOut: beacon)
      case .end(let code), .answer(let code): return code
      case .finished, .aborted: continue
      }
    }
    return nil
  }

  private func told(_ heard: StrongestBeacons, _ code: Int32) throws(RadioError) -> StrongestBeacons {
    guard code == 0 else { throw refusal(code) }
    return heard
  }

  private var now: Timestamp { Timestamp(nanoseconds: SystemClock.boottime) }
}

extension WiFiScanner {
  private var absent: RadioError {
    RadioError(
      place: interface, problem: "there is no such interface",
      remedy:
        "plug the radio in or load its driver, or name another in radio.wifi (odographd sensors lists them)")
  }

  private var silent: RadioError {
    RadioError(
      place: interface, problem: "the kernel does not say how the scan went",
      remedy: "load the radio's driver anew")
  }

  private var forbidden: RadioError {
    RadioError(
      place: interface, problem: "this process may not scan, and uses what scans of others find",
      remedy: "give the unit CAP_NET_ADMIN: install -D -m 644 /usr/share/odographd/radio.conf "
        + "/etc/systemd/system/odographd.service.d/radio.conf")
  }

  private func down(_ state: WirelessInterface?) -> RadioError {
    state?.isBlocked == true
      ? RadioError(
        place: interface, problem: "is switched off by rfkill", remedy: "switch it on: rfkill unblock wifi")
      : RadioError(
        place: interface, problem: "is down", remedy: "bring it up: ip link set \(interface) up")
  }

  private func refusal(_ code: Int32) -> RadioError {
    switch code {
    case ENODEV: absent
    case ENETDOWN, ERFKILL: down(WirelessInterface(interface))
    case EOPNOTSUPP:
      RadioError(
        place: interface, problem: "cannot scan as it is used now, as an access point cannot",
        remedy: "name an interface in station mode in radio.wifi")
    default:
      RadioError(
        place: interface, problem: "cannot be scanned: \(SystemError.message(for: code))",
        remedy: "look into the kernel's log (dmesg)")
    }
  }
}
