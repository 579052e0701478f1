import Glibc
import Navigation
import Sensors
import Simulation
import Spatial
import TestSupport

/// A vehicle on the path of a `SyntheticDrive` with a different attitude: it leans into curves, or its axis differs from its course.
struct SimulatedCraft {
  enum Kind: String, CaseIterable {
    case car
    /// Leans into curves until the specific force is in its plane.
    case motorcycle
    /// A current from the side changes the course by up to 5° within a minute, and the stern swings out in curves.
    case boat
    /// The device is in front of the rear axle, the tyres slip by 1° per 1 m/s², and the body rolls.
    case truck
    /// Leans like a motorcycle and weaves by 0.5° around its course.
    case eScooter
    /// The body overhangs its bogies: the device, 4 m in front of their centre, moves sideways in curves.
    case tram
  }

  private let kind: Kind
  /// Distance in m of device and antenna in front of the axle that does not move sideways.
  private let lever: Double

  init(_ kind: Kind, lever: Double? = nil) {
    self.kind = kind
    self.lever = lever ?? (kind == .truck ? 5 : kind == .tram ? 4 : 0)
  }

  /// Roll and slip angle (axis to course) in rad, both positive to the right.
  private func angles(_ state: SyntheticDrive.State, swing: Double) -> (roll: Double, slip: Double) {
    let lateral = state.speed * state.turnRate / 9.80767
    let ahead = atan(lever * state.turnRate / max(1, state.speed))
    switch kind {
    case .car: return (-0.04 * lateral, ahead)
    case .motorcycle: return (atan(lateral), 0)
    case .truck: return (-0.1 * lateral, ahead - 0.18 * lateral)
    case .eScooter:
      return (
        atan(lateral), state.speed > 0 ? 0.5.radians * sin(2 * Double.pi * 1.3 * state.time + swing) : 0
      )
    case .boat:
      let period = 2 * Double.pi / 60
      return (
        0.3 * lateral, state.speed > 0 ? 5.0.radians * sin(period * state.time + swing) - 0.5 * lateral : 0
      )
    case .tram: return (0.02 * lateral, ahead)
    }
  }

  /// Generates the samples of a random drive.
  func samples(
    length: Double, fixRate: Double = 4, _ generator: inout SeededGenerator
  ) -> [SyntheticDrive.Sample] {
    var drive = SyntheticDrive(length: length, mounting: generator.nextRotation())
    drive.fixRate = fixRate
    var samples = drive.samples(&generator)
    let swing = 2 * Double.pi * generator.nextUniform()
    let toDevice = drive.mounting.conjugate
    let earth = 7.292115e-5 * Vector3(0, cos(48.0.radians), sin(48.0.radians))
    func attitude(_ state: SyntheticDrive.State) -> Quaternion {
      let (roll, slip) = angles(state, swing: swing)
      return Quaternion(angle: slip - state.heading, axis: Vector3(0, 0, 1))
        * Quaternion(angle: roll, axis: Vector3(0, 1, 0))
    }
    for index in samples.indices.dropLast() {
      let state = samples[index].truth
      let (now, next) = (attitude(state), attitude(samples[index + 1].truth))
      let turned = now.conjugate * next
      let angle = turned.angle
      let axis = Vector3(turned.x, turned.y, turned.z) * (turned.w < 0 ? -1 : 1)
      let rate = axis.length > 1e-12 ? axis * (angle / axis.length * drive.rate) : .zero
      let noise = state.speed > 0 ? 5.0 : 1
      func random(_ deviation: Double) -> Vector3 {
        noise * deviation * Vector3(generator.nextNormal(), generator.nextNormal(), generator.nextNormal())
      }
      samples[index].scan.specificForce =
        (toDevice * now.conjugate).rotate(state.acceleration + Vector3(0, 0, 9.80767))
        + drive.accelerometerBias + random(drive.accelerometerNoise)
      samples[index].scan.rotationRate =
        toDevice.rotate(rate + now.conjugate.rotate(earth)) + drive.gyroscopeBias
        + random(drive.gyroscopeNoise)
    }
    return samples
  }
}
