internal import Glibc
internal import Positioning

/// What this process used of the machine since it started, as the kernel counts it.
struct MachineUsage: Sendable, Hashable {
  /// Seconds at work, in the program and in the kernel for it, and how often a thread of it was woken.
  var processor: EnergyLedger.Usage
  var radio: EnergyLedger.Usage

  /// - Parameter radio: what the delivery counted.
  init(radio: EnergyLedger.Usage) {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    let seconds =
      Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
      + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6
    // Each time that a thread gives up the processor of itself, something has to wake it again.
    processor = EnergyLedger.Usage(seconds: seconds, starts: usage.ru_nvcsw)
    self.radio = radio
  }
}
