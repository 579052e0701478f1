import Foundation
import Platform
import TestSupport
import Testing

@testable import SensorsRadio

/// Interfaces in /sys/class/net.
@Suite struct WirelessInterfaceTests {
  @Test func wirelessOnesAreListedWithTheirState() throws {
    let folder = try TemporaryDirectory()
    for path in [
      "eth0", "wlan1/phy80211/rfkill3", "wlan0/phy80211/rfkill2", "wlan0/phy80211/device", "p2p0/phy80211",
    ] {
      try FileManager.default.createDirectory(atPath: folder.file(path), withIntermediateDirectories: true)
    }
    try folder.write("eth0/flags", "0x1003\n")
    try folder.write("wlan0/flags", "0x1003\n")
    try folder.write("wlan1/flags", "0x1002\n")
    for (number, soft, hard) in [("wlan0/phy80211/rfkill2", 0, 0), ("wlan1/phy80211/rfkill3", 0, 1)] {
      try folder.write("\(number)/soft", "\(soft)\n")
      try folder.write("\(number)/hard", "\(hard)\n")
    }
    #expect(
      WirelessInterface.all(in: folder.path) == [
        WirelessInterface(name: "p2p0", isUp: false), WirelessInterface(name: "wlan0", isUp: true),
        WirelessInterface(name: "wlan1", isUp: false, isBlocked: true),
      ])
    #expect(WirelessInterface("eth0", in: folder.path) == nil)
    #expect(WirelessInterface.all(in: folder.file("nowhere")).isEmpty)
  }

  @Test func namesAreThoseOfInterfaces() {
    #expect(["wlan0", "wlp2s0.1", "a-b_c", "fifteen-bytes-0"].allSatisfy(NetworkInterfaces.isName))
    #expect(
      !["", ".", "..", "wlan/0", "wlan 0", "sixteen-bytes--0", "wlän0"].contains(
        where: NetworkInterfaces.isName))
  }

  /// Root has the capability unless a container dropped it. The result is the one that the kernel reports.
  @Test func thePermissionToScanIsThatOfTheProcess() throws {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("CapEff:") })
    let digits = try #require(line.split(separator: "\t").last)
    // CAP_NET_ADMIN is bit 12: the lowest of the fourth hexadecimal digit from the right.
    let digit = try #require(digits.dropLast(3).last?.hexDigitValue)
    #expect(WirelessInterface.mayScan == (digit % 2 == 1))
  }
}
