internal import Spatial

extension MappedBeacon {
  /// The columns of a map file. Files written by `odograph beacons build` have the additional last column
  /// `source`.
  package static let columns = "beacon,latitude,longitude,reach,sightings,vehicles,last_seen"

  /// Parses the fields of a line of a map file. Nil for values out of range.
  package init?(fields: [Substring]) {
    guard (7...8).contains(fields.count), let beacon = Beacon(text: fields[0]),
      let latitude = Double(fields[1]), let longitude = Double(fields[2]), let reach = Double(fields[3]),
      let sightings = Int(fields[4]), let day = Int(fields[6])
    else { return nil }
    self.init(
      beacon: beacon, coordinate: Coordinate(latitude: latitude, longitude: longitude), reach: reach,
      sightings: sightings, lastSeen: day)
    guard isSound else { return nil }
  }
}
