import Glibc
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Navigation

/// The equations of the error state, compared with finite differences.
@Suite struct EquationTests {
  /// A moving state in which no component is zero.
  private func state(_ generator: inout SeededGenerator) -> NominalState {
    func vector(_ scale: Double) -> Vector3 {
      scale * Vector3(generator.nextNormal(), generator.nextNormal(), generator.nextNormal())
    }
    var state = NominalState()
    state.position = vector(100)
    state.velocity = vector(10)
    state.attitude = generator.nextRotation()
    state.gyroscopeBias = vector(0.01)
    state.accelerometerBias = vector(0.1)
    state.mounting = generator.nextRotation()
    state.axleLever = 1.5
    state.antennaLever = vector(1)
    state.positionLatency = 0.2
    state.velocityLatency = 0.1
    state.speedScale = 0.03
    state.gyroscopeScale = vector(0.01)
    return state
  }

  private func unit(_ index: Int, _ size: Double) -> ErrorVector {
    var error = ErrorVector.zero
    error[index] = size
    return error
  }

  /// The row of every measurement is the derivative of its prediction with respect to each error.
  @Test func rowsOfMeasurementsAreDerivatives() {
    var generator = SeededGenerator.announced()
    for _ in 0..<5 {
      var filter = ErrorStateFilter()
      filter.begin(state(&generator), deviations: .zero)
      let earth = Earth(latitude: 48, altitude: 500)
      filter.advance(
        rate: Vector3(0.1, -0.2, 0.3), force: Vector3(1, 2, 9), newest: Vector3(0.1, -0.2, 0.3),
        seconds: 0.01,
        earth: earth)
      let turn = Vector3(0.05, -0.1, 0.4)
      let size = 1e-6
      // Terms that the rows omit on purpose: in `small`, the lever arm of the antenna turned by attitude, mounting and gyroscope bias; in
      // `past`, the effect of attitude and accelerometer bias on earlier states, which the next test covers.
      let past: Set<Int> = [6, 7, 8, 12, 13, 14]
      let small = past.union([9, 10, 11, 15, 16, 17])
      var kinds: [(String, Set<Int>, (ErrorStateFilter) -> Prediction)] = [
        ("side slip", [], { $0.predictedSideSlip(turn: turn) }),
        ("heave", [], { $0.predictedHeave(turn: turn) }),
        ("wheels", [], { $0.predictedWheelSpeed() }),
      ]
      for axis in 0..<3 {
        kinds.append(
          ("position \(axis)", past.union([15, 16, 17]), { $0.predictedPosition(axis, age: 0.3) }))
        kinds.append(("velocity \(axis)", small, { $0.predictedVelocity(axis, age: 0.3) }))
      }
      for (name, leftOut, predict) in kinds {
        let prediction = predict(filter)
        for index in 0..<ErrorState.count where !leftOut.contains(index) {
          var other = filter
          other.state.add(unit(index, size))
          let difference = (predict(other).value - prediction.value) / size
          #expect(
            abs(difference - prediction.row[index]) < 1e-4 * (1 + abs(difference)),
            "\(name), error \(index): \(prediction.row[index]) for \(difference)")
        }
      }
    }
  }

  /// The predicted position and velocity of a late fix contain the errors of velocity, tilt and bias since the time of the fix. A
  /// correction also removes them from the past.
  @Test(arguments: [3, 4, 6, 7, 8, 12, 13, 14], [false, true])
  func lateMeasurementsFollowTheErrorsOfTheirTime(_ index: Int, _ isCorrected: Bool) {
    var generator = SeededGenerator.announced()
    var start = state(&generator)
    (start.antennaLever, start.gyroscopeBias, start.gyroscopeScale) = (.zero, .zero, .zero)
    let earth = Earth(latitude: 48, altitude: 500)
    func run(_ error: ErrorVector) -> ErrorStateFilter {
      var filter = ErrorStateFilter()
      var state = start
      state.add(error)
      filter.begin(state, deviations: .zero)
      for step in 0..<200 {
        let rate = Vector3(0.02, -0.01, 0.03)
        filter.advance(
          rate: rate, force: Vector3(1 + 0.005 * Double(step), 2, 9), newest: rate, seconds: 0.01,
          earth: earth)
      }
      return filter
    }
    let size = 1e-4
    let plain = run(.zero)
    var other = run(unit(index, size))
    var difference = ErrorVector.zero
    difference.set(ErrorState.position, other.state.position - plain.state.position)
    difference.set(ErrorState.velocity, other.state.velocity - plain.state.velocity)
    let turn = other.state.attitude * plain.state.attitude.conjugate
    difference.set(ErrorState.attitude, 2 * Vector3(turn.x, turn.y, turn.z) * (turn.w < 0 ? -1 : 1))
    difference.set(
      ErrorState.accelerometerBias, other.state.accelerometerBias - plain.state.accelerometerBias)
    if isCorrected {
      // A measurement of this error alone removes it from the state and from the past.
      var (row, gain) = (ErrorVector.zero, ErrorVector.zero)
      row[index] = 1
      for error in 0..<ErrorState.count { gain[error] = -difference[error] / size }
      _ = other.apply(row, gain: gain, residual: size, total: 1)
    }
    for axis in 0..<3 {
      let expected: (position: Double, velocity: Double)
      let (position, velocity) = (
        plain.predictedPosition(axis, age: 1), plain.predictedVelocity(axis, age: 1)
      )
      if isCorrected {
        expected = (0, 0)
      } else {
        var sum = (0.0, 0.0)
        for error in 0..<ErrorState.count {
          sum.0 += position.row[error] * difference[error]
          sum.1 += velocity.row[error] * difference[error]
        }
        expected = sum
      }
      let found = (
        position: other.predictedPosition(axis, age: 1).value - position.value,
        velocity: other.predictedVelocity(axis, age: 1).value - velocity.value
      )
      #expect(
        abs(found.position - expected.position) < 0.1 * size,
        "\(found.position / size), \(expected.position / size)")
      #expect(
        abs(found.velocity - expected.velocity) < 0.1 * size,
        "\(found.velocity / size), \(expected.velocity / size)")
    }
  }

  /// The transition matrix propagates each error like the difference of two simulated states.
  @Test func transitionMatrixIsTheDerivativeOfTheMechanization() {
    var generator = SeededGenerator.announced()
    let earth = Earth(latitude: 48, altitude: 500)
    let start = state(&generator)
    func ran(_ error: ErrorVector) -> ErrorStateFilter {
      var filter = ErrorStateFilter()
      var state = start
      state.add(error)
      filter.begin(state, deviations: .zero)
      for index in 0..<10 {
        let t = Double(index) * 0.01
        let rate = Vector3(0.3 * t, -0.2, 0.4)
        filter.advance(
          rate: rate, force: Vector3(1 + t, 2, 9 - t), newest: rate, seconds: 0.01, earth: earth)
      }
      return filter
    }
    let plain = ran(.zero)
    for index in 0..<ErrorState.count where !(15..<24).contains(index) && index != 27 {
      let size = 1e-5
      let other = ran(unit(index, size))
      // With a covariance of this error alone, the propagated covariance contains the column of that error.
      var filter = ErrorStateFilter()
      filter.begin(start, deviations: unit(index, 1))
      for step in 0..<10 {
        let t = Double(step) * 0.01
        let rate = Vector3(0.3 * t, -0.2, 0.4)
        filter.advance(
          rate: rate, force: Vector3(1 + t, 2, 9 - t), newest: rate, seconds: 0.01, earth: earth)
      }
      var quiet = NavigationFilter.Parameters()
      quiet.gyroscopeNoise = 0
      quiet.accelerometerNoise = 0
      quiet.gyroscopeVibration = 0
      quiet.accelerometerVibration = 0
      filter.propagate(vibration: Vibration(), quiet)
      func check(_ offset: Int, _ difference: Vector3, _ tolerance: Double) {
        for axis in 0..<3 {
          let expected = difference[axis] / size
          let found = filter.covariance[index, offset + axis]
          #expect(
            abs(found - expected) < tolerance, "error \(index) on \(offset + axis): \(found) for \(expected)")
        }
      }
      // The transition of a step of 0.1 s omits interactions between errors within the step, which are of second order.
      check(ErrorState.position, other.state.position - plain.state.position, 0.03)
      check(ErrorState.velocity, other.state.velocity - plain.state.velocity, 0.05)
      let turn = other.state.attitude * plain.state.attitude.conjugate
      check(ErrorState.attitude, 2 * Vector3(turn.x, turn.y, turn.z) * (turn.w < 0 ? -1 : 1), 3e-3)
    }
  }

  /// Adding an error and then its negative restores the state, to first order.
  @Test func errorsAddUp() {
    var generator = SeededGenerator.announced()
    let start = state(&generator)
    for index in 0..<ErrorState.count {
      var state = start
      state.add(unit(index, 1e-3))
      #expect(state != start, "error \(index) changes nothing")
      state.add(unit(index, -1e-3))
      #expect((state.attitude * start.attitude.conjugate).angle < 1e-9)
      #expect((state.mounting * start.mounting.conjugate).angle < 1e-9)
      #expect((state.position - start.position).length < 1e-9)
    }
  }

  /// The covariance remains exactly symmetric and positive during a complete drive.
  @Test func covarianceStaysSymmetricAndPositive() {
    var generator = SeededGenerator.announced()
    var filter = NavigationFilter()
    let samples = SyntheticDrive(length: 160).samples(&generator)
    for part in 0..<8 {
      let start = part * samples.count / 8
      filter.play(samples[start..<start + samples.count / 8], isSeen: { $0 < 100 || $0 > 130 })
      guard filter.state == .aligned else { continue }
      #expect(smallestPivot(filter.filter.covariance) > -1e-6, "at \(part * 20) s")
      for i in 0..<ErrorState.count {
        for j in 0..<i { #expect(filter.filter.covariance[i, j] == filter.filter.covariance[j, i]) }
      }
    }
    #expect(filter.state == .aligned)
  }

  /// The smallest pivot of the Cholesky factorization of the correlations.
  private func smallestPivot(_ covariance: ErrorCovariance) -> Double {
    let used = (0..<ErrorState.count).filter { covariance.variance($0) > 0 }
    var lower = [[Double]](repeating: [Double](repeating: 0, count: used.count), count: used.count)
    var least = 1.0
    for (i, a) in used.enumerated() {
      for (j, b) in used.enumerated() where j <= i {
        var sum = covariance[a, b] / (covariance.variance(a) * covariance.variance(b)).squareRoot()
        for k in 0..<j { sum -= lower[i][k] * lower[j][k] }
        if i == j {
          least = min(least, sum)
          lower[i][i] = max(1e-12, sum).squareRoot()
        } else {
          lower[i][j] = sum / lower[j][j]
        }
      }
    }
    return least
  }

  /// The computed 68 % and 95 % radii contain these shares of random samples.
  @Test func radiiContainTheirShareOfErrors() {
    var generator = SeededGenerator.announced()
    for (east, north, covariance) in [(1.0, 1.0, 0.0), (4.0, 1.0, 0.0), (4.0, 1.0, 1.5), (9.0, 0.01, 0.0)] {
      let (radius68, radius95) = ConfidenceRadius.radii(east: east, north: north, covariance: covariance)
      var (inside68, inside95) = (0.0, 0.0)
      for _ in 0..<20_000 {
        let (a, b) = (generator.nextNormal(), generator.nextNormal())
        let x = east.squareRoot() * a
        let y = covariance / east.squareRoot() * a + (north - covariance * covariance / east).squareRoot() * b
        let length = (x * x + y * y).squareRoot()
        inside68 += length <= radius68 ? 1 : 0
        inside95 += length <= radius95 ? 1 : 0
      }
      #expect(abs(inside68 / 20_000 - 0.68) < 0.02)
      #expect(abs(inside95 / 20_000 - 0.95) < 0.01)
    }
  }

  /// The unresolved rate is the variance of independent samples and nearly 0 for slow turns.
  @Test func unresolvedRateExcludesSlowTurns() {
    var generator = SeededGenerator.announced()
    func vibration(_ rate: (Double) -> Vector3) -> Vibration {
      var window = SampleWindow()
      for index in 0..<75 { window.add(force: .zero, rate: rate(0.04 * Double(index)), seconds: 0.04) }
      return window.vibration(seconds: 3, samples: 8)
    }
    let noise = vibration { _ in
      0.05 * Vector3(generator.nextNormal(), generator.nextNormal(), generator.nextNormal())
    }
    #expect(abs(noise.interval - 0.04) < 1e-9)
    #expect((0.5...2).contains(noise.unresolvedRate / (3 * 0.05 * 0.05)))
    let turn = vibration { Vector3(0, 0, 0.5 * sin(2 * Double.pi * 0.2 * $0)) }
    #expect(turn.unresolvedRate < 1e-6 && turn.rateEnergy > 1e-5)
  }

  /// The noise of a vibration grows with the interval of the samples, to 40 ms.
  @Test func processNoiseGrowsWithTheInterval() {
    func yawVariance(_ interval: Double) -> Double {
      var filter = ErrorStateFilter()
      filter.begin(NominalState(), deviations: .zero)
      var vibration = Vibration()
      (vibration.rateEnergy, vibration.unresolvedRate, vibration.interval) = (0.01, 0.01, interval)
      filter.advance(
        rate: .zero, force: Vector3(0, 0, 9.8), newest: .zero, seconds: 0.1,
        earth: Earth(latitude: 45, altitude: 0))
      filter.propagate(vibration: vibration, NavigationFilter.Parameters())
      return filter.covariance.variance(ErrorState.attitude + 2)
    }
    #expect(yawVariance(0.005) == yawVariance(0.01))
    #expect(yawVariance(0.02) > 2 * yawVariance(0.01))
    #expect(yawVariance(0.04) > 5 * yawVariance(0.02))
    #expect(yawVariance(0.1) == yawVariance(0.04))
  }
}
