internal import Glibc
internal import Pipeline
internal import Platform

extension AgentConfiguration.LocalService {
  /// Returns the findings about addresses, socket and accounts. Listens for a moment on each TCP address.
  package func findings() -> [Finding] {
    let table = dialect.table
    var findings: [Finding] = []
    for address in addresses {
      do throws(SystemError) {
        _ = try ListeningSocket.tcp(address)
      } catch {
        let isUsed = error.code == EADDRINUSE
        findings.append(
          Finding(
            .warning, table,
            "\(address): \(SystemError.message(for: error.code))"
              + (isUsed ? " by the running agent or another program" : ""),
            remedy: isUsed
              ? "if the agent is not running, choose another port in \(table).listen"
              : "correct \(table).listen"))
      }
      if !address.isLoopback {
        findings.append(
          Finding(
            .warning, table,
            "\(address): every program that reaches this address receives \(access.accuracy.rawValue) positions",
            remedy: "use 127.0.0.1 or [::1], or restrict the port with a firewall"))
      }
    }
    if let socket {
      let folder = StateFolder.of(socket)
      if Glibc.access(folder, W_OK | X_OK) != 0 {
        findings.append(
          Finding(
            .warning, table, "\(folder): \(SystemError.message(for: errno))",
            remedy: "create it for the agent's user, or set \(table).socket"))
      }
      if let group, AccountNames.group(group) == nil {
        findings.append(
          Finding(
            .warning, table, "no group \(group) on this machine", remedy: "correct \(table).socket_group"))
      }
      let rules = AccessRules(self)
      if rules.lacksUsers {
        findings.append(
          Finding(
            .warning, table,
            "other users receive no positions, because this user namespace does not contain them",
            remedy: "run the agent without PrivateUsers= or a rootless container, or remove \(table).access"))
      }
      for name in rules.unknown {
        findings.append(
          Finding(
            .warning, table, "\(name) is neither a user nor a group of this machine",
            remedy: "correct \(table).access, or use the account's number"))
      }
    }
    guard findings.isEmpty else { return findings }
    let zones = access.privacy == .ignore ? ", also in privacy zones" : ""
    return [
      Finding(
        .ok, table,
        "\(name.dropFirst(dialect.rawValue.count + 1)): \(access.accuracy.rawValue) positions\(zones)")
    ]
  }

}
