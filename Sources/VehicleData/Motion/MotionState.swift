/// The state of motion of a vehicle. An idling engine does not count as motion.
public enum MotionState: String, Hashable, Sendable, CaseIterable {
  case stationary
  case moving
}
