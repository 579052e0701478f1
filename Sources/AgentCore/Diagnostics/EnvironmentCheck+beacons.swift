extension AgentConfiguration.Beacons {
  /// Reports which beacon data leaves the vehicle: none by default.
  /// - Parameter hasRadio: true if a radio is configured.
  func findings(hasRadio: Bool) -> [Finding] {
    guard hasRadio else {
      return shares || receives
        ? [
          Finding(
            .warning, "beacons", "no radio hears any: beacons.share and beacons.receive do nothing",
            remedy: "name one in radio.wifi, or set radio.modem")
        ] : []
    }
    guard shares || receives else {
      return learns
        ? [Finding(.ok, "beacons", "learned; no address and no cell number of them leaves the vehicle")] : []
    }
    var leaving: [String] = []
    if shares {
      leaving.append(
        "scan (beacons.share): time, place and accuracy of good fixes with the addresses, cell numbers and signals heard there, outside of privacy zones"
      )
    }
    if receives {
      leaving.append(
        "beacons/wanted (beacons.receive), which the broker keeps: the cells of some 20 by 30 km within 10 km of the location that may be told, and what is here of their map"
      )
    }
    return [Finding(.ok, "beacons", "leaves the vehicle: " + leaving.joined(separator: "; "))]
  }
}
