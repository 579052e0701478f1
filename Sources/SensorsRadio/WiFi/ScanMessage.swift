internal import CNetlink
internal import Sensors
internal import Spatial

/// What nl80211 says of scans, one netlink message each.
enum ScanMessage: Hashable, Sendable {
  /// A request was accepted, or with an `errno` value refused.
  case answer(code: Int32)
  /// Everything that was asked for has been told, or could not be.
  case end(code: Int32)
  /// A scan of an interface has ended, ours or somebody else's.
  case finished(interface: UInt32)
  case aborted(interface: UInt32)
  /// An access point that may be told.
  case heard(BeaconSighting)
  /// One whose owner does not let it be on maps, or hides it.
  case optedOut(Beacon)

  /// Seconds after which what was heard is of no use.
  static let longestAge = 60.0

  /// What a datagram has. What is damaged, of another family or of no use is left out.
  /// - Parameters:
  ///   - family: the number that the kernel has given to nl80211.
  ///   - now: on the time line of `CLOCK_BOOTTIME`.
  static func decode(_ datagram: [UInt8], family: UInt16, now: Timestamp) -> [ScanMessage] {
    NetlinkMessages(datagram).compactMap { message in
      switch Int32(message.type) {
      case NLMSG_ERROR: message.payload.number(Int32.self).map { .answer(code: $0 == .min ? .max : -$0) }
      case NLMSG_DONE:
        .end(code: message.payload.number(Int32.self).map { $0 == .min ? .max : max(0, -$0) } ?? 0)
      case Int32(family): decode(message.payload, now: now)
      default: nil
      }
    }
  }

  /// A message of nl80211: struct genlmsghdr, and attributes.
  private static func decode(_ payload: ArraySlice<UInt8>, now: Timestamp) -> ScanMessage? {
    guard payload.count >= 4, let command = payload.first.map({ UInt32($0) }) else { return nil }
    var interface: UInt32?
    for attribute in NetlinkAttributes(payload.dropFirst(4)) {
      switch attribute.type {
      case NL80211_ATTR_IFINDEX.rawValue: interface = attribute.value.number()
      case NL80211_ATTR_BSS.rawValue:
        return BeaconSighting(accessPoint: attribute.value, now: now).map { .heard($0) }
          ?? Beacon(optedOut: attribute.value).map { .optedOut($0) }
      default: continue
      }
    }
    guard let interface else { return nil }
    switch command {
    case NL80211_CMD_NEW_SCAN_RESULTS.rawValue: return .finished(interface: interface)
    case NL80211_CMD_SCAN_ABORTED.rawValue: return .aborted(interface: interface)
    default: return nil
    }
  }
}

extension BeaconSighting {
  /// An access point as nl80211 tells it (`enum nl80211_bss`); nil for one that may not be told or is too old, and for what is
  /// damaged.
  init?(accessPoint attributes: ArraySlice<UInt8>, now: Timestamp) {
    var beacon: Beacon?
    var signal: Double?
    var age: Double?
    var heardAt: UInt64?
    var occasions: [ArraySlice<UInt8>] = []
    for attribute in NetlinkAttributes(attributes) {
      let value = attribute.value
      switch attribute.type {
      case NL80211_BSS_BSSID.rawValue where value.count == 6:
        beacon = Beacon(accessPoint: value.reduce(0) { $0 << 8 | UInt64($1) })
      case NL80211_BSS_SIGNAL_MBM.rawValue: signal = value.number(Int32.self).map { Double($0) / 100 }
      case NL80211_BSS_SEEN_MS_AGO.rawValue: age = value.number(UInt32.self).map { Double($0) / 1000 }
      case NL80211_BSS_LAST_SEEN_BOOTTIME.rawValue: heardAt = value.number()
      case NL80211_BSS_INFORMATION_ELEMENTS.rawValue, NL80211_BSS_BEACON_IES.rawValue: occasions.append(value)
      default: continue
      }
    }
    guard let beacon, NetworkName.mayBeMapped(occasions) else { return nil }
    if let heardAt, heardAt > 0, heardAt <= Int64.max {
      age = now.seconds(since: Timestamp(nanoseconds: Int64(heardAt)))
    }
    let since = max(0, age ?? 0)
    guard since <= ScanMessage.longestAge else { return nil }
    self.init(
      beacon: beacon, signal: signal.flatMap { (-150...30).contains($0) ? $0 : nil }, age: since)
  }
}

extension Beacon {
  /// Of an access point as nl80211 tells it, the identity, where its network is hidden or is not to be on maps; else nil.
  init?(optedOut attributes: ArraySlice<UInt8>) {
    var beacon: Beacon?
    var occasions: [ArraySlice<UInt8>] = []
    for attribute in NetlinkAttributes(attributes) {
      let value = attribute.value
      switch attribute.type {
      case NL80211_BSS_BSSID.rawValue where value.count == 6:
        beacon = Beacon(accessPoint: value.reduce(0) { $0 << 8 | UInt64($1) })
      case NL80211_BSS_INFORMATION_ELEMENTS.rawValue, NL80211_BSS_BEACON_IES.rawValue: occasions.append(value)
      default: continue
      }
    }
    guard let beacon, NetworkName.isUnwanted(occasions) else { return nil }
    self = beacon
  }
}
