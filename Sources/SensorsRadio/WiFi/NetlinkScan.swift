internal import CNetlink
internal import Sensors
internal import Spatial

/// A netlink message of nl80211 about scans.
enum NetlinkScan: Hashable, Sendable {
  /// The reply to a request: 0, or an `errno` value if it was rejected.
  case answer(code: Int32)
  /// The end of a dump, with an `errno` value if it failed.
  case end(code: Int32)
  /// The end of a scan on an interface, by this or another program.
  case finished(interface: UInt32)
  case aborted(interface: UInt32)
  /// An access point that may be mapped.
  case heard(BeaconSighting)
  /// An access point whose owner opted out of mapping or hides its name.
  case optedOut(Beacon)

  /// The maximum age of a sighting in s.
  static let longestAge = 60.0

  /// Decodes a datagram. Skips messages that are damaged, of another family or not relevant.
  /// - Parameters:
  ///   - family: the number that the kernel assigned to nl80211.
  ///   - now: the current time of `CLOCK_BOOTTIME`.
  static func decode(_ datagram: [UInt8], family: UInt16, now: Timestamp) -> [NetlinkScan] {
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

  /// Decodes an nl80211 message: struct genlmsghdr and attributes.
  private static func decode(_ payload: ArraySlice<UInt8>, now: Timestamp) -> NetlinkScan? {
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
  /// Decodes an access point (`enum nl80211_bss`); nil if it must not be mapped, is too old or is damaged.
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
    guard since <= NetlinkScan.longestAge else { return nil }
    self.init(
      beacon: beacon, signal: signal.flatMap { (-150...30).contains($0) ? $0 : nil }, age: since)
  }
}

extension Beacon {
  /// Decodes the identity of an access point with a hidden or opted-out network; nil for others.
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
