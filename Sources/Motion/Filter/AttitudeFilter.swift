internal import Glibc
public import Spatial

/// Fuses gyroscope, accelerometer and magnetometer into an attitude.
///
/// The structure is VQF's (D. Laidig, T. Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation and
/// magnetic disturbance rejection", Information Fusion 91, 2023): the gyroscope alone turns an *almost inertial* frame,
/// and slow corrections connect that frame with the earth, first by inclination, then by heading. The corrections
/// come from a Kalman filter instead of fixed low-pass filters. It works on blocks of about 70 ms, in which the samples
/// are summed in the almost inertial frame, and estimates
/// - inclination, under a motion model whose velocity and position stay bounded, driven by an acceleration whose
///   strength is estimated along the way (the innovations against their prediction, R. K. Mehra, 1970);
/// - gyroscope bias and scale; the rate of the gyroscope's clock acts as a common scale;
/// - the magnetic field: the mean field, whose horizontal direction is the heading, plus a local disturbance that changes
///   as the device moves (a first-order Gauss-Markov process), plus hard iron that turns with the device;
/// - the delay of the magnetometer, which is read with the attitude of its own time.
///
/// The mean field is a vector in the level frame rather than an angle, so that everything about it stays linear and
/// nothing is learned where nothing can be observed (compare J. A. Hesch et al., "Consistency analysis and improvement of
/// vision-aided inertial navigation", IEEE T-RO 30, 2014). The magnetometer never moves the inclination, except after
/// the gyroscope was blind: until then inclination is a considered state (S. F. Schmidt, 1966).
///
/// Time comes with the samples. Samples of one sensor must be in order; among sensors they may be off by
/// some 0.1 s. Nothing is allocated after `init`.
public struct AttitudeFilter: Sendable {
  /// From the device frame to a frame with z up and an arbitrary horizontal direction, at the time of the newest
  /// gyroscope sample. The magnetometer has no part in its heading. (Stored, as are all that are read with every
  /// sample: reading a computed property copies the whole filter.)
  public internal(set) var quaternion6D = Quaternion.identity
  /// From the device frame to east, magnetic north, up, at the time of the newest gyroscope sample; nil before the first
  /// magnetometer sample.
  public internal(set) var quaternion9D: Quaternion?
  /// rad/s, device frame: what to subtract from the gyroscope.
  public internal(set) var gyroscopeBias = Vector3.zero
  /// How well the field is known, by what was observed.
  public internal(set) var fieldAccuracy = MagneticFieldCalibrationAccuracy.uncalibrated
  public let parameters: Parameters
  public internal(set) var flags = Flags()
  public internal(set) var counters = Counters()

  // MARK: Time

  /// Seconds are counted from the first sample.
  var origin: Timestamp?
  var gyroscope: SampleGate
  var accelerometer: SampleGate
  var magnetometer: SampleGate
  /// Typical interval of the gyroscope's samples, s.
  var period = 0.0
  /// Until then, s, the attitude is a guess: the gyroscope was saturated or silent.
  var blindUntil = -Double.infinity

  // MARK: Attitude

  /// Device to the almost inertial frame, by gyroscope alone.
  var strapdown = Quaternion.identity
  /// Almost inertial to level frame.
  var level = Quaternion.identity
  /// Level frame to east-north-up, a rotation about the vertical.
  var north = Quaternion.identity
  var history = AttitudeHistory()
  var lastRate = Vector3.zero
  var isLeveled = false
  var hasField = false

  // MARK: Estimates

  var covariance = Covariance()
  var scale = Vector3.zero
  var hardIron = Vector3.zero
  var disturbance = Vector3.zero
  /// Mean field, level frame, µT.
  var field = Vector3.zero
  /// Field that is expected here, almost inertial frame, µT.
  var expectedField = Vector3.zero
  var velocity = SIMD2<Double>.zero
  var position = SIMD2<Double>.zero
  var lag = 0.0
  /// Variance of the horizontal acceleration that is not gravity, (m/s²)².
  var accelerationVariance = 0.25
  /// Low-passed vertical excess of the specific force, m/s².
  var verticalExcess = 0.0
  /// Low-passed mean square of the disturbance, µT².
  var disturbancePower = 0.0
  /// s since the field jumped.
  var sinceJump = 1e3
  var soft = SoftIron()
  /// What rotations have shown of the device's own magnetism.
  var evidence: FieldEvidence
  /// rad, within which the mean field's direction is right by that evidence.
  var headingBound = Double.pi

  // MARK: Working parts

