import LiveSensors
import Motion

// Prints the attitude of the device once a second.
//
// usage: motion-example local:           the IIO devices of this machine
//        motion-example ip:192.168.1.20  those of an iiod
//        motion-example drive.csv        a recording, or: simulation

let input = try SensorInput(parsing: CommandLine.arguments.dropFirst())
let device = try LiveDevice(input, motion: MotionManager(frame: .xMagneticNorthZVertical))
let updates = device.motion.deviceMotionUpdates(interval: 1)
try device.start()

for await motion in updates {
  guard let attitude = motion.attitude else {
    print("gravity", motion.gravity)
    continue
  }
  // Without a magnetometer the reference frame has an arbitrary azimuth, and there is no heading.
  let heading = motion.heading.map { "\(Int($0.rounded()))°" } ?? "unknown"
  print("pitch \(attitude.pitch) roll \(attitude.roll) heading \(heading) in \(motion.frame)")
}
