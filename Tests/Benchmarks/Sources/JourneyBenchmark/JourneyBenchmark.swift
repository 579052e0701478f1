import Foundation
import Navigation
import Positioning
import Sensors
import Spatial

/// Prints a CSV row for each: metres of the odometer on recorded drives, compared with sums over the positions of the same drive.
@main
struct JourneyBenchmark {
  private static let usage = """
    usage: journey-benchmark DATA [--gaps | --events | --manoeuvres | --ordinary HOURS | --wind DAYS | --trips DAYS]
    DATA is a folder with kingston-2008, gnss-imu-drive and tracks.
      --gaps  print, in place of the distances, the error of the most plausible distance across gaps that are cut into
              the true drives, and that of the straight line, in per cent of the distance
      --events        compare driving events, with ten random mountings, with those of the true motion and with those from
                      differences of the receiver's speeds and courses
      --manoeuvres    detect labelled manoeuvres of simulated drives, with the detector and with a plain rule with the same limits
      --ordinary      run the detector on hours of simulated ordinary driving on rough roads, where every event is false
      --wind          simulate a parked vehicle in days of wind, and tilted by 2° in it
      --trips         find trips of simulated days with tunnels, ferries, queues, restarts and dead batteries, and compare
                      them with those that a server finds in positions every 30 s
    """

  static func main() {
    var words = Array(CommandLine.arguments.dropFirst())
    let (isGaps, isEvents) = (words.contains("--gaps"), words.contains("--events"))
    let isManoeuvres = words.contains("--manoeuvres")
    words.removeAll { ["--gaps", "--events", "--manoeuvres"].contains($0) }
    let hours = number("--ordinary", of: &words)
    let days = number("--wind", of: &words)
    let tripDays = number("--trips", of: &words)
    guard let folder = words.first, words.count == 1, !folder.hasPrefix("-") else {
      FileHandle.standardError.write(Data((usage + "\n").utf8))
      exit(64)
    }
    do {
      if isManoeuvres { return Manoeuvres.print() }
      if let hours { return try OrdinaryDriving.print(hours: hours) }
      if let tripDays, tripDays < 1e6 { return TripDays.print(days: Int(tripDays)) }
      if let days { return WindyWeek.print(days: days) }
      let mountainView = try Drive(
        name: "Mountain View", log: folder + "/tracks/mtv_ublox_f9k_slim2025.nmea",
        truth: folder + "/tracks/mtv_span_truth.gga")
      let munich = try Drive(name: "Munich", log: folder + "/tracks/munich_2025.nmea")
      let kingston = try Drive(name: "kingston", folder: folder + "/kingston-2008", inertial: "imu.csv")
      let mems = try Drive(
        name: "kingston, MEMS", folder: folder + "/kingston-2008", inertial: "imu_mems.csv")
      let test = try Drive(name: "gnss-imu-drive", folder: folder + "/gnss-imu-drive", inertial: "imu.csv")
      guard !isGaps else { return Gaps.print([mountainView, kingston, test, munich]) }
      guard !isEvents else {
        EventScore.print([test, kingston, mems])
        return EventScore.printOthers([test, kingston, mems])
      }
      print(
        "drive,odometer of,truth_m,odometer_m,error_percent,estimated_m,positions_m,every_20_m,every_75_m")
      report(mountainView, "receiver", Play.receiver(mountainView.locations))
      report(kingston, "receiver", Play.receiver(kingston.locations))
      report(kingston, "navigation", Play.navigation(kingston))
      report(kingston, "navigation and OBD", Play.navigation(kingston, wheels: kingston.speeds))
      report(mems, "navigation", Play.navigation(mems))
      report(mems, "navigation and OBD", Play.navigation(mems, wheels: mems.speeds))
      let tunnels = kingston.withTunnels
      report(tunnels, "receiver, 40 s in 300 s without", Play.receiver(tunnels.locations))
      report(
        tunnels, "the same and OBD", Play.receiver(tunnels.locations, wheels: tunnels.speeds))
      report(tunnels, "the same and navigation", Play.navigation(tunnels))
      report(test, "receiver", Play.receiver(test.locations))
      report(test, "navigation", Play.navigation(test))
      for drive in [mountainView, kingston, test, munich.withoutJump] {
        report(drive, "positions without speed", Play.receiver(drive.locations.map(\.withoutSpeed)))
      }
      report(munich, "receiver", Play.receiver(munich.locations))
      report(munich.withoutJump, "receiver, the jump taken out", Play.receiver(munich.withoutJump.locations))
      for drive in [mountainView, kingston] {
        let hours = (drive.fixes.last?.timestamp).flatMap { last in
          drive.fixes.first.map { last.seconds(since: $0.timestamp) / 3600 }
        }
        let line =
          "\(drive.name): \(Play.writings(drive.locations)) disk writes in \(hours ?? 0) h\n"
        FileHandle.standardError.write(Data(line.utf8))
      }
      for drive in [kingston, mountainView] {
        let standing = Array(drive.locations.prefix { $0.speed ?? 0 < 0.2 }.dropLast(5))
        for seed: UInt64 in 1...3 {
          let day = Parked.day(of: standing, seed: seed)
          report(
            Drive(name: "a day parked, \(drive.name) \(standing.count) s, \(seed)", parked: day), "receiver",
            Play.receiver(day))
        }
      }
    } catch {
      FileHandle.standardError.write(Data("journey-benchmark: \(error)\n".utf8))
      exit(66)
    }
  }

  /// Removes an option and its number from the arguments. Returns the number.
  private static func number(_ option: String, of words: inout [String]) -> Double? {
    guard let index = words.firstIndex(of: option), index + 1 < words.count,
      let value = Double(words[index + 1]),
      value > 0
    else { return nil }
    words.removeSubrange(index...index + 1)
    return value
  }

  private static func report(_ drive: Drive, _ source: String, _ odometer: Odometer) {
    let places = drive.fixes.compactMap(\.coordinate)
    let truth = drive.trueDistance
    func text(_ value: Double?, _ format: String = "%.1f") -> String {
      value.map { String(format: format, $0) } ?? ""
    }
    let error = truth.flatMap { $0 > 0 ? 100 * (odometer.distance / $0 - 1) : nil }
    print(
      [
        "\"\(drive.name)\"", "\"\(source)\"", text(truth), text(odometer.distance), text(error, "%+.3f"),
        text(odometer.estimated), text(places.way), text(places.way(every: 20)), text(places.way(every: 75)),
      ].joined(separator: ","))
  }
}
