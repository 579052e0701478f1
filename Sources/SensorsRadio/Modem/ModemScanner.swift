internal import Platform
internal import Sensors
internal import Spatial

/// A scanner that queries ModemManager for the cells around.
struct ModemScanner: Sendable {
  /// The address of the bus; nil for the system bus.
  var address: String?

  private static let service = "org.freedesktop.ModemManager1"
  private static let modem = service + ".Modem"
  private static let location = modem + ".Location"
  private static let objects = DBusConnection.Method(
    service: service, path: "/org/freedesktop/ModemManager1",
    interface: "org.freedesktop.DBus.ObjectManager", name: "GetManagedObjects")
  /// The time limits in s for calls that ModemManager answers itself, and for those that the modem answers.
  private static let (ownTime, modemTime) = (10.0, 30.0)

  /// Scans the cells; nil if the scan was abandoned before the modem was queried. A scan that is abandoned
  /// later is incomplete.
  /// - Throws: `SourceError` with the remedy.
  func scan(_ wait: ScanWait) throws(SourceError) -> ScanResult? {
    let answer: Cells?
    var isAsked = false
    do throws(DBusConnection.Failure) {
      let bus = try DBusConnection(address: address)
      let modems = Modem.all(in: try bus.call(Self.objects, seconds: Self.ownTime, wait))
      let modem = modems.first(where: \.isEnabled) ?? modems.first
      isAsked = modem != nil
      answer = if let modem { try Self.cells(of: modem, bus, wait) } else { nil }
    } catch {
      guard error == .abandoned else { throw Self.explanation(error) }
      let timestamp = Timestamp.now
      return isAsked
        ? ScanResult(scan: RadioScan(timestamp: timestamp, sightings: [], kind: .cellular, isComplete: false))
        : nil
    }
    guard let answer else {
      throw SourceError(
        place: "modem", problem: "ModemManager knows no modem",
        remedy: "plug one in, and see it with mmcli -L; or set radio.modem = false")
    }
    let scan = RadioScan(
      timestamp: .now, sightings: answer.sightings, kind: .cellular)
    return ScanResult(scan: scan, advice: answer.isServingCellAlone ? Self.neighboursForbidden : nil)
  }

  /// Returns all modems.
  ///
  /// - Throws: `SourceError` with the remedy.
  func modems(_ wait: ScanWait) throws(SourceError) -> [Modem] {
    do throws(DBusConnection.Failure) {
      let bus = try DBusConnection(address: address)
      return Modem.all(in: try bus.call(Self.objects, seconds: Self.ownTime, wait))
    } catch { throw Self.explanation(error) }
  }

  private struct Cells {
    var sightings: [BeaconSighting] = []
    /// True if permission for the neighbour cells is missing.
    var isServingCellAlone = false
  }

  /// Returns serving cell and neighbours; only the serving cell if modem or policy do not allow more.
  private static func cells(
    of modem: Modem, _ bus: borrowing DBusConnection, _ wait: ScanWait
  ) throws(DBusConnection.Failure) -> Cells {
    var cells = Cells()
    do throws(DBusConnection.Failure) {
      let answer = try bus.call(method("GetCellInfo", modem, self.modem), seconds: modemTime, wait)
      cells.sightings = CellDecoder.sightings(answer, unit: modem.timingAdvance)
    } catch {
      // ModemManager before 1.20 lacks this method, many modems do not answer it, and its policy may deny it.
      guard case .refused = error, !error.isAbsent else { throw error }
      cells.isServingCellAlone = error.isForbidden
    }
    guard !cells.sightings.contains(where: \.isServing), modem.canLocate else { return cells }
    do throws(DBusConnection.Failure) {
      guard let serving = try servingCell(of: modem, bus, wait) else { return cells }
      cells.sightings.removeAll { $0.beacon == serving.beacon }
      cells.sightings.append(serving)
    } catch {
      guard case .refused = error, !cells.sightings.isEmpty else { throw error }
    }
    return cells
  }

  private static func servingCell(
    of modem: Modem, _ bus: borrowing DBusConnection, _ wait: ScanWait
  ) throws(DBusConnection.Failure) -> BeaconSighting? {
    if modem.locationSources & Modem.LocationSource.cell == 0 {
      let sources = UInt32(truncatingIfNeeded: modem.locationSources | Modem.LocationSource.cell)
      _ = try bus.call(
        method("Setup", modem, location), [.unsigned(sources), .flag(modem.signalsLocation)],
        seconds: modemTime, wait)
    }
    let answer = try bus.call(method("GetLocation", modem, location), seconds: modemTime, wait)
    return CellDecoder.servingCell(answer, technology: modem.technology)
  }

  private static func method(_ name: String, _ modem: Modem, _ interface: String) -> DBusConnection.Method {
    DBusConnection.Method(service: service, path: modem.path, interface: interface, name: name)
  }
}

extension ModemScanner {
  static let neighboursForbidden = SourceError(
    place: "modem", problem: "ModemManager permits this user to query the serving cell only",
    remedy: "to query neighbour cells, permit control of the modem: "
      + "install -D -m 644 /usr/share/odographd/cells.rules /etc/polkit-1/rules.d/61-odographd.rules; "
      + "install -D -m 644 /usr/share/odographd/cells.conf /etc/dbus-1/system.d/odographd.conf; "
      + "systemctl reload dbus")

  static func explanation(_ failure: DBusConnection.Failure) -> SourceError {
    let (problem, remedy): (String, String) =
      switch failure {
      case .refused where failure.isAbsent:
        (
          "ModemManager does not run",
          "apt-get install modemmanager, and systemctl start ModemManager; or set radio.modem = false"
        )
      case .refused where failure.isForbidden:
        (
          "ModemManager does not permit this user to query cells",
          "permit it: install -D -m 644 /usr/share/odographd/modem.rules /etc/polkit-1/rules.d/60-odographd.rules"
        )
      case .refused(let name, let message):
        (
          "the modem does not report its cell: \(message.isEmpty ? name : message)",
          "see mmcli -m any, and switch it on: mmcli -m any -e"
        )
      case .silent: ("ModemManager does not answer", "systemctl restart ModemManager")
      case .abandoned: ("the query was not completed", "ask again")
      case .broken(let code):
        (
          "cannot communicate with the system's D-Bus: \(SystemError.message(for: code))",
          "start it (systemctl start dbus), or set radio.modem = false"
        )
      }
    return SourceError(place: "modem", problem: problem, remedy: remedy)
  }
}
