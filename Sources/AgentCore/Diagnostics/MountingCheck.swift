package import Logging
internal import Platform
package import SensorsIIO

/// A check of `iio.mount_matrix` for entries whose device does not exist.
package struct MountingCheck: Sendable {
  static let key = "iio.mount_matrix"
  static let remedy = "use the name, label or id of a device (odographd sensors)"
  private let contexts: [IIOConfiguration]

  package init(_ contexts: [IIOConfiguration]) { self.contexts = contexts }

  /// Returns a problem for each such entry.
  ///
  /// - Parameter inventories: those of all contexts. If one is missing, it may have the device, and there is no problem.
  func problems(in inventories: [IIOInventory]) -> [String] {
    guard inventories.count == contexts.count, let entries = contexts.first?.mountMatrices.keys else {
      return []
    }
    let titles = inventories.flatMap(\.devices).map(\.title).joined(separator: ", ")
    return entries.sorted().filter { entry in !inventories.contains { $0.contains(entry) } }.map {
      "no device \($0)" + (titles.isEmpty ? "" : " among \(titles)")
    }
  }

  /// Searches all contexts, and logs the problems. Takes up to 10 s for each host that does not answer.
  package func report(to log: Logger) {
    guard contexts.contains(where: { !$0.mountMatrices.isEmpty }) else { return }
    for problem in problems(in: contexts.compactMap { try? IIOProbe.inventory($0) }) {
      log.warning(
        .settingIneffective, "setting without effect",
        metadata: ["key": "\(Self.key)", "reason": "\(problem)", "remedy": "\(Self.remedy)"])
    }
  }

  /// Reports on a thread of its own. If the kernel cannot create one, nothing is reported.
  func reportInBackground(to log: Logger) {
    let check = self
    (try? DedicatedThread.start(name: "mounting") { check.report(to: log) })?.detach()
  }
}
