import Positioning
import Sensors
import Spatial
import Testing

@Suite struct EnergyLedgerTests {
  private static let on = SensorDemand.rate(hertz: 1, latency: .seconds(1))
  private static let figures = EnergyFigures(
    power: [.receiver: 0.07, .gyroscope: 0.002, .processor: 0.3, .radio: 1], wakeup: 0.001, burst: 0.5,
    byte: 0.00001, sensorLinger: 3)

  private func time(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }

  @Test func ledgerSumsActiveParts() {
    var meter = OnTimeMeter()
    #expect(meter.total(at: time(5)) == 0)
    meter.set(false, at: time(5))
    meter.set(true, at: time(10))
    meter.set(true, at: time(11))
    #expect(meter.total(at: time(12)) == 2 && meter.starts == 1)
    meter.set(false, at: time(14))
    #expect(meter.total(at: time(100)) == 4)
    meter.set(true, at: time(100))
    #expect(meter.total(at: time(101)) == 5 && meter.starts == 2)
  }

  @Test func tailTimeIsCounted() {
    var meter = OnTimeMeter(linger: 3)
    meter.set(true, at: time(0))
    meter.set(false, at: time(10))
    #expect(meter.total(at: time(11)) == 11 && meter.total(at: time(50)) == 13)
    // If it is needed again within the linger time, the power is not interrupted.
    meter.set(true, at: time(12))
    meter.set(false, at: time(14))
    #expect(meter.total(at: time(14)) == 14 && meter.starts == 1)
    meter.set(true, at: time(30))
    #expect(meter.total(at: time(30)) == 17 && meter.starts == 2)
  }

  /// A chip reports its activity with its first block. Its time counts from when it was powered.
  @Test func sensorIsOnSinceTheReportedTime() {
    var ledger = EnergyLedger(figures: Self.figures)
    ledger.record([.gyroscope: Self.on], at: time(0))
    ledger.record([.gyroscope: Self.on, .positioning: Self.on], at: time(1))
    ledger.observe(
      SourceStatus(timestamp: time(0.3), source: "iio", kinds: [.gyroscope], state: .active(rates: [:])))
    let accounts = ledger.accounts(at: time(10.3))
    #expect(accounts[.gyroscope]?.seconds == 10)
    // Lower bound of the processor's wakeups.
    #expect(accounts[.receiver]?.seconds == 9.3)
    #expect(accounts[.processor]?.starts ?? -1 >= 10)
  }

  /// A source finishes the current block before it stops; the chip is powered until then.
  @Test(arguments: [SourceStatus.State.idle, .unavailable(reason: "lost"), .finished, .active(rates: [:])])
  func sensorIsOnUntilItsSourceReportsStopped(end: SourceStatus.State) {
    var ledger = EnergyLedger(figures: Self.figures)
    ledger.record([.gyroscope: Self.on], at: time(0))
    ledger.observe(
      SourceStatus(
        timestamp: time(0), source: "iio", kinds: [.gyroscope, .accelerometer],
        state: .active(rates: [.gyroscope: 100])))
    ledger.record([:], at: time(10))
    ledger.observe(
      SourceStatus(timestamp: time(10.75), source: "iio", kinds: [.gyroscope, .accelerometer], state: end))
    let accounts = ledger.accounts(at: time(60))
    // Includes the 3 s for which the kernel leaves the chip powered.
    #expect(accounts[.gyroscope]?.seconds == 13.75)
    #expect(accounts[.gyroscope]?.starts == 1 && accounts[.accelerometer]?.seconds == 0)
  }

  /// A device that was lost with its whole context returns with another name.
  @Test func returnedSensorWithAnotherNameIsOffAfterItStops() {
    var ledger = EnergyLedger(figures: Self.figures)
    func status(_ seconds: Double, _ source: String, _ state: SourceStatus.State) -> SourceStatus {
      SourceStatus(timestamp: time(seconds), source: source, kinds: [.gyroscope], state: state)
    }
    ledger.record([.gyroscope: Self.on], at: time(0))
    ledger.observe(status(0, "local: iio:device1", .active(rates: [.gyroscope: 100])))
    ledger.observe(status(10, "local:", .unavailable(reason: "lost")))
    ledger.observe(status(20, "local: iio:device2", .active(rates: [.gyroscope: 100])))
    ledger.record([:], at: time(30))
    ledger.observe(status(31, "local: iio:device2", .idle))
    // 10 s and 11 s, each with the 3 s for which the kernel leaves the chip powered.
    #expect(ledger.accounts(at: time(1000))[.gyroscope]?.seconds == 27)
  }

