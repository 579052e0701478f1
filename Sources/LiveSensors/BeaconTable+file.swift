public import Positioning
public import Recordings
internal import Sensors

extension BeaconTable {
  /// Reads the beacon map from a file that `odograph beacons build` has written.
  /// - Throws: `RecordingError` with the invalid line.
  public init(path: String) throws(RecordingError) {
    var lines = try LineReader(path: path)
    let header = try lines.next().map { String(decoding: $0, as: UTF8.self) }
    guard header == MappedBeacon.columns || header == MappedBeacon.columns + ",source" else {
      throw RecordingError(
        file: path, line: 1, problem: "the header is not \"\(MappedBeacon.columns),source\"",
        remedy: "use a file of odograph beacons build")
    }
    var beacons: [MappedBeacon] = []
    while let line = try lines.next() {
      guard !line.isEmpty else { continue }
      let fields = String(decoding: line, as: UTF8.self).split(
        separator: ",", omittingEmptySubsequences: false)
      guard let beacon = MappedBeacon(fields: fields) else {
        throw RecordingError(
          file: path, line: lines.lineNumber, problem: "\"\(excerpt(line))\" is not a beacon",
          remedy: "build the map again")
      }
      beacons.append(beacon)
    }
    self.init(beacons)
  }
}
