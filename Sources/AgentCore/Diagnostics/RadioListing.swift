internal import JSON
internal import Sensors
internal import SensorsRadio

/// The part of `odographd sensors` about radios: the wireless interfaces and, if radio.modem is set, the
/// modems. Nothing is scanned.
struct RadioListing {
  private let radio: AgentConfiguration.Radio

  init(_ radio: AgentConfiguration.Radio) {
    self.radio = radio
  }

  func lines() -> [String] { interfaces.map(describe) + modems() }

  /// The existing interfaces and the configured one.
  private var interfaces: [WirelessInterface] {
    let found = WirelessInterface.all()
    guard let wanted = radio.wifi, !found.contains(where: { $0.name == wanted }) else { return found }
    return found + [WirelessInterface(name: wanted, isUp: false)]
  }

  private func describe(_ interface: WirelessInterface) -> String {
    let title = Finding.title("wifi \(interface.name)")
    do throws(SourceError) {
      let known = try WirelessInterface.known(to: interface.name)
      let chosen = interface.name == radio.wifi ? "" : "; name it in radio.wifi to have it scanned"
      return "\(title) up, \(known) access points known\(chosen)"
    } catch {
      return "\(title) \(error.problem); \(error.remedy)"
    }
  }

  private func modems() -> [String] {
    guard radio.isModemAsked else { return [] }
    do throws(SourceError) {
      let modems = try Modem.all()
      guard !modems.isEmpty else { return [Finding.title("modem") + " ModemManager knows none"] }
      return modems.map {
        Finding.title("modem") + " \($0.name), \($0.isEnabled ? "on" : "off") (\($0.path))"
      }
    } catch {
      return [Finding.title("modem") + " \(error.problem); \(error.remedy)"]
    }
  }

  func write(to json: inout JSONWriter) {
    json.field("wifi", objects: interfaces) { json, interface in
      json.field("interface", interface.name)
      json.field("up", interface.isUp)
      json.field("blocked", interface.isBlocked)
      do throws(SourceError) {
        json.field("known", try WirelessInterface.known(to: interface.name))
      } catch { json.field("problem", "\(error)") }
    }
    guard radio.isModemAsked else { return }
    do throws(SourceError) {
      let modems = try Modem.all()
      json.field("modems", objects: modems) { json, modem in
        json.field("path", modem.path)
        json.field("name", modem.name)
        json.field("enabled", modem.isEnabled)
      }
    } catch { json.field("modems") { $0.field("problem", "\(error)") } }
  }
}
