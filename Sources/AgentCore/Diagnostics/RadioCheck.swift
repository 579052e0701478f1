internal import Bytes
internal import Glibc
internal import Platform
internal import Sensors
internal import SensorsRadio

/// The part of `odographd check` about radios: whether the configured ones exist and may be used. Nothing is
/// scanned.
package struct RadioCheck {
  /// Paths of the package's systemd unit and its drop-ins.
  package static let unit = "/lib/systemd/system/odographd.service"
  package static let dropIns = "/etc/systemd/system/odographd.service.d"

  private let radio: AgentConfiguration.Radio

  package init(_ radio: AgentConfiguration.Radio) {
    self.radio = radio
  }

  package func findings() -> [Finding] { (radio.wifi.map(wifi) ?? []) + (radio.isModemAsked ? modem() : []) }

  private func wifi(_ interface: String) -> [Finding] {
    let subject = "wifi \(interface)"
    do throws(SourceError) {
      let known = "\(try WirelessInterface.known(to: interface)) access points known"
      guard WirelessInterface.mayScan else {
        return [
          Finding(
            .warning, subject, "\(known), and this user has no permission to scan (CAP_NET_ADMIN)",
            remedy: "run the agent by its unit with the drop-in \(Self.remedy)")
        ]
      }
      guard !Self.isUnitWithoutRight() else {
        return [
          Finding(
            .warning, subject, "\(known), and the unit has no permission to scan (CAP_NET_ADMIN)",
            remedy: "add the drop-in \(Self.remedy)")
        ]
      }
      return [Finding(.ok, subject, known)]
    } catch {
      return [
        Finding(.problem, subject, error.problem, remedy: "\(error.remedy); or leave radio.wifi out")
      ]
    }
  }

  private static let remedy = "/usr/share/odographd/radio.conf in \(dropIns), then systemctl daemon-reload"

  /// Returns whether the package's unit is installed without the permission to scan.
  package static func isUnitWithoutRight(unit: String = unit, dropIns: String = dropIns) -> Bool {
    guard access(unit, F_OK) == 0 else { return false }
    let files = SmallFiles.names(in: dropIns).filter { $0.hasSuffix(".conf") }.map { "\(dropIns)/\($0)" }
    return !([unit] + files).contains { path in
      guard let bytes = try? AtomicFile.contents(of: path, limit: 65_536) else { return false }
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n").contains {
        $0.hasPrefix("AmbientCapabilities=") && $0.contains(text: "CAP_NET_ADMIN")
      }
    }
  }

  private func modem() -> [Finding] {
    do throws(SourceError) {
      let probe = try CellProbe.run()
      guard probe.hasServingCell else {
        return [
          Finding(
            .warning, "modem", "no cell serves it",
            remedy: "see mmcli -m any: is there a SIM, and is it registered?")
        ]
      }
      let others = "\(probe.count - 1) around it with an identity"
      guard let advice = probe.advice else {
        return [Finding(.ok, "modem", "the cell that serves it, \(others)")]
      }
      return [Finding(.warning, "modem", advice.problem, remedy: advice.remedy)]
    } catch {
      return [Finding(.problem, "modem", error.problem, remedy: error.remedy)]
    }
  }
}
