internal import Glibc
internal import Platform
internal import Sensors
internal import Spatial

/// A scanner for one wireless interface.
struct WiFiScanner: Sendable {
  let interface: String

  /// The time limit of a scan in s. A scan of 40 channels lasts 5 s, or 20 s while a connection is active.
  private static let timeLimit = 30.0
  /// The time limit in s for a reply of the kernel.
  private static let answerLimit = 5.0

  /// Scans once; nil if the scan was abandoned before the radio started. A scan that is abandoned later is
  /// aborted and incomplete.
  /// - Throws: `SourceError` with the remedy, if no result is possible.
  func scan(_ wait: ScanWait) throws(SourceError) -> ScanResult? {
    let index = try index
    let socket = try ScanSocket(place: interface)
    guard wait.isWanted() else { return nil }
    let start = Timestamp.now
    try socket.triggerScan(interface: index)
    let code = try answer(socket)
    var notice: SourceError?
    let isOurs = code == 0
    var isEnded = true
    switch code {
    case 0, EBUSY: isEnded = try waitForEnd(socket, index, wait, isOurs: isOurs)
    case EPERM, EACCES: notice = forbidden
    default: throw refusal(code)
    }
    let duration = isOurs ? Timestamp.now.seconds(since: start) : 0
    var heard: StrongestBeacons?
    if isEnded {
      try socket.requestResults(interface: index)
      heard = try results(socket, wait)
    } else if isOurs {
      // If the kernel cannot abort a scan, the scan ends without it.
      try? socket.abortScan(interface: index)
    }
    guard isOurs || heard != nil else { return nil }
    var scan = RadioScan(
      timestamp: .now, sightings: heard?.strongest ?? [], kind: .wifi,
      duration: duration, isComplete: heard != nil)
    // Another device could send frames with the address of an access point and an opt-out. An access point
    // that is also received without an opt-out is therefore retained.
    let open = Set(scan.sightings.map(\.beacon))
    scan.optedOut = heard.map { $0.optedOut.subtracting(open).sorted() } ?? []
    return ScanResult(scan: scan, notice: notice)
  }

  /// Returns the results of other programs' scans.
  func known() throws(SourceError) -> [BeaconSighting] {
    let index = try index
    let socket = try ScanSocket(place: interface)
    try socket.requestResults(interface: index)
    var heard = StrongestBeacons()
    let end = MonotonicTime.after(Self.answerLimit)
    while waitUntilReadable([socket.descriptor], seconds: end.secondsRemaining) != nil {
      if let code = Self.take(socket, &heard) { return try told(heard, code).strongest }
    }
    throw silent
  }

  private var index: UInt32 {
    get throws(SourceError) {
      let index = unsafe if_nametoindex(interface)
      guard index > 0 else { throw absent }
      guard let state = WirelessInterface(interface) else {
        throw SourceError(
          place: interface, problem: "is no wireless interface",
          remedy: "name another in radio.wifi (odographd sensors lists them)")
      }
      guard state.isUp else { throw down(state) }
      return index
    }
  }

  /// Returns the kernel's reply to a request as an `errno` value; it arrives immediately, and indicates
  /// whether a scan has started.
  private func answer(_ socket: borrowing ScanSocket) throws(SourceError) -> Int32 {
    let end = MonotonicTime.after(Self.answerLimit)
    while waitUntilReadable([socket.descriptor], seconds: end.secondsRemaining) != nil {
      for case .answer(let code) in socket.receive(now: now) { return code }
    }
    throw silent
  }

  /// Waits until a scan of the interface has ended; returns false if the wait was abandoned. If another
  /// program's scan does not end within the time limit, it returns true, and the results are those of earlier
  /// scans.
  private func waitForEnd(
    _ socket: borrowing ScanSocket, _ index: UInt32, _ wait: ScanWait, isOurs: Bool
  ) throws(SourceError) -> Bool {
    let end = MonotonicTime.after(Self.timeLimit)
    while true {
      switch wait.wait(for: socket.descriptor, until: end) {
      case .abandoned: return false
      case .timedOut:
        guard isOurs else { return true }
        throw silent
      case .ready:
        let messages = socket.receive(now: now)
        // A scan that was ended early also has results.
        if messages.contains(.finished(interface: index)) || messages.contains(.aborted(interface: index)) {
          return true
        }
      }
    }
  }

  private func results(
    _ socket: borrowing ScanSocket, _ wait: ScanWait
  ) throws(SourceError) -> StrongestBeacons? {
    var heard = StrongestBeacons()
    let end = MonotonicTime.after(Self.answerLimit)
    while true {
      switch wait.wait(for: socket.descriptor, until: end) {
      case .abandoned: return nil
      case .timedOut: throw silent
      case .ready:
        if let code = Self.take(socket, &heard) { return try told(heard, code) }
      }
    }
  }

  /// Processes the next datagram; returns the final status at the end of the dump.
  private static func take(_ socket: borrowing ScanSocket, _ heard: inout StrongestBeacons) -> Int32? {
    for message in socket.receive(now: .now) {
      switch message {
      case .heard(let sighting): heard.insert(sighting)
      case .optedOut(let beacon): heard.insert(optedOut: beacon)
      case .end(let code), .answer(let code): return code
      case .finished, .aborted: continue
      }
    }
    return nil
  }

  private func told(_ heard: StrongestBeacons, _ code: Int32) throws(SourceError) -> StrongestBeacons {
    guard code == 0 else { throw refusal(code) }
    return heard
  }

  private var now: Timestamp { Timestamp.now }
}

extension WiFiScanner {
  private var absent: SourceError {
    SourceError(
      place: interface, problem: "no such interface",
      remedy:
        "plug the radio in or load its driver, or name another in radio.wifi (odographd sensors lists them)")
  }

  private var silent: SourceError {
    SourceError(
      place: interface, problem: "the kernel does not report the result of the scan",
      remedy: "reload the radio's driver")
  }

  private var forbidden: SourceError {
    SourceError(
      place: interface, problem: "no permission to scan; uses the results of other programs' scans",
      remedy: "give the unit CAP_NET_ADMIN: install -D -m 644 /usr/share/odographd/radio.conf "
        + "/etc/systemd/system/odographd.service.d/radio.conf")
  }

  private func down(_ state: WirelessInterface?) -> SourceError {
    state?.isBlocked == true
      ? SourceError(
        place: interface, problem: "is disabled by rfkill", remedy: "switch it on: rfkill unblock wifi")
      : SourceError(
        place: interface, problem: "is down", remedy: "bring it up: ip link set \(interface) up")
  }

  private func refusal(_ code: Int32) -> SourceError {
    switch code {
    case ENODEV: absent
    case ENETDOWN, ERFKILL: down(WirelessInterface(interface))
    case EOPNOTSUPP:
      SourceError(
        place: interface, problem: "cannot scan in its present mode, for example as an access point",
        remedy: "name an interface in station mode in radio.wifi")
    default:
      SourceError(
        place: interface, problem: "cannot be scanned: \(SystemError.message(for: code))",
        remedy: "check the kernel's log (dmesg)")
    }
  }
}
