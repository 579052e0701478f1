import Foundation

// navigation-benchmark DATA [--speed] [--smooth] [--mount random:SEED] [--offset MS] [--bias DEGREES] [--rate HZ]
//   [--each] [--faults SEEDS] [--attitude SEEDS] [--tilt] [--rates]
//   [--positions-only] [--receivers FIRST-LAST]

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  exit(2)
}

let usage = """
  usage: navigation-benchmark DATA [--speed] [--smooth] [--mount random:SEED] [--offset MS] [--bias DEGREES]
         [--rate HZ] [--each] [--faults SEEDS] [--attitude SEEDS] [--tilt] [--rates] [--positions-only]
         [--receivers FIRST-LAST]
  DATA is a folder with imu.csv and gnss.csv, and optionally truth.csv and speed.csv, or a folder of such folders.
    t,ax,ay,az,gx,gy,gz                                 imu*.csv: s, m/s², rad/s; each file is a separate drive
    t,lat,lon,height,fix,sats,sdn,sde,sdu,vn,ve,vu      gnss.csv: degrees, m, m/s
    t,lat,lon,height,vn,ve,vu,roll,pitch,azimuth        truth.csv; without it the receiver is the truth
    t,speed                                             speed.csv: m/s
  --speed   use speed.csv; drives without it are skipped
  --smooth  also print the corrected tracks through the outages
  --mount   rotate the device randomly
  --offset  delay the timestamps of inertial samples by this number of milliseconds
  --bias    add °/s to every axis of the gyroscope
  --rate    average inertial samples down to this rate
  --each    print every outage
  --faults    print the errors after 60 s with a random mounting, 250 ms late or early, 1 °/s of bias and 50 Hz together,
              and the duration of false stops while driving, in place of the table of outages
  --attitude  print errors of tilt and heading, and of the mounting after five minutes of driving from this number of random
              mountings, in place of the table of outages
  --tilt      print the tilt while driving from navigation, from the attitude filter with and without its acceleration, and from VQF,
              in place of the table of outages
  --rates     print the errors of outages at lower rates, averaged and picked, in place of the table of outages
  --receivers   print the time with a wrong position for receivers with faults, on these drives and on simulated ones with a range
              of seeds, in place of the table of outages
  --positions-only  with --rates: omit the receiver's speed, course and climb
  """

var folder: String?
var usesSpeed = false
var smooth = false
var each = false
var tilt = false
var (rates, hasVelocity) = (false, true)
var seed: UInt64?
var receivers: ClosedRange<UInt64>?
var (faults, attitudes) = (Int?.none, Int?.none)
var (offset, bias, rate) = (0.0, 0.0, Double.infinity)
var arguments = CommandLine.arguments.dropFirst()
func number(_ argument: String, _ text: String?) -> Double {
  guard let value = text.flatMap(Double.init), value.isFinite else {
    fail("\(argument) requires a number\n\(usage)")
  }
  return value
}
func count(_ argument: String, _ text: String?) -> Int {
  guard let value = text.flatMap(Int.init), value > 0, value <= 1000 else {
    fail("\(argument) requires a number of seeds, 1 to 1000\n\(usage)")
  }
  return value
}
while let argument = arguments.popFirst() {
  switch argument {
  case "--help", "-h":
    print(usage)
    exit(0)
  case "--speed": usesSpeed = true
  case "--smooth": smooth = true
  case "--each": each = true
  case "--tilt": tilt = true
  case "--rates": rates = true
  case "--positions-only": hasVelocity = false
  case "--mount":
    guard let text = arguments.popFirst(), text.hasPrefix("random:"), let value = UInt64(text.dropFirst(7))
    else {
      fail("--mount requires random:SEED\n\(usage)")
    }
    seed = value
  case "--offset": offset = number(argument, arguments.popFirst()) / 1000
  case "--bias": bias = number(argument, arguments.popFirst()) * .pi / 180
  case "--faults": faults = count(argument, arguments.popFirst())
  case "--attitude": attitudes = count(argument, arguments.popFirst())
  case "--receivers":
    let bounds = (arguments.popFirst() ?? "").split(separator: "-").compactMap { UInt64($0) }
    guard bounds.count == 2, bounds[0] <= bounds[1], bounds[1] - bounds[0] < 1000 else {
      fail("--receivers requires a range of seeds, such as 1-10\n\(usage)")
    }
    receivers = bounds[0]...bounds[1]
  case "--rate": rate = number(argument, arguments.popFirst())
  default:
    guard folder == nil, !argument.hasPrefix("-") else { fail(usage) }
    folder = argument
  }
}
guard let folder, rate > 0 else { fail(usage) }

do {
  let recordings = try Recording.all(in: folder)
  guard !recordings.isEmpty || receivers != nil else {
    fail("no drives in \(folder): a drive is a folder with imu.csv and gnss.csv")
  }
  if faults != nil || attitudes != nil || tilt || rates || receivers != nil {
    let chosen = recordings.filter { !usesSpeed || !$0.speeds.isEmpty }
    if let faults { Faults.print(chosen, seeds: faults, usesSpeed: usesSpeed) }
    if let attitudes { Accuracy.print(chosen, seeds: attitudes, usesSpeed: usesSpeed) }
    if rates { Rates.print(chosen, usesSpeed: usesSpeed, hasVelocity: hasVelocity) }
    if let receivers { try Receivers.print(chosen, simulated: receivers, usesSpeed: usesSpeed) }
    if tilt { try Tilt.print(chosen, usesSpeed: usesSpeed) }
    exit(0)
  }
  print(Outages.header)
  var smoothed: [String] = []
  var single: [String] = []
  for original in recordings where !usesSpeed || !original.speeds.isEmpty {
    var recording = original
    if rate.isFinite { recording.decimate(to: rate) }
    if let seed { recording.mount(seed: seed) }
    if offset != 0 { recording.shift(seconds: offset) }
    if bias != 0 { recording.addBias(bias) }
    let outages = Outages(recording, usesSpeed: usesSpeed, smooth: smooth)
    let name = recording.name + (usesSpeed ? "+speed" : "")
    for line in outages.lines(name: name) { print(line) }
    if each { single += outages.eachLines(name: name) }
    smoothed += outages.smoothedLines(name: name)
    let note =
      outages.alignment.map {
        String(format: "%@: aligned after %.1f s, %.0f ns per sample\n", name, $0, outages.nanoseconds)
      } ?? "\(name): not aligned\n"
    FileHandle.standardError.write(Data(note.utf8))
  }
  if smooth {
    print(Outages.smoothedHeader)
    for line in smoothed { print(line) }
  }
  if each {
    print(Outages.eachHeader)
    for line in single { print(line) }
  }
} catch {
  fail("\(error)")
}
