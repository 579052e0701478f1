import Foundation
import TestSupport
import Testing

/// Scans through the kernel's nl80211 in the rig's guest: virtual radios on one medium, with access points by hostapd.
extension SensorRigTests {
  /// Permitted access points are reported with signal strength, and again after the interval. Without a capability, results of other
  /// programs' scans are used. Problems are reported once with a remedy.
  @Test(.timeLimit(.minutes(8))) func accessPointsFromKernelScans() async throws {
    let rig = try RadioGuest.rig()
    let down = try rig.run("RadioChild wifi:wlan5 600 1").output
    #expect(down == ["unavailable wlan5: is down; bring it up: ip link set wlan5 up", "end"], "\(down)")
    try rig.run("ip link set wlan5 up")

    let heard = try rig.run("RadioChild wifi:wlan5 12 22").output
    let scans = heard.filter { $0.hasPrefix("scan of ") }
    #expect((2...3).contains(scans.count) && scans.allSatisfy { $0.hasPrefix("scan of 2 in ") }, "\(heard)")
    #expect(heard.first == "active" && !heard.contains { $0.contains("unavailable") }, "\(heard)")
    let seconds = try #require(scans.first?.split(separator: " ").dropLast().last.flatMap { Double($0) })
    #expect((0.5...20).contains(seconds), "\(scans)")
    let sightings = heard.filter { $0.hasPrefix("heard ") }.map { $0.split(separator: " ") }
    #expect(Set(sightings.map { $0[1] }) == ["163e000000", "163e000003"], "\(heard)")
    for sighting in sightings {
      let (signal, age) = (Double(sighting[2]) ?? 0, Double(sighting[4]) ?? -1)
      #expect((-100 ... -10).contains(signal) && (0...20).contains(age), "\(sighting)")
    }

    // Scans are passive: no probe requests were sent. An active scan is received as a probe, once a running scan has ended.
    #expect(try rig.run("wifi-ctl probes wlan0").output == ["0"])
    try rig.run("for _ in $(seq 20); do iw dev wlan5 scan >/dev/null && break; sleep 1; done")
    let probes = try rig.run("wifi-ctl probes wlan0").output
    #expect((probes.first.flatMap { Int($0) } ?? 0) > 0, "\(probes)")

    let listing = try rig.run(
      "odographd sensors --set vehicle.id=v --set gpsd.enabled=false --set iio.enabled=false"
    ).output
    #expect(
      listing.contains { $0.hasPrefix("wifi wlan5: up, 2 access points known; name it in radio.wifi") },
      "\(listing)")

    // Results of other programs' scans without a capability; the remedy is printed once.
    let settings =
      "--set vehicle.id=v --set gpsd.enabled=false --set iio.enabled=false --set radio.wifi=wlan5"
    let user = RadioGuest.user()
    let forbidden = try rig.run("RadioChild wifi:wlan5 600 1 >/dev/null; \(user) RadioChild wifi:wlan5 5 8")
      .output
    #expect(
      forbidden.count {
        $0.contains(
          "no permission to scan; uses the results of other programs' scans; give the unit CAP_NET_ADMIN")
      } == 1)
    #expect(forbidden.contains("scan of 2 in 0.0 s"), "\(forbidden)")
    let check = try rig.run("\(user) odographd check \(settings)").output
    #expect(
      check.contains {
        $0.contains("warning  wifi wlan5: ") && $0.contains("CAP_NET_ADMIN") && $0.contains("radio.conf")
      }, "\(check)")
    let asRoot = try rig.run("odographd check \(settings)").output
    #expect(
      asRoot.contains { $0.hasPrefix("ok       wifi wlan5: ") && $0.hasSuffix(" access points known") },
      "\(asRoot)")

    try rig.run("wifi-ctl block wlan5")
    let blocked = try rig.run("RadioChild wifi:wlan5 600 1").output
    #expect(
      blocked.first == "unavailable wlan5: is disabled by rfkill; switch it on: rfkill unblock wifi",
      "\(blocked)")
    try rig.run("wifi-ctl unblock wlan5; ip link set wlan5 up")

    // The radio is removed during a scan interval.
    let gone = try rig.run("(sleep 8; wifi-ctl stop) & RadioChild wifi:wlan5 5 20").output
    #expect(
      gone.filter { $0.contains("unavailable") } == [
        "unavailable wlan5: no such interface; plug the radio in or load its driver, or name another in radio.wifi "
          + "(odographd sensors lists them)"
      ], "\(gone)")
    #expect(gone.contains { $0.hasPrefix("scan of 2 ") }, "\(gone)")
  }
}
