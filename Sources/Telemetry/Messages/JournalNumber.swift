internal import JSON
internal import Spatial

/// Identifies a trip or driving event of a vehicle, regardless of the order and number of its messages.
public struct JournalNumber: Hashable, Sendable {
  /// Random identifier of the file that contains the counters, 16 hexadecimal digits. A new file of counters
  /// starts a new series.
  public var series: String
  /// Number of the trip or event, from 1. Trips and events are counted separately.
  public var number: Int64

  public init(series: String, number: Int64) {
    self.series = series
    self.number = number
  }

  func write(to json: inout JSONWriter) {
    json.field("series", series)
    json.field("number", number)
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  init(json: JSONValue) throws(JSONError) {
    guard let series = json["series"]?.string, series.utf8.count == 16,
      series.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
    else { throw JSONError("key \"series\": missing or not 16 hexadecimal digits") }
    guard let number = json["number"]?.integer, number > 0 else {
      throw JSONError("key \"number\": missing or not a positive whole number")
    }
    self.init(series: series, number: number)
  }
}

extension Coordinate {
  /// Reads the number of a trip or event; nil if the message contains no such number.
  /// - Throws: `JSONError` naming the key that is out of range.
  init?(optional json: JSONValue) throws(JSONError) {
    guard json["latitude"] != nil || json["longitude"] != nil else { return nil }
    self.init(
      latitude: try json.required("latitude", in: -90...90),
      longitude: try json.required("longitude", in: -180...180))
  }
}
