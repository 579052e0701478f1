import AgentCore
import JSON
import Positioning
import Spatial
import Telemetry
import Testing

@Suite struct RemoteRegionsTests {
  private func document(_ features: String) -> [UInt8] {
    Array(#"{"type":"FeatureCollection","features":[\#(features)]}"#.utf8)
  }

  private func circle(_ id: String, radius: Int, more: String = "") -> String {
    #"{"type":"Feature","id":"\#(id)","properties":{"radius":\#(radius)\#(more)},"#
      + #""geometry":{"type":"Point","coordinates":[11,48]}}"#
  }

  private func time(_ seconds: Double) -> UTCTime { UTCTime(secondsSince1970: seconds) }

  /// The time of a region is that of its last change. Unchanged regions keep their time, even after a restart.
  @Test func regionKeepsItsTimeUntilChanged() throws {
    let first = try RemoteRegions(
      parsing: document("\(circle("a", radius: 50)),\(circle("b", radius: 50))"), at: time(1000))
    #expect(first.collection.regions.map(\.definedAt) == [time(1000), time(1000)])
    let kept = try RemoteRegions(parsing: RemoteRegions.document(first.features))
    #expect(kept.collection == first.collection)
    let second = try RemoteRegions(
      parsing: document(
        "\(circle("b", radius: 60)),\(circle("a", radius: 50)),\(circle("c", radius: 5, more: ",\"tst\":7"))"),
      before: kept.features, at: time(2000))
    #expect(second.collection.regions.map(\.definedAt) == [time(2000), time(1000), time(7)])
  }

  @Test func invalidFeatureIsNamed() throws {
    let regions = try RemoteRegions(
      parsing: document(#"7,\#(circle("a", radius: 50)),{"type":"Feature","id":"x","properties":null}"#),
      at: time(1000))
    #expect(regions.collection.problems.map(\.index) == [0, 2])
    #expect(throws: JSONError.self) { try RemoteRegions(parsing: Array("[]".utf8), at: time(1000)) }
    #expect(throws: JSONError.self) { try RemoteRegions(parsing: Array("{}".utf8), at: time(1000)) }
    #expect(try RemoteRegions(parsing: [], at: time(1000)).collection.regions.isEmpty)
  }
}