  var block = Block()
  var rest = RestDetector()
  var gaps = GapModel()
  var gyroscopeRange: SaturationMonitor
  var accelerometerRange: SaturationMonitor
  var alignment = Alignment()
  /// s since the attitude was last found.
  var sinceAlignment = 0.0
  /// s for which gravity is no judge because the accelerometer was saturated.
  var sinceSaturation = 1e3
  /// Low-passed specific force, level frame, which tells whether the filter is lost.
  var meanForce = Vector3(0, 0, AttitudeFilter.gravity)
  /// What the magnetometer is to put right at once after a gap, rad² per axis.
  var snapVariance = 0.0
  var blocks = 0
  /// s for which the bias has been seen at rest.
  var restDuration = 0.0
  /// s of apparent rest with a rate that is not the bias.
  var steadyTurn = 0.0
  /// A kept bias is in use.
  var expectsBias = false
  /// A kept hard iron is in use and has not been contradicted.
  var expectsIron = false
  var hasContradictedIron = false
  var hasContradictedBias = false

  /// Standard gravity, m/s².
  static let gravity = 9.806_65

  public init(_ parameters: Parameters = Parameters(), calibration: MotionCalibration? = nil) {
    self.parameters = parameters
    evidence = FieldEvidence(disturbance: parameters.disturbanceDeviation)
    gyroscope = SampleGate(greatest: 200)
    accelerometer = SampleGate(greatest: 4000)
    magnetometer = SampleGate(greatest: 1e5)
    gyroscopeRange = SaturationMonitor(
      range: parameters.gyroscopeRange, smallestLimit: 1.7, greatestExcess: 1)
    accelerometerRange = SaturationMonitor(
      range: parameters.accelerometerRange, smallestLimit: 12, greatestExcess: 3)
    startEstimates()
    if let calibration { use(calibration) }
  }

  // MARK: More of what it says

  /// A gyroscope sample without bias and scale error, rad/s, device frame.
  @inline(__always)
  public func corrected(gyroscope rate: Vector3) -> Vector3 { (rate - gyroscopeBias) * (1 - scale) }

  /// A magnetometer sample without hard and soft iron, µT, device frame.
  @inline(__always)
  public func corrected(magnetometer field: Vector3) -> Vector3 { soft.corrected(field - hardIron) }

  /// Brings the attitudes up to date. The gyroscope's filter delays the rate; the attitude is carried forward by as
  /// much.
  @inline(__always)
  mutating func publish() {
    let ahead = parameters.gyroscopeLatency ?? min(period, 0.02)
    let q = level.times(strapdown.times(Quaternion(smallRotation: ahead * lastRate)))
    let n = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z
    // A comparison with NaN is false.
    guard n > 0.9, n < 1.1 else {
      restart()
      return
    }
    let leveled = q.renormalized
    quaternion6D = leveled
    if hasField { quaternion9D = north.timesAboutVertical(leveled) }
  }

  /// The same for devices without a gyroscope.
  mutating func publishWithoutGyroscope() {
    quaternion6D = alignment.withoutGyroscope(field: false) ?? .identity
    quaternion9D = alignment.withoutGyroscope(field: true)
  }

  public var state: State {
    func deviation(_ i: Int) -> Double { max(0, covariance[i, i]).squareRoot() }
    func deviations(_ i: Int) -> Vector3 { Vector3(deviation(i), deviation(i + 1), deviation(i + 2)) }
    let horizontal = (field.x * field.x + field.y * field.y).squareRoot()
    return State(
      gyroscopeBias: gyroscopeBias, gyroscopeBiasDeviation: deviations(ErrorState.bias),
      gyroscopeScaleError: scale, hardIron: hardIron, hardIronDeviation: deviations(ErrorState.hardIron),
      softIronDiagonal: soft.diagonal, softIronOffDiagonal: soft.offDiagonal, magnetometerLag: lag,
      magnetometerLagDeviation: deviation(ErrorState.lag),
      field: hasField ? Vector3(0, horizontal, field.z) : nil,
      inclinationDeviation: max(deviation(ErrorState.tilt), deviation(ErrorState.tilt + 1)),
      headingDeviation: hasField ? headingDeviation : nil, headingBound: hasField ? headingBound : nil)
  }

  /// rad; half a turn where the field is vertical.
  private var headingDeviation: Double {
    let square = field.x * field.x + field.y * field.y
    guard square > 1e-6 else { return .pi }
    let i = ErrorState.field
    let variance =
      field.y * field.y * covariance[i, i] - 2 * field.x * field.y * covariance[i, i + 1]
      + field.x * field.x * covariance[i + 1, i + 1]
    return min(.pi, max(0, variance).squareRoot() / square)
  }

  /// Seconds since the first sample.
  @inline(__always)
  mutating func seconds(_ time: Timestamp) -> Double {
    guard let origin else {
      self.origin = time
      return 0
    }
    return time.seconds(since: origin)
  }
}
