internal import Glibc

/// Where the agent keeps, shows and looks for things that no option and no key names: in the system's folders when it is
/// root or the service's user, else in the user's own, as the XDG Base Directory Specification has them.
package struct AgentFolders: Sendable, Hashable {
  /// The folder of the store and of what else is kept.
  package let state: String
  /// The user's own folder that `state` is in, whose missing parts may be made with it; nil for one of the system's.
  let home: String?
  /// The socket on which an agent says how it is.
  let socket: String
  /// Where a running agent may listen, in the order in which it is looked for.
  let sockets: [String]
  /// Where a configuration is looked for, in this order.
  package let configurations: [String]
  /// Where a new configuration belongs; nil when the environment names no folder of the user's.
  package let newConfiguration: String?

  /// - Parameters:
  ///   - environment: of it, systemd's `STATE_DIRECTORY` and `RUNTIME_DIRECTORY`, and the XDG variables, which name absolute
  ///     paths or nothing.
  ///   - isRoot: whether the system's folders are meant whatever else is there.
  ///   - isWritable: whether a folder takes files of this user.
  package init(
    environment: [String: String], isRoot: Bool = geteuid() == 0,
    isWritable: (String) -> Bool = { access($0, W_OK | X_OK) == 0 }
  ) {
    func folder(_ name: String) -> String? {
      environment[name]?.split(separator: ":").first.map(String.init).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
    let home = folder("HOME")
    /// The system's, where they are this user's: the agent's own without a service manager, as in a container.
    func isOurs(_ path: String) -> Bool { isRoot || isWritable(path) }

    let ownState = folder("XDG_STATE_HOME") ?? home.map { $0 + "/.local/state" }
    if let given = folder("STATE_DIRECTORY") {
      (state, self.home) = (given, nil)
    } else if let ownState, !isOurs(Self.systemState) {
      state = ownState + "/odograph"
      self.home = folder("XDG_STATE_HOME") == nil ? home : Self.parent(of: ownState)
    } else {
      (state, self.home) = (Self.systemState, nil)
    }

    let name = "/control.socket"
    let ownSocket = folder("XDG_RUNTIME_DIR").map { $0 + "/odographd.socket" }
    let systemSocket = Self.systemRuntime + name
    if let given = folder("RUNTIME_DIRECTORY") {
      (socket, sockets) = (given + name, [given + name])
    } else if let ownSocket, !isOurs(Self.systemRuntime) {
      (socket, sockets) = (ownSocket, [ownSocket, systemSocket])
    } else {
      (socket, sockets) = (systemSocket, [systemSocket])
    }

    let own = (folder("XDG_CONFIG_HOME") ?? home.map { $0 + "/.config" }).map {
      $0 + "/odograph/odograph.toml"
    }
    // Root does not go by a file that somebody whose environment it has taken over can change.
    configurations =
      isRoot ? [Self.systemConfiguration] : (own.map { [$0] } ?? []) + [Self.systemConfiguration]
    newConfiguration = isRoot ? Self.systemConfiguration : own
  }

  /// The first configuration that is there; nil when none is.
  package var configuration: String? { configurations.first { access($0, F_OK) == 0 } }

  /// Where an agent listens now, as far as can be seen.
  var listening: String { sockets.first { access($0, F_OK) == 0 } ?? socket }

  package static let systemConfiguration = "/etc/odographd/odograph.toml"
  private static let systemState = "/var/lib/odographd"
  private static let systemRuntime = "/run/odographd"

  private static func parent(of path: String) -> String { StateFolder.of(path) }

  /// This process's own.
  static var system: AgentFolders { AgentFolders(environment: ProcessEnvironment.variables) }

  /// The folders above one of the agent's, from the user's own on down, that may be made with it; of the system's only `state`
  /// itself; none for a folder that was configured.
  func parents(of folder: String) -> [String] {
    guard folder == state || folder.hasPrefix(state + "/") else { return [] }
    guard let home else { return folder == state ? [] : [state] }
    guard state.hasPrefix(home == "/" ? home : home + "/") else { return [] }
    var parents: [String] = []
    var above = StateFolder.of(folder)
    while above.utf8.count > home.utf8.count {
      parents.append(above)
      above = StateFolder.of(above)
    }
    return parents.reversed()
  }
}