  @Test func sensorIsOnWhileDemandedAndAvailable() throws {
    var ledger = EnergyLedger(figures: Self.figures)
    // No magnetometer has been discovered.
    ledger.record([.positioning: Self.on, .gyroscope: Self.on, .magnetometer: Self.on], at: time(0))
    ledger.observe(
      SourceStatus(timestamp: time(0), source: "iio", kinds: [.gyroscope], state: .active(rates: [:])))
    ledger.observe(
      SourceStatus(
        timestamp: time(10), source: "iio", kinds: [.gyroscope], state: .unavailable(reason: "lost")))
    // A returning device may have another name.
    ledger.observe(
      SourceStatus(
        timestamp: time(20), source: "iio:device1", kinds: [.gyroscope], state: .active(rates: [:])))
    ledger.record([.positioning: .off, .gyroscope: Self.on, .magnetometer: Self.on], at: time(25))
    let accounts = ledger.accounts(at: time(30))
    let receiver = try #require(accounts[.receiver])
    #expect(receiver.seconds == 25 && receiver.starts == 1 && receiver.bytes == nil)
    #expect(abs(receiver.joules - 25 * 0.07) < 1e-9)
    // Ten seconds, 3 s of linger time, and ten seconds again.
    let gyroscope = try #require(accounts[.gyroscope])
    #expect(gyroscope.seconds == 23 && gyroscope.starts == 2)
    #expect(abs(gyroscope.joules - 23 * 0.002) < 1e-9)
    #expect(accounts[.magnetometer] == EnergyAccount())
  }

  @Test func scansAreCounted() throws {
    var figures = Self.figures
    figures.power[.wifi] = 0.278
    figures.power[.cellular] = 0.12
    figures.scanDuration = [.wifi: 4.2, .cellular: 1]
    var ledger = EnergyLedger(figures: figures)
    #expect(ledger.accounts(at: time(0))[.wifi] == nil)
    // A demand alone uses no energy.
    ledger.record([.wifi: Self.on, .cellular: Self.on], at: time(0))
    let cell = try #require(Beacon(.lte, country: 262, network: 1, cell: 0x1A2D003))
    ledger.observe([
      // A scan without results, one by another program, a replayed one, one of both radios, and a replayed one of the cellular radio.
      RadioScan(timestamp: time(5), sightings: [], kind: .wifi, duration: 5),
      RadioScan(timestamp: time(6), sightings: [], kind: .wifi, duration: 0),
      RadioScan(timestamp: time(10), sightings: [], kind: .wifi),
      RadioScan(
        timestamp: time(11), sightings: [BeaconSighting(beacon: cell, signal: -90)], kind: .wifi, duration: 2),
      RadioScan(timestamp: time(12), sightings: [BeaconSighting(beacon: cell, signal: -90)]),
      // An aborted scan.
      RadioScan(timestamp: time(20), sightings: [], kind: .wifi, duration: 1.3, isComplete: false),
    ])
    let accounts = ledger.accounts(at: time(30))
    let wifi = try #require(accounts[.wifi])
    #expect(wifi.starts == 4 && abs(wifi.seconds - 12.5) < 1e-9 && abs(wifi.joules - 12.5 * 0.278) < 1e-9)
    let cellular = try #require(accounts[.cellular])
    #expect(cellular.starts == 2 && cellular.seconds == 3 && abs(cellular.joules - 0.36) < 1e-9)
  }

  @Test func missingReceiverUsesNoEnergy() throws {
    for hasReceiver in [true, false] {
      var ledger = EnergyLedger(figures: Self.figures, hasReceiver: hasReceiver)
      ledger.record([.positioning: Self.on], at: time(0))
      let seconds = try #require(ledger.accounts(at: time(30))[.receiver]).seconds
      #expect(abs(seconds - (hasReceiver ? 30 : 0)) < 1e-9)
    }
  }

  /// Two blocks per second of an available sensor wake two threads each; a fix and a message wake four.
  @Test func unmeasuredProcessorIsEstimated() throws {
    var ledger = EnergyLedger(figures: Self.figures)
    ledger.observe(
      SourceStatus(timestamp: time(0), source: "iio", kinds: [.gyroscope], state: .active(rates: [:])))
    let demand = SensorDemand.rate(hertz: 100, latency: .milliseconds(500))
    ledger.record([.gyroscope: demand, .magnetometer: demand, .positioning: Self.on], at: time(0))
    ledger.observe(fixes: 3)
    ledger.observe(messages: 2)
    ledger.record([:], at: time(10))
    let processor = try #require(ledger.accounts(at: time(30))[.processor])
    #expect(processor.starts == 40 + 12 + 8)
    #expect(abs(processor.joules - 60 * (0.001 + 80e-6 * 0.3)) < 1e-9)
    ledger.processor = .init(seconds: 1, starts: 5)
    #expect(ledger.accounts(at: time(30))[.processor]?.starts == 5)
  }

  @Test func externallyMeasuredUseIsConverted() throws {
    var ledger = EnergyLedger(figures: Self.figures)
    ledger.processor = .init(seconds: 2, starts: 100)
    ledger.radio = .init(seconds: 12, starts: 3, bytes: 1000)
    let accounts = ledger.accounts(at: time(30))
    #expect(abs(try #require(accounts[.processor]).joules - (0.6 + 0.1)) < 1e-9)
    let radio = try #require(accounts[.radio])
    #expect(abs(radio.joules - (12 + 1.5 + 0.01)) < 1e-9 && radio.bytes == 1000)
    #expect(Set(accounts.keys) == Set(EnergyComponent.allCases).subtracting([.wifi, .cellular]))
  }
}
