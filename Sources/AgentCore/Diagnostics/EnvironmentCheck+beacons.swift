extension AgentConfiguration.Beacons {
  /// Reports which beacon data leaves the vehicle: none by default.
  /// - Parameter hasRadio: true if a radio is configured.
  package func findings(hasRadio: Bool) -> [Finding] {
    guard hasRadio else {
      return shares || receives
        ? [
          Finding(
            .warning, "beacons", "no radio is configured: beacons.share and beacons.receive have no effect",
            remedy: "name a wireless interface in radio.wifi, or set radio.modem")
        ] : []
    }
    guard shares || receives else {
      return learns
        ? [Finding(.ok, "beacons", "learned; no addresses and cell numbers leave the vehicle")] : []
    }
    var leaving: [String] = []
    if shares {
      leaving.append(
        "scan (beacons.share): time, position and accuracy of accurate fixes with the addresses, cell numbers and signals received there, outside of privacy zones"
      )
    }
    if receives {
      leaving.append(
        "beacons/wanted (beacons.receive), retained: the cells of about 20 by 30 km within 10 km of the published location, and the versions of their map"
      )
    }
    return [Finding(.ok, "beacons", "leaves the vehicle: " + leaving.joined(separator: "; "))]
  }
}
