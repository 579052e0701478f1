import AgentCore
import Pipeline
import Positioning
import Sensors
import Spatial
import Telemetry
import Testing

/// Time of publication of collected scans.
@Suite struct ScanBatchTests {
  private func scan(accuracy: Double = 5, beacons: Int = 3) -> LearnableScan {
    LearnableScan(
      scan: RadioScan(
        timestamp: Timestamp(seconds: 0),
        sightings: (0..<beacons).compactMap { Beacon(accessPoint: UInt64($0 + 1)) }.map {
          BeaconSighting(beacon: $0, signal: -60)
        }),
      coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48, longitude: 11)), accuracy: accuracy,
      time: UTCTime(nanoseconds: 1_795_248_930_000_000_000))
  }

  @Test func eightScansMakeAMessageAndOthersWaitHalfAnHour() {
    var batch = ScanBatch()
    #expect(
      batch.due(at: Timestamp(seconds: 0), isShown: { _ in true }) == nil
        && batch.drain(isShown: { _ in true }) == nil)
    for number in 0..<8 {
      #expect(batch.due(at: Timestamp(seconds: Double(number)), isShown: { _ in true }) == nil)
      batch.append(scan(), at: Timestamp(seconds: Double(number)))
    }
    #expect(batch.due(at: Timestamp(seconds: 8), isShown: { _ in true })?.scans.count == 8)
    batch.append(scan(), at: Timestamp(seconds: 10))
    #expect(batch.due(at: Timestamp(seconds: 1809), isShown: { _ in true }) == nil)
    #expect(batch.due(at: Timestamp(seconds: 1810), isShown: { _ in true })?.scans.count == 1)
    batch.append(scan(), at: Timestamp(seconds: 2000))
    #expect(
      batch.drain(isShown: { _ in true })?.scans.count == 1 && batch.drain(isShown: { _ in true }) == nil)
  }

  @Test func unpublishableScansAreOmitted() {
    var batch = ScanBatch()
    batch.append(scan(accuracy: 40), at: Timestamp(seconds: 0))
    batch.append(scan(beacons: 0), at: Timestamp(seconds: 0))
    #expect(batch.drain(isShown: { _ in true }) == nil)
  }

  /// The kernel's list of access points can be 30 s old, and the vehicle has moved since. Old sightings are omitted.
  @Test func scansFromElsewhereAreOmitted() {
    var (batch, heard) = (ScanBatch(), scan(beacons: 6))
    for index in 0..<6 { heard.scan.sightings[index].age = [0, 4.9, 5.1, 30, 5, 60][index] }
    batch.append(heard, at: Timestamp(seconds: 0))
    #expect(batch.drain(isShown: { _ in true })?.scans.first?.sightings.count == 3)
  }

  /// A privacy zone can be added while scans wait.
  @Test func scansOfPositionsThatBecamePrivateAreDropped() {
    var batch = ScanBatch()
    batch.append(scan(), at: Timestamp(seconds: 0))
    #expect(batch.drain(isShown: { $0.latitude > 49 }) == nil)
    #expect(batch.drain(isShown: { _ in true }) == nil)
  }
}
